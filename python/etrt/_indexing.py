"""tensor[key]: views by ints, slices, `...` and None, by NumPy's rules for basic indexing."""

from etrt import _tensor
from etrt._errors import ArgumentIndexError, ArgumentTypeError, shown


def get(tensor, key):
    """The view that `key` selects; a Python number where it names one element by ints alone."""
    keys = _expanded(key, len(tensor.shape))
    shape, strides, offset = [], [], 0
    sizes, steps = iter(tensor.shape), iter(tensor.strides)
    dimension = 0
    for k in keys:
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        size, step = next(sizes), next(steps)
        if isinstance(k, slice):
            start, stop, by = _slice(k, size)
            count = len(range(start, stop, by))
            offset += start * step if count else 0
            shape.append(count)
            strides.append(by * step)
        else:
            offset += _position(k, size, dimension) * step
        dimension += 1
    view = _view(tensor, shape, strides, offset)
    return view.item() if not shape and keys and all(k is not None for k in keys) else view


def _expanded(key, rank):
    """One key a dimension (None for a new one): `...`, and what is left out at the end, stand for whole dimensions."""
    keys = list(key) if isinstance(key, tuple) else [key]
    for k in keys:
        if not (k is None or k is Ellipsis or isinstance(k, slice) or (hasattr(k, "__index__") and not isinstance(k, bool))):
            raise ArgumentTypeError(f"a tensor is indexed by ints, slices, ... and None, not by {shown(k)}; "
                                    "np.asarray(tensor)[...] takes more")
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if used > rank:
        raise ArgumentIndexError(f"{used} indices for a tensor of {rank} dimensions")
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise ArgumentIndexError("an index has one `...` at most")
    at = dots[0] if dots else len(keys)
    keys[at:at + 1] = [slice(None)] * (rank - used)
    return keys


def _position(k, size, dimension):
    try:
        position = k.__index__()
    except Exception as error:
        raise ArgumentTypeError(f"a tensor is indexed by ints, slices, ... and None, not by {shown(k)}: {error}") from None
    if not -size <= position < size:
        raise ArgumentIndexError(f"index {position} is out of range for dimension {dimension} of size {size}")
    return position % size


def _slice(k, size):
    try:
        return k.indices(size)
    except Exception as error:
        raise ArgumentTypeError(f"{shown(k)} is no slice of ints: {error}") from None


def _view(tensor, shape, strides, offset):
    itemsize = tensor.itemsize
    whole = tensor._live().u.as_tensor
    data = whole.data if whole.data == _tensor.NULL else _tensor.ffi.cast("char *", whole.data) + offset
    view = _tensor.over(data, tensor.dtype, shape, [s // itemsize for s in strides], tensor._lease(), tensor._readonly,
                        whole.device_type, whole.device_index)
    view._source = tensor._source
    return view
