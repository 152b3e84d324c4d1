"""Inputs: anything a caller may pass, bound so that each run reads it from where the caller put it.

A Bound is one given input. It keeps the caller's object, remembers where its memory was and how it was laid
out, and can tell whether that still holds. What a run hot-path needs is in plain attributes:

    type, shape, dtype   an object of exactly this type, shape and dtype may be given without a new Bound
                         (type is None where each object needs a closer look)
    grab                 grab(object) -> its pointer now; raises or returns None when the layout is another one
    object, pointer      what was given, and where its memory was then
    view                 the et_tensor_view in the method's array of values
"""

import sys
from collections.abc import Mapping, Sequence

from etrt import _dtypes
from etrt._errors import INVALID_TYPE, ArgumentBufferError, ArgumentError, ArgumentTypeError
from etrt._library import NULL, ffi, lib
from etrt._tensor import CPU, Tensor, is_row_major, product, row_major

_from_buffer = ffi.from_buffer
_cast = ffi.cast
_VOID = ffi.typeof("void *")
KIND_NAMES = {
    lib.ET_KIND_NONE: "None", lib.ET_KIND_INT: "int", lib.ET_KIND_DOUBLE: "float", lib.ET_KIND_BOOL: "bool",
    lib.ET_KIND_STRING: "str", lib.ET_KIND_TENSOR: "tensor", lib.ET_KIND_LIST: "list",
}


class Place:
    """Where an input goes: for messages, and for what depends on the program."""

    __slots__ = ("index", "method", "kind", "dtype", "rank", "sizes", "nbytes", "keeps_writes")

    def __init__(self, index, method, info):
        self.index, self.method, self.kind = index, method, info.kind
        self.keeps_writes = bool(info.written) and not info.planned
        if info.kind == lib.ET_KIND_TENSOR:
            self.dtype = _dtypes.BY_CODE[info.dtype]
            self.sizes = tuple(ffi.unpack(info.sizes, info.rank)) if info.rank else ()
            self.rank, self.nbytes = info.rank, info.nbytes
        else:
            self.dtype, self.sizes, self.rank, self.nbytes = None, (), 0, 0

    def refuse(self, text, kind=ArgumentError, status=lib.ET_INVALID_ARGUMENT):
        return kind(f"Input {self.index} for method {self.method} {text}", status, self.method, None, self.index)

    def unsupported(self, x):
        return ArgumentTypeError(
            f"Unsupported python type {type(x)}. Ensure that inputs are passed as a flat list of tensors. Input {self.index} for "
            f"method {self.method} may be an array, a buffer, a DLPack or torch tensor, an etrt.Tensor, a number, a str or None",
            INVALID_TYPE, self.method, None, self.index,
        )


class Unset:
    """The input that was not given yet."""

    __slots__ = ()
    type = shape = dtype = pointer = None
    object = object()  # nothing that a caller has

    def fill(self, value):
        value.kind = lib.ET_KIND_NONE

    def changed(self):
        return None


UNSET = Unset()


class Scalar:
    """None, a number or a string."""

    __slots__ = ("object", "bytes")
    type = shape = dtype = pointer = None

    def __init__(self, x, place):
        self.object = x
        if isinstance(x, int) and not isinstance(x, bool) and not -(2**63) <= x < 2**63:
            raise place.refuse(f"is {x}, which doesn't fit in 64 bits")
        self.bytes = x.encode("utf-8", "surrogatepass") if isinstance(x, str) else None

    def fill(self, value):
        x = self.object
        if x is None:
            value.kind = lib.ET_KIND_NONE
        elif isinstance(x, bool):
            value.kind, value.u.as_bool = lib.ET_KIND_BOOL, x
        elif isinstance(x, int):
            value.kind, value.u.as_int = lib.ET_KIND_INT, x
        elif isinstance(x, float):
            value.kind, value.u.as_double = lib.ET_KIND_DOUBLE, x
        else:
            value.kind = lib.ET_KIND_STRING
            value.u.as_string.data, value.u.as_string.size = _from_buffer(self.bytes), len(self.bytes)

    def changed(self):
        return None


class Memory:
    """An input with memory: what the kinds below have in common."""

    __slots__ = ("object", "pointer", "type", "shape", "dtype", "strides", "code", "sizes_c", "strides_c", "view", "grab", "keep")
    what = "object"

    def lay_out(self, code, shape, strides, dense):
        """`strides` in elements."""
        self.code = code
        self.shape, self.strides = shape, strides
        self.sizes_c = ffi.new("int64_t[]", shape) if shape else NULL
        self.strides_c = NULL if dense or not shape else ffi.new("int64_t[]", strides)

    def fill(self, value):
        value.kind = lib.ET_KIND_TENSOR
        view = value.u.as_tensor
        view.data = self.pointer
        view.sizes, view.strides = self.sizes_c, self.strides_c
        view.dtype, view.rank = self.code, len(self.shape)
        view.device_type, view.device_index = self.device()
        self.view = view

    def device(self):
        return CPU, 0


_MOVED = "its memory moved"


def _difference(name, before, now):
    return f"its {name} was {before} and is {now}"


# ---- NumPy -------------------------------------------------------------------------------------------------


class Owner:
    """The NumPy array that owns the memory of a view or an exported buffer. resize(refcheck=False) moves it under them."""

    __slots__ = ("array", "facts")

    def __init__(self, array):
        self.array = array
        self.facts = self._facts()

    @classmethod
    def of(cls, x):
        """None where `x` is no NumPy array with memory of its own."""
        array = _ndarray()
        if array is None or not isinstance(x, array):
            return None
        base = array.base.__get__
        while isinstance(base(x), array):
            x = base(x)
        return cls(x) if array.flags.__get__(x).owndata else None

    def _facts(self):
        array = _base_array(self.array)
        return array.__array_interface__["data"][0], array.nbytes

    def moved(self):
        return self._facts() != self.facts


def _base_array(x):
    """An array, or a plain view of one of a subclass, which may say of itself what it likes."""
    array = _ndarray()
    return x if type(x) is array else array.view(x, array)


class NumpyArray(Memory):
    __slots__ = ("byte_strides", "dense", "numpy_dtype", "owner", "keeps_writes", "writeable")
    what = "array"

    def __init__(self, x, place):
        self.object = x
        self.keep = None
        masked = sys.modules.get("numpy.ma")
        if masked is not None and isinstance(x, masked.MaskedArray):
            raise place.refuse("is a masked array, and the mask would be lost; pass x.filled(...) or x.data")
        given_type, x = type(x), _base_array(x)
        dtype = x.dtype
        code = _dtypes.dtype_of_numpy(dtype)
        if code is None:
            raise place.refuse(_numpy_remedy(x, dtype))
        shape, strides, itemsize = x.shape, x.strides, dtype.itemsize
        self.writeable = x.flags.writeable
        if place.keeps_writes and not self.writeable:
            raise place.refuse("is a read-only array, and the program writes this input in place; pass x.copy()")
        words = _raw_words(place, code, shape, strides, numpy=True)
        want = place.dtype
        if words is None and want is not None and not want.native and code == want.seen_as:
            raise place.refuse(f"is an array of {code}, expected {want}. If it holds a {want} result's words, pass that result "
                               f"itself, x.tobytes(), or etrt.tensor(x, dtype='{want}')", status=INVALID_TYPE)
        self.dense = x.flags.c_contiguous
        if not self.dense and any(s % itemsize for s in strides):
            raise place.refuse(f"has strides {strides}, which are no multiples of its {itemsize} bytes an element; "
                               "pass np.ascontiguousarray(x)")
        if words is not None:
            self.lay_out(words.code, place.sizes, row_major(place.sizes), True)
            self.shape = shape  # the array's own, to see a change
        else:
            self.lay_out(code.code, shape, tuple([s // itemsize for s in strides]), self.dense)
        self.byte_strides, self.numpy_dtype, self.keeps_writes = strides, dtype, place.keeps_writes
        self.grab = _from_buffer if self.dense and _exports(x) else _address_of_array
        self.pointer = self.grab(x)
        self.owner = None if x.base is None else Owner.of(x.base)
        plain = self.grab is _from_buffer and words is None and not place.keeps_writes and given_type is type(x)
        self.type, self.dtype = (type(x), dtype) if plain else (None, None)

    def fill(self, value):
        shape = self.shape
        if self.sizes_c != NULL and len(self.sizes_c) != len(shape):  # raw bytes stand for another shape
            self.shape = tuple(self.sizes_c)
        Memory.fill(self, value)
        self.shape = shape

    def changed(self):
        x = _base_array(self.object)
        if x.shape != self.shape:
            return _difference("shape", self.shape, x.shape)
        if x.dtype is not self.numpy_dtype and x.dtype != self.numpy_dtype:
            return _difference("dtype", self.numpy_dtype, x.dtype)
        if x.strides != self.byte_strides and not (self.dense and x.flags.c_contiguous):
            return _difference("strides", self.byte_strides, x.strides)
        if self.grab(x) != self.pointer or (self.owner is not None and self.owner.moved()):
            return _MOVED
        if self.keeps_writes and not x.flags.writeable:
            return "it is read-only now, and the program writes it in place"
        return None


def _ndarray():
    numpy = sys.modules.get("numpy")
    return None if numpy is None else numpy.ndarray


def _exports(x):
    """Whether the array has a plain buffer; those of ml_dtypes may have none."""
    try:
        _from_buffer(x)
    except (ValueError, TypeError, BufferError):
        return False
    return True


def _address_of_array(x):
    return _cast(_VOID, x.__array_interface__["data"][0])


def _numpy_remedy(x, dtype):
    if dtype.names is not None or dtype.subdtype is not None:
        return f"is a structured array ({dtype}); pass one of its fields"
    if dtype.kind == "O":
        return "is an array of Python objects; pass x.astype(np.float32) or another number type"
    if not dtype.isnative:
        return f"is an array of non-native byte order ({dtype.str}); pass x.astype(x.dtype.newbyteorder('='))"
    return f"is an array of {dtype}, which no program takes; pass x.astype(...) of a number type"


def _raw_words(place, code, shape, strides, numpy=False):
    """The place's dtype, when a flat uint8 buffer is to be taken as the bytes of a tensor that no buffer format can name."""
    want = place.dtype
    if want is None or want.native or code != "uint8" or len(shape) != 1 or strides != (1,):
        return None
    if numpy and want.itemsize == 1:
        return None  # np.asarray(result) looks the same, and must be refused as for every other such dtype
    if shape[0] != place.nbytes or any(s < 0 for s in place.sizes):
        return None
    return want


# ---- torch -------------------------------------------------------------------------------------------------


def _base_tensor(x, torch):
    """A torch tensor, or a plain view of one of a subclass, which may say of itself what it likes."""
    if type(x) is torch.Tensor or type(x) is torch.nn.Parameter:
        return x
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.as_subclass(x, torch.Tensor)


class TorchTensor(Memory):
    __slots__ = ("torch_dtype", "device_", "torch_strides", "torch")
    what = "torch tensor"

    def __init__(self, x, place, torch):
        self.object, self.torch = x, torch
        self.keep = None
        given_type = type(x)
        try:
            x = _base_tensor(x, torch)
        except Exception as error:
            raise place.refuse(f"is a {given_type.__name__}, which is no plain tensor: {error}") from None
        device = x.device
        if device.type not in ("cpu", "cuda"):
            raise place.refuse(
                f"is on device {device}, and only CPU and CUDA tensors can be passed to a method.", status=lib.ET_NOT_SUPPORTED
            )
        if x.is_nested:
            raise place.refuse("is a nested tensor; pass x.to_padded_tensor(...)")
        if x.layout is not torch.strided:
            raise place.refuse(f"has layout {x.layout}; pass x.to_dense()")
        if x.is_neg() or x.is_conj():
            raise place.refuse("has a lazy sign or conjugate, which must be resolved before execution: "
                               "pass x.resolve_neg() or x.resolve_conj()")
        self.torch_dtype = x.dtype
        code = _dtypes.BY_NAME.get(str(x.dtype)[6:])
        if code is None:
            raise place.refuse(f"has dtype {x.dtype}, which no program takes")
        shape, strides = tuple(x.shape), x.stride()
        self.torch_strides = strides
        self.lay_out(code.code, shape, strides, is_row_major(shape, strides, 1))
        self.device_ = device
        self.grab = self._grab
        try:
            self.pointer = self._grab(x)
        except RuntimeError as error:  # fake and functorch tensors have no memory
            raise place.refuse(f"has no memory of its own: {error}") from None
        if self.pointer == NULL and product(shape):
            raise place.refuse("has no memory: its storage is not allocated")
        self.type, self.dtype = (given_type, x.dtype) if given_type is type(x) else (None, None)

    def device(self):
        return (CPU, 0) if self.device_.type == "cpu" else (lib.ET_DEVICE_CUDA, self.device_.index or 0)

    def _grab(self, x):
        if x.stride() != self.torch_strides or x.device != self.device_ or x.is_neg() or x.is_conj():
            return None
        if str(x.layout) != "torch.strided":
            return None
        return _cast(_VOID, x.data_ptr())

    def changed(self):
        x = _base_tensor(self.object, self.torch)
        if x.shape != self.shape:
            return _difference("shape", self.shape, tuple(x.shape))
        if x.dtype is not self.torch_dtype:
            return _difference("dtype", self.torch_dtype, x.dtype)
        if x.stride() != self.torch_strides:
            return _difference("strides", self.torch_strides, x.stride())
        if x.device != self.device_:
            return _difference("device", self.device_, x.device)
        if self._grab(x) != self.pointer:
            return _MOVED
        return None


# ---- etrt.Tensor -------------------------------------------------------------------------------------------


class OwnTensor(Memory):
    __slots__ = ("value",)
    what = "tensor"

    def __init__(self, x, place):
        self.object = x
        self.keep = None
        if place.keeps_writes and x._readonly:
            raise place.refuse("is a read-only tensor, and the program writes this input in place; pass a copy")
        view = x._live().u.as_tensor
        shape, dtype = x.shape, x.dtype
        strides = tuple([s // dtype.itemsize for s in x.strides])
        self.lay_out(dtype.code, shape, strides, is_row_major(shape, strides, 1))
        self.value = view.device_type, view.device_index
        self.grab = self._grab
        self.pointer = view.data
        self.type, self.dtype = (Tensor, dtype) if x._source is None and not place.keeps_writes else (None, None)

    def device(self):
        return self.value

    def _grab(self, x):
        if x is self.object:
            return self.pointer
        view = x._live().u.as_tensor
        if (view.device_type, view.device_index) != self.value:
            return None
        itemsize = self.dtype.itemsize
        if tuple([s // itemsize for s in x._strides]) != self.strides:
            return None
        return view.data

    def changed(self):
        source = self.object._source
        return source.changed() if source is not None else None


# ---- Buffers -----------------------------------------------------------------------------------------------


class Buffer(Memory):
    """bytes, bytearray, memoryview, array.array, … Holding the export keeps the memory where it is."""

    __slots__ = ("owner",)
    what = "buffer"

    def __init__(self, x, place, view=None):
        self.object = x
        view = memoryview(x) if view is None else view
        self.keep = view
        code = _dtypes.dtype_of_format(view.format, view.itemsize)
        if code is None:
            raise place.refuse(
                f"is a buffer of format {view.format!r}, which is no plain number of this machine's byte order; "
                "pass one of a native number format", ArgumentBufferError)
        if view.suboffsets:
            raise place.refuse("is a buffer of pointers to rows; pass a copy in one piece", ArgumentBufferError)
        if place.keeps_writes and view.readonly:
            raise place.refuse("is read-only, and the program writes this input in place; pass a copy", ArgumentBufferError)
        shape, strides = tuple(view.shape), tuple(view.strides)
        words = _raw_words(place, code, shape, strides)
        if words is not None:
            self.lay_out(words.code, place.sizes, row_major(place.sizes), True)
        elif any(s % view.itemsize for s in strides):
            raise place.refuse(f"has strides {strides}, which are no multiples of its {view.itemsize} bytes an element; "
                               "pass a contiguous copy", ArgumentBufferError)
        else:
            self.lay_out(code.code, shape, tuple([s // view.itemsize for s in strides]), view.c_contiguous)
        if view.c_contiguous:
            # The view keeps the memory; a cffi object over the view would not survive Python's collecting both as a cycle.
            self.pointer = _cast(_VOID, _from_buffer(view))
        else:
            from etrt import _buffers

            self.pointer = _cast(_VOID, _buffers.address(view))
        self.owner = Owner.of(view.obj)
        self.type = self.dtype = self.grab = None

    def changed(self):
        # Nothing else that has exported its buffer can be resized.
        return _MOVED if self.owner is not None and self.owner.moved() else None


# ---- DLPack ------------------------------------------------------------------------------------------------


class DlpackTensor(Memory):
    __slots__ = ("value", "readonly")
    what = "DLPack tensor"

    def __init__(self, x, place):
        self.object = x
        value, self.readonly = self._ask(place)
        if place.keeps_writes and self.readonly:
            raise place.refuse("is read-only, and the program writes this input in place; pass a copy", ArgumentBufferError)
        self.keep = value
        view = value.u.as_tensor
        self.pointer = view.data
        self.value = self._facts(view)
        code, shape, strides = self.value[1:4]
        self.lay_out(code, shape, strides, is_row_major(shape, strides, 1))
        self.type = self.dtype = self.grab = None

    def _ask(self, place=None):
        from etrt import _dlpack

        try:
            return _dlpack.take(_dlpack.capsule_of(self.object))
        except Exception as error:
            if place is None:
                raise
            raise place.refuse(f"gives no DLPack tensor that can be used: {error}", ArgumentBufferError) from error

    @staticmethod
    def _facts(view):
        rank = view.rank
        shape = tuple(ffi.unpack(view.sizes, rank)) if rank else ()
        strides = row_major(shape) if view.strides == NULL or not rank else tuple(ffi.unpack(view.strides, rank))
        return (view.device_type, view.device_index), view.dtype, shape, strides, int(_cast("uintptr_t", view.data))

    def device(self):
        return self.value[0]

    def changed(self):
        try:
            now = self._facts(self._ask()[0].u.as_tensor)
        except Exception as error:
            return f"it gives no DLPack tensor any more: {error}"
        for name, before, after in zip(("device", "dtype", "shape", "strides"), self.value, now):
            if before != after:
                return _difference(name, before, after)
        return _MOVED if now != self.value else None


# ---- The door ----------------------------------------------------------------------------------------------


def bind(x, place):
    """A Bound for one input."""
    if isinstance(x, Tensor):
        return OwnTensor(x, place)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "ndarray"):
        if isinstance(x, numpy.ndarray):
            return NumpyArray(x, place)
        if isinstance(x, numpy.generic):
            return _numpy_scalar(x, place, numpy)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "Tensor") and isinstance(x, torch.Tensor):
        return TorchTensor(x, place, torch)
    if x is None or isinstance(x, (bool, int, float, str)):
        return Scalar(x, place)
    try:
        view = memoryview(x)
    except (TypeError, ValueError, BufferError):
        view = None
    if view is not None:
        return Buffer(x, place, view)
    if hasattr(x, "__dlpack__"):
        return DlpackTensor(x, place)
    raise place.unsupported(x)


def _numpy_scalar(x, place, numpy):
    """numpy.float32(1): a tensor without dimensions where the program wants a tensor, else a number."""
    if place.kind == lib.ET_KIND_TENSOR:
        return NumpyArray(numpy.asarray(x), place)
    if isinstance(x, numpy.bool_):
        return Scalar(bool(x), place)
    if isinstance(x, numpy.integer):
        return Scalar(int(x), place)
    if isinstance(x, numpy.floating):
        return Scalar(float(x), place)
    if isinstance(x, numpy.str_):
        return Scalar(str(x), place)
    raise place.refuse(f"is a {type(x).__name__}, which is no number a program takes")


def as_list(inputs):
    """The inputs of a call as a list: a lone array, tensor or buffer is one input, never a list of rows."""
    if isinstance(inputs, (list, tuple)):
        return inputs
    if isinstance(inputs, Tensor) or hasattr(inputs, "__dlpack__") or hasattr(inputs, "__array_interface__"):
        return [inputs]
    try:
        memoryview(inputs)
        return [inputs]
    except (TypeError, ValueError, BufferError):
        pass
    if isinstance(inputs, Sequence) and not isinstance(inputs, str) or (
        hasattr(inputs, "__getitem__") and hasattr(inputs, "__len__") and not isinstance(inputs, (Mapping, str))
    ):
        try:
            return list(inputs)
        except Exception:
            pass
    raise ArgumentTypeError(
        f"Inputs must be a tensor buffer or a flat sequence of inputs, not {type(inputs).__name__}; pass [x] for one input"
    )


def is_torch(x):
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(x, torch.Tensor)
