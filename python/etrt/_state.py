"""State: the buffers that live from run to run."""

from etrt import _dtypes
from etrt._errors import ArgumentError, UnknownNameError, check, shown
from etrt._library import ffi, lib, text
from etrt._owned import free_state


def new_state():
    made = ffi.new("et_state **")
    check(lib.et_state_new(made))
    return ffi.gc(made[0], free_state)


class State:
    """Named buffers of the methods that share it. state[name] copies one out, state[name] = array copies one in."""

    # _keep: what holds the bytes that the initial values lie in.
    __slots__ = ("_handle", "_keep", "__weakref__")

    def __init__(self):
        self._handle, self._keep = new_state(), []

    def names(self):
        """Names of the buffers, in order; one without a name in the file is called by its index, such as "#0"."""
        return [text(self._info(i).name) or f"#{i}" for i in range(len(self))]

    def __len__(self):
        return lib.et_state_count(self._handle)

    def __iter__(self):
        return iter(self.names())

    def __contains__(self, name):
        return isinstance(name, str) and name in self.names()

    def __getitem__(self, name):
        index, info = self._find(name)
        sizes = ffi.unpack(info.sizes, info.rank) if info.rank else []
        data = bytearray(info.nbytes)
        check(lib.et_state_read(self._handle, index, ffi.from_buffer(data), len(data)))
        from etrt import tensor

        return tensor(data, dtype=_dtypes.BY_CODE[info.dtype], shape=tuple(sizes))

    def __setitem__(self, name, value):
        index, info = self._find(name)
        from etrt import tensor

        value = tensor(value)
        dtype, sizes = _dtypes.BY_CODE[info.dtype], tuple(ffi.unpack(info.sizes, info.rank)) if info.rank else ()
        if value.dtype != dtype or value.shape != sizes:
            raise ArgumentError(f"buffer {name} is {dtype} {list(sizes)}, not {value.dtype} {list(value.shape)}")
        data = value.tobytes()
        check(lib.et_state_write(self._handle, index, ffi.from_buffer(data), len(data)))

    def reset(self):
        """Back to the initial values: those stored in the file, else zeros."""
        check(lib.et_state_reset(self._handle))

    def clone(self):
        """A State with the same buffers and contents."""
        made = ffi.new("et_state **")
        check(lib.et_state_clone(self._handle, made))
        return _state(made[0], list(self._keep))

    def _info(self, index):
        info = ffi.new("et_tensor_info *")
        check(lib.et_state_info(self._handle, index, info))
        return info

    def _find(self, name):
        names = self.names()
        if not isinstance(name, str) or name not in names:
            raise UnknownNameError(f"the state has no buffer {shown(name)}; there are: {', '.join(names) or 'none'}{_unnamed(names)}")
        index = names.index(name)
        return index, self._info(index)

    def __repr__(self):
        return f"<etrt.State with {', '.join(self.names()) or 'no buffers'}>"


def _unnamed(names):
    if any(name.startswith("#") for name in names):
        return '. "#method/value" stands for a buffer without a name: export with emit_mutable_buffer_names=True'
    return ""


def _state(handle, keep):
    made = object.__new__(State)
    made._handle, made._keep = ffi.gc(handle, free_state), keep
    return made


def state_of(runner):
    made = ffi.new("et_state **")
    check(lib.et_method_get_state(runner.handle, made))
    return _state(made[0], [runner])
