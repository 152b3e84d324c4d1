"""Python's buffer protocol where plain Python can't reach it: pointers of strided buffers, views with a shape."""

import ctypes


class _PyBuffer(ctypes.Structure):
    """struct Py_buffer of the stable ABI."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_STRIDES = 0x0010 | 0x0008

_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = [ctypes.POINTER(_PyBuffer)]
_from_buffer = ctypes.pythonapi.PyMemoryView_FromBuffer
_from_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_from_buffer.restype = ctypes.py_object


def address(view):
    """Address of the first element of a memoryview, whatever its strides."""
    buffer = _PyBuffer()
    _get(view, ctypes.byref(buffer), _STRIDES)
    found = buffer.buf or 0
    _release(ctypes.byref(buffer))
    return found


def memoryview_of(tensor):
    """What Tensor.__buffer__ returns; Python keeps the tensor alive while it is in use."""
    dtype, shape, strides = tensor.dtype, tensor.shape, tensor.strides
    if tensor._layout is None or len(tensor._layout) < 3:
        # The arrays that the buffer points at live as long as the tensor.
        sizes = (ctypes.c_ssize_t * max(len(shape), 1))(*shape)
        steps = (ctypes.c_ssize_t * max(len(shape), 1))(*strides)
        tensor._layout = (*(tensor._layout or (None, None)), sizes, steps, dtype.format.encode())
    _, _, sizes, steps, format = tensor._layout
    buffer = _PyBuffer(
        buf=tensor._host_address(),
        obj=None,
        len=tensor.nbytes,
        itemsize=dtype.itemsize,
        readonly=tensor._readonly,
        ndim=len(shape),
        format=format,
        shape=sizes,
        strides=steps,
    )
    return _from_buffer(ctypes.byref(buffer))
