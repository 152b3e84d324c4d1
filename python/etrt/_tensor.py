"""Tensor: typed, shaped memory, as methods return it."""

import struct

from etrt import _dtypes
from etrt._errors import NOT_SUPPORTED, ArgumentError, ArgumentTypeError, check, shown
from etrt._library import NULL, ffi, lib
from etrt._owned import free_value

VALUE = ffi.typeof("et_value *")
CPU = lib.ET_DEVICE_CPU

_new = ffi.new
_gc = ffi.gc
_new_object = object.__new__
_NOWHERE = ffi.new("char[64]")  # the address of tensors without elements


def row_major(shape, itemsize=1):
    """Strides of a row-major tensor: elements, or bytes with an itemsize."""
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def product(shape):
    total = 1
    for size in shape:
        total *= size
    return total


def is_row_major(shape, strides, itemsize):
    """Whether the elements lie densely in row-major order; dimensions of size 1 don't count."""
    step = itemsize
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 0:
            return True
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


class Tensor:
    """Memory seen as a tensor of one dtype and shape. Methods return them; etrt.tensor makes one.

    np.asarray(t), torch.from_dlpack(t) and, from Python 3.12 on, memoryview(t) share its memory.
    """

    # _value: et_value*, with a destructor where it owns its memory. _owner: what else keeps the memory alive.
    # _source: a bound input whose memory must still be where it was. The rest is read from _value when asked for.
    __slots__ = ("_value", "_owner", "_source", "_readonly", "_shape", "_strides", "_dtype", "_layout", "__weakref__")

    def __new__(cls, *args, **kwargs):
        raise TypeError("Tensor: no constructor; methods return tensors, and etrt.tensor(...) makes one")

    # ---- What it is --------------------------------------------------------------------------------------

    def __getattr__(self, name):  # slots that are not filled yet
        if name in ("_shape", "_strides", "_dtype"):
            view = self._live().u.as_tensor
            rank = view.rank
            self._dtype = dtype = _dtypes.BY_CODE[view.dtype]
            self._shape = shape = tuple(ffi.unpack(view.sizes, rank)) if rank else ()
            if view.strides == NULL or not rank:
                self._strides = row_major(shape, dtype.itemsize)
            else:
                self._strides = tuple([s * dtype.itemsize for s in ffi.unpack(view.strides, rank)])
            return getattr(self, name)
        if name in ("_owner", "_source", "_layout"):
            return None
        if name == "_readonly":
            return False
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")

    def _live(self):
        """The value, if its memory is still what it was."""
        if self._source is not None:
            why = self._source.changed()
            if why:
                raise ArgumentError(f"the {self._source.what} that this tensor was made of changed: {why}; make a new one")
        return self._value

    @property
    def shape(self):
        """Sizes of the dimensions."""
        return self._shape

    @property
    def strides(self):
        """Bytes from one element to the next along each dimension."""
        return self._strides

    @property
    def dtype(self):
        """The dtype's name: a str that also equals the NumPy dtype where there is one."""
        return self._dtype

    @property
    def ndim(self):
        return len(self._shape)

    @property
    def itemsize(self):
        return self._dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return product(self._shape) * self._dtype.itemsize

    @property
    def device(self):
        """Where the memory is: "cpu" or "cuda:0"."""
        view = self._live().u.as_tensor
        return "cpu" if view.device_type == CPU else f"cuda:{view.device_index}"

    def numel(self):
        """The number of elements."""
        return product(self._shape)

    def __len__(self):
        if not self._shape:
            raise ArgumentTypeError("len() of a tensor without dimensions")
        return self._shape[0]

    def __getitem__(self, key):
        """A view with Python's and NumPy's basic indexing: ints, slices, `...` and None. All dimensions given: a Python number."""
        from etrt import _indexing

        return _indexing.get(self, key)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    # ---- Its contents ------------------------------------------------------------------------------------

    def numpy(self, dtype=None):
        """A NumPy array over the same memory. A dtype that NumPy lacks shows as integers of its width, unless the
        ml_dtypes type of its name is asked for."""
        return self.__array__(dtype)

    def astype(self, dtype):
        """A new tensor with the values converted to another dtype."""
        return convert(self, _dtypes.find(dtype))

    def tobytes(self):
        """The elements' bytes in row-major order."""
        return bytes(self._row_major_bytes())

    def tolist(self):
        """Nested lists of Python numbers; one number for a tensor without dimensions."""
        return _nested(self._numbers(), self._shape)

    def item(self):
        """The only element, as a Python number."""
        if product(self._shape) != 1:
            raise ArgumentError(f"item() wants one element; the shape is {list(self._shape)}")
        return self._numbers()[0]

    def to_host(self):
        """The tensor itself, or a copy in host memory where it is on another device."""
        if self._live().u.as_tensor.device_type == CPU:
            return self
        return clone(self)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __complex__(self):
        return complex(self.item())

    def __bool__(self):
        return bool(self.item())

    def __index__(self):
        value = self.item()
        if not isinstance(value, int):
            raise ArgumentTypeError(f"a {self._dtype} tensor is no index")
        return int(value)

    def __repr__(self):
        about = f"shape={self._repr('shape')}, dtype={self._repr('dtype')}"
        try:
            if self.device != "cpu":
                return f"Tensor({about}, device={self.device})"
            if product(self._shape) <= 64:
                return f"Tensor({_short(self.tolist(), self._dtype)}, {about})"
        except Exception:
            pass
        return f"Tensor({about})"

    def _repr(self, name):
        try:
            return str(getattr(self, name))
        except Exception:
            return "?"

    def __reduce__(self):
        from etrt import tensor

        return tensor, (self.tobytes(), str(self._dtype), self._shape)

    def __copy__(self):
        return clone(self)

    def __deepcopy__(self, memo):
        return clone(self)

    def _host_address(self):
        """The address of the first element in memory that Python may touch."""
        view = self._live().u.as_tensor
        if view.device_type != CPU:
            raise ArgumentError(f"the tensor is on {self.device}; use to_host() first", NOT_SUPPORTED)
        return int(ffi.cast("uintptr_t", _NOWHERE if view.data == NULL else view.data))

    def _row_major_bytes(self):
        """ffi.buffer over the elements, of a copy where they don't lie that way."""
        address = self._host_address()
        if not is_row_major(self._shape, self._strides, self._dtype.itemsize):
            copy = clone(self)
            return ffi.buffer(ffi.gc(ffi.cast("char *", copy._host_address()), lambda _: copy), copy.nbytes)
        return ffi.buffer(ffi.cast("char *", address), self.nbytes)

    def _numbers(self):
        """All elements as a flat list of Python numbers."""
        dtype = self._dtype
        plain = self
        if dtype.seen_as in ("complex64", "complex128") or dtype == "complex32":
            plain, format = convert(self, _dtypes.BY_NAME["complex128"]), "d"
        elif dtype == "float16" or (not dtype.native and "float" in dtype):
            plain, format = convert(self, _dtypes.BY_NAME["float32"]), "f"
        else:
            format = dtype.format
        if not plain.nbytes:
            return []
        numbers = memoryview(plain._row_major_bytes()).cast("B").cast(format).tolist()
        if plain._dtype == "complex128":
            return [complex(re, im) for re, im in zip(numbers[::2], numbers[1::2])]
        return numbers

    # ---- Sharing its memory ------------------------------------------------------------------------------

    @property
    def __array_interface__(self):
        if not self._dtype.native:
            raise AttributeError("__array_interface__")  # NumPy then asks __array__, which can refuse a dtype
        return self._array_interface()

    def _array_interface(self):
        itemsize = self._dtype.itemsize
        dense = is_row_major(self._shape, self._strides, itemsize)
        return {
            "version": 3,
            "shape": self._shape,
            "typestr": self._dtype.typestr,
            "strides": None if dense else self._strides,
            "data": (self._host_address(), self._readonly),
        }

    def __array__(self, dtype=None, copy=None):
        import numpy

        array = numpy.asarray(_Exported(self))
        if dtype is not None:
            wanted = _numpy_dtype(dtype, numpy)
            if self._dtype.native or wanted == array.dtype:
                changes = wanted != array.dtype
            elif wanted.name == self._dtype:  # ml_dtypes
                array, changes = array.view(wanted), False
            elif wanted.kind in "iu":
                changes = True
            else:
                raise ArgumentTypeError(
                    f"a {self._dtype} tensor shows in NumPy as {array.dtype.name} words, which are no values to convert "
                    f"to {wanted.name}; use .astype('{wanted.name}')"
                )
            if changes:
                if copy is False:
                    raise ArgumentError(f"{self._dtype} as {wanted.name} needs a copy")
                return array.astype(wanted)
        return array.copy() if copy else array

    def __buffer__(self, flags):
        from etrt import _buffers

        return _buffers.memoryview_of(self)

    def __dlpack_device__(self):
        view = self._live().u.as_tensor
        return (1, 0) if view.device_type == CPU else (2, view.device_index)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        from etrt import _dlpack

        return _dlpack.export(self, stream, max_version, dl_device, copy)

    def _lease(self):
        """What an array over the memory must keep alive."""
        return self


def _numpy_dtype(dtype, numpy):
    try:
        return numpy.dtype(dtype)
    except Exception as error:
        raise ArgumentTypeError(f"dtype must be a NumPy dtype, not {shown(dtype)}: {error}") from None


# Significant digits of the dtypes that Python's floats, being float64, would show with too many.
_DIGITS = {"float32": 9, "complex64": 9, "float16": 5, "complex32": 5, "bfloat16": 4}


def _short(values, dtype):
    """Nested lists of numbers as text, with as few digits as tell a value of that dtype from its neighbours."""
    if isinstance(values, list):
        return f"[{', '.join([_short(v, dtype) for v in values])}]"
    if isinstance(values, complex):
        imaginary = _short(values.imag, dtype)
        return f"({_short(values.real, dtype)}{'' if imaginary[0] in '+-' else '+'}{imaginary}j)"
    if not isinstance(values, float) or dtype not in _DIGITS:
        return repr(values)
    digits = _DIGITS[dtype]
    same = ("f" if digits == 9 else "e") if dtype != "bfloat16" else None
    for fewer in range(1, digits) if same else ():
        text = repr(float(f"{values:.{fewer}g}"))
        try:
            if struct.pack(same, float(text)) == struct.pack(same, values):
                return text
        except OverflowError:  # rounded up beyond the largest value
            pass
    return repr(float(f"{values:.{digits}g}"))


class _Exported:
    """What NumPy takes a view of; the array keeps it, and it the memory."""

    __slots__ = ("__array_interface__", "_lease")

    def __init__(self, tensor):
        self.__array_interface__ = tensor._array_interface()
        self._lease = tensor._lease()


def _nested(flat, shape):
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    step = product(shape[1:])
    return [_nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


# ---- Making tensors ----------------------------------------------------------------------------------------


def adopt(value):
    """A Tensor of an et_value* whose hold it takes over."""
    tensor = _new_object(Tensor)
    tensor._value = _gc(value, free_value)
    return tensor


def view_of(view, owner, readonly=False):
    """A Tensor over memory that `owner` keeps alive. `view` is an et_tensor_view; its sizes are copied."""
    sizes = tuple(ffi.unpack(view.sizes, view.rank)) if view.rank else ()
    strides = None if view.strides == NULL or not view.rank else tuple(ffi.unpack(view.strides, view.rank))
    return over(view.data, _dtypes.BY_CODE[view.dtype], sizes, strides, owner, readonly, view.device_type, view.device_index)


def over(data, dtype, sizes, strides, owner, readonly=False, device_type=CPU, device_index=0, kind=Tensor):
    """A Tensor over memory at `data`; strides in elements, None for row-major."""
    tensor = _new_object(kind)
    tensor._value = value = _new(VALUE)
    tensor._layout = layout = (_new("int64_t[]", sizes), NULL if strides is None else _new("int64_t[]", strides))
    value.kind = lib.ET_KIND_TENSOR
    view = value.u.as_tensor
    view.data = data
    view.sizes, view.strides = layout
    view.dtype = dtype.code
    view.rank = len(sizes)
    view.device_type, view.device_index = device_type, device_index
    tensor._owner = owner
    tensor._readonly = readonly
    return tensor


def clone(tensor):
    """A row-major copy with memory of its own."""
    copy = _new(VALUE)
    check(lib.et_value_clone(tensor._live(), copy))
    return adopt(copy)


def convert(tensor, dtype):
    """A row-major copy with its values as `dtype`."""
    if tensor._dtype is dtype:
        return clone(tensor)
    copy = _new(VALUE)
    check(lib.et_value_convert(tensor._live(), dtype.code, copy), ArgumentError)
    return adopt(copy)
