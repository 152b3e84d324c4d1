"""etrt.tensor: a Tensor of something else."""

import struct

from etrt import _dtypes, _inputs
from etrt._errors import ArgumentError, ArgumentTypeError, shown
from etrt._library import ffi, lib
from etrt._tensor import Tensor, clone, convert, is_row_major, over, product


class _Anywhere:
    """A place of bind() that takes everything."""

    index, method, kind, dtype, sizes, nbytes, keeps_writes = 0, "", lib.ET_KIND_TENSOR, None, (), 0, False

    @staticmethod
    def refuse(text, kind=ArgumentError, status=lib.ET_INVALID_ARGUMENT):
        return kind(f"the object given to etrt.tensor {text}", status)

    @staticmethod
    def unsupported(x):
        return ArgumentTypeError(f"etrt.tensor makes no tensor of {shown(x)}; pass an array, a buffer, a DLPack or torch tensor, or "
                                 "nested lists of numbers")


def tensor(source, dtype=None, shape=None):
    """A Tensor.

    tensor(array)                            of the array's dtype, sharing its memory. Arrays: NumPy (ml_dtypes too),
                                             torch, anything with the buffer protocol or DLPack, another Tensor
    tensor(array, dtype=…)                   with the values converted; only for a dtype that NumPy lacks are unsigned
                                             integers of its width taken as its words
    tensor(data, dtype="bfloat16", shape=…)  of bytes that hold words of that dtype; copied. Without a shape: one dimension
    tensor([[1, 2], [3, 4]])                 of Python numbers: bool, int64, float32 or complex64 without a dtype
    shape, given with an array, reshapes it.
    """
    wanted = None if dtype is None else _dtypes.find(dtype)
    if wanted is not None and isinstance(source, (bytes, bytearray)) or _is_flat_bytes(source, wanted):
        return _of_words(source, wanted, shape)
    if isinstance(source, (bool, int, float, complex, list, tuple, range)) and not hasattr(source, "dtype"):
        made = _of_numbers(source, wanted)
    else:
        made = _of_array(source, wanted)
    return made if shape is None else _reshape(made, shape)


def _is_flat_bytes(source, wanted):
    return (wanted is not None and wanted != "uint8" and isinstance(source, memoryview) and source.format == "B" and source.ndim == 1
            and wanted.itemsize > 1)


def _of_words(data, dtype, shape):
    view = memoryview(data)
    size = view.nbytes
    if shape is None:
        if size % dtype.itemsize:
            raise ArgumentError(f"{size} bytes are no whole number of {dtype} elements of {dtype.itemsize} bytes")
        shape = (size // dtype.itemsize,)
    shape = _shape(shape)
    if size != product(shape) * dtype.itemsize:
        raise ArgumentError(f"{dtype} {list(shape)} takes {product(shape) * dtype.itemsize} bytes, not the {size} given")
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    return clone(over(ffi.from_buffer(view), dtype, shape, None, view))


def _shape(shape):
    try:
        sizes = tuple([s.__index__() for s in ((shape,) if isinstance(shape, int) else shape)])
    except (TypeError, AttributeError):
        raise ArgumentTypeError(f"a shape is a sequence of ints, not {shown(shape)}") from None
    if any(s < 0 for s in sizes):
        raise ArgumentError(f"a shape has no negative sizes: {list(sizes)}")
    return sizes


def _of_array(source, wanted):
    if isinstance(source, Tensor):
        made = source
    else:
        bound = _inputs.bind(source, _Anywhere)
        if isinstance(bound, _inputs.Scalar):
            raise _Anywhere.unsupported(source)
        made = over(bound.pointer, _dtypes.BY_CODE[bound.code], bound.shape, bound.strides, bound, _readonly(source, bound),
                    *bound.device())
        made._source = bound
    if wanted is None or made.dtype is wanted:
        return made
    if not wanted.native and made.dtype == {1: "uint8", 2: "uint16", 4: "uint32"}.get(wanted.itemsize):
        view = made._live().u.as_tensor
        strides = [s // made.itemsize for s in made.strides]
        words = over(view.data, wanted, made.shape, strides, made, made._readonly, view.device_type, view.device_index)
        words._source = made._source
        return words
    return convert(made, wanted)


def _readonly(source, bound):
    if isinstance(bound, _inputs.NumpyArray):
        return not bound.writeable
    if isinstance(bound, _inputs.Buffer):
        return bound.keep.readonly
    return isinstance(bound, _inputs.DlpackTensor) and bound.readonly


def _reshape(made, shape):
    shape = _shape(shape)
    if product(shape) != product(made.shape):
        raise ArgumentError(f"a tensor of shape {list(made.shape)} can't have shape {list(shape)}")
    if not is_row_major(made.shape, made.strides, made.itemsize):
        made = clone(made)
    view = made._live().u.as_tensor
    reshaped = over(view.data, made.dtype, shape, None, made, made._readonly, view.device_type, view.device_index)
    reshaped._source = made._source
    return reshaped


def _of_numbers(source, wanted):
    flat = []
    shape = _flatten(source, flat)
    if any(isinstance(x, complex) for x in flat):
        natural, stored, format = "complex64", "complex128", "d"
        flat = [part for x in flat for part in (complex(x).real, complex(x).imag)]
    elif any(isinstance(x, float) for x in flat) or not flat:
        natural, stored, format = "float32", "float64", "d"
    elif all(isinstance(x, bool) for x in flat):
        natural, stored, format = "bool", "bool", "?"
    else:
        natural, stored, format = "int64", "int64", "q"
        if wanted == "uint64":
            stored, format = "uint64", "Q"
    try:
        data = struct.pack(f"{len(flat)}{format}", *flat)
    except struct.error as error:
        raise ArgumentError(f"a number does not fit {stored}: {error}") from None
    made = _of_words(data, _dtypes.BY_NAME[stored], shape)
    wanted = _dtypes.BY_NAME[natural] if wanted is None else wanted
    return made if made.dtype is wanted else convert(made, wanted)


_MAX_RANK = 16  # of a program's tensors


def _flatten(source, flat, depth=0):
    """Appends the numbers of nested lists; returns their shape."""
    if depth > _MAX_RANK:
        raise ArgumentError(f"lists nested more than {_MAX_RANK} deep, or in themselves, are no tensor")
    if not isinstance(source, (list, tuple, range)):
        if not isinstance(source, (bool, int, float, complex)):
            raise ArgumentTypeError(f"etrt.tensor takes lists of numbers, not of {type(source).__name__}")
        flat.append(source)
        return ()
    shapes = [_flatten(item, flat, depth + 1) for item in source]
    if any(s != shapes[0] for s in shapes):
        raise ArgumentError("etrt.tensor takes lists of equal lengths")
    return (len(source), *(shapes[0] if shapes else ()))
