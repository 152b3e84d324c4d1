"""DLPack in and out: capsules around what et_value_from_dlpack and et_value_to_dlpack take and give."""

import ctypes

from etrt._errors import NOT_SUPPORTED, ArgumentBufferError, ArgumentTypeError, last_error, shown, whole_number
from etrt._library import NULL, ffi, lib
from etrt._owned import free_value
from etrt._tensor import VALUE, clone

_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
_USED_PLAIN, _USED_VERSIONED = b"used_dltensor", b"used_dltensor_versioned"
_READ_ONLY, _IS_COPIED = 1, 2
_DLPACK_CPU, _DLPACK_CUDA = 1, 2

_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = [ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR], ctypes.py_object
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.argtypes, _set_name.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
# The same two for a capsule that is being destroyed, which must not be turned into an object again.
_dying_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


# ---- In ----------------------------------------------------------------------------------------------------


def capsule_of(producer):
    """Asks for a versioned capsule first, as newer producers prefer, then for a plain one."""
    ask = producer.__dlpack__
    try:
        return ask(max_version=(1, 0))
    except TypeError:  # made before DLPack 1.0
        return ask()


def take(capsule):
    """Moves a capsule's tensor into (et_value* that owns it, read-only)."""
    versioned = bool(_is_valid(capsule, _VERSIONED))
    if not versioned and not _is_valid(capsule, _PLAIN):
        raise ArgumentBufferError(f"__dlpack__ gave {type(capsule).__name__}, not an unused DLPack capsule")
    name = _VERSIONED if versioned else _PLAIN
    managed = ffi.cast("void *", _pointer(capsule, name))
    readonly = versioned and bool(ffi.cast("dl_managed_versioned *", managed).flags & _READ_ONLY)
    value = ffi.new(VALUE)
    status = lib.et_value_from_dlpack(managed, versioned, value)
    if status:
        raise last_error(status, ArgumentBufferError)
    _set_name(capsule, _USED_VERSIONED if versioned else _USED_PLAIN)
    return ffi.gc(value, free_value), readonly


# ---- Out ---------------------------------------------------------------------------------------------------


def export(tensor, stream, max_version, dl_device, copy):
    """Tensor.__dlpack__."""
    device = tensor.__dlpack_device__()
    dl_device, max_version = _pair(dl_device, "dl_device"), _pair(max_version, "max_version")
    if dl_device not in (None, device):
        if dl_device != (_DLPACK_CPU, 0) or copy is False:
            raise ArgumentBufferError(f"the tensor is on {tensor.device}; DLPack device {dl_device} is not possible here")
        tensor, copy = tensor.to_host(), False
    if device[0] == _DLPACK_CPU and stream is not None and not (isinstance(stream, int) and stream == -1):
        raise ArgumentBufferError(f"stream={shown(stream)} given for a tensor in host memory; it must be None")
    if copy:
        tensor = clone(tensor)
    versioned = max_version is not None and max_version[0] >= 1
    if tensor._readonly and not versioned:
        raise ArgumentBufferError("the tensor is read-only, which only DLPack 1.0 (max_version=(1, 0)) can say; use copy=True")
    managed = _managed(tensor, versioned)
    if versioned:
        flags = ffi.cast("dl_managed_versioned *", managed)
        flags.flags |= (_READ_ONLY if tensor._readonly else 0) | (_IS_COPIED if copy else 0)
    return _new(int(ffi.cast("uintptr_t", managed)), _VERSIONED if versioned else _PLAIN, _destroy)


def _pair(x, what):
    """Two ints, such as a DLPack device or version; None stays None."""
    if x is None:
        return None
    try:
        first, second = x
    except Exception:
        raise ArgumentTypeError(f"{what} must be a pair of ints or None, not {shown(x)}") from None
    return whole_number(first, what), whole_number(second, what)


def capsule_of_value(value):
    """An unversioned capsule that shares the hold of an et_value."""
    managed = ffi.new("void **")
    status = lib.et_value_to_dlpack(value, 0, managed)
    if status:
        raise last_error(status, ArgumentBufferError)
    return _new(int(ffi.cast("uintptr_t", managed[0])), _PLAIN, _destroy)


def _managed(tensor, versioned):
    value = tensor._live()
    if value.hold == NULL:
        return _managed_by_python(tensor, versioned)
    managed = ffi.new("void **")
    status = lib.et_value_to_dlpack(value, versioned, managed)
    if status:
        raise last_error(status, ArgumentBufferError)
    return managed[0]


@_DESTRUCTOR
def _destroy(capsule):
    """A capsule that nobody took gives its tensor back."""
    for name, kind in ((_PLAIN, "dl_managed *"), (_VERSIONED, "dl_managed_versioned *")):
        if _dying_is_valid(capsule, name):
            managed = ffi.cast(kind, _dying_pointer(capsule, name))
            managed.deleter(managed)


# Tensors over memory that Python keeps alive: {address: (struct, shape and strides, what to keep)}.
_exported = {}


@ffi.callback("void(dl_managed *)")
def _forget(managed):
    _exported.pop(int(ffi.cast("uintptr_t", managed)), None)


@ffi.callback("void(dl_managed_versioned *)")
def _forget_versioned(managed):
    _exported.pop(int(ffi.cast("uintptr_t", managed)), None)


# Arrays may outlive this module when the interpreter ends; what they call then must still be there.
for _callback in (_destroy, _forget, _forget_versioned):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))


_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_MORE_CODES = {
    "bfloat16": 4, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "complex32": 5,
}


def _managed_by_python(tensor, versioned):
    dtype, shape = tensor.dtype, tensor.shape
    code = _CODES[dtype.typestr[1]] if dtype.native else _MORE_CODES.get(dtype)
    if code is None:
        raise ArgumentBufferError(f"DLPack has no code for {dtype}", NOT_SUPPORTED)
    managed = ffi.new("dl_managed_versioned *" if versioned else "dl_managed *")
    layout = ffi.new("int64_t[]", shape), ffi.new("int64_t[]", [s // dtype.itemsize for s in tensor.strides])
    if versioned:
        managed.major, managed.minor, managed.deleter = 1, 0, _forget_versioned
    else:
        managed.deleter = _forget
    to = managed.tensor
    to.data = tensor._live().u.as_tensor.data
    to.device.device_type, to.device.device_id = tensor.__dlpack_device__()
    to.ndim = len(shape)
    to.dtype.code, to.dtype.bits, to.dtype.lanes = code, 8 * dtype.itemsize, 1
    to.shape, to.strides = layout
    _exported[int(ffi.cast("uintptr_t", managed))] = managed, layout, tensor._lease()
    return managed
