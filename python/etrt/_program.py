"""Program: a loaded and verified file."""

import enum
import os
from _thread import allocate_lock

from etrt._errors import (
    ArgumentError, ArgumentTypeError, LoadError, NotImplementedYetError, check, encoded, last_error, shown, whole_number,
)
from etrt._library import NULL, ffi, lib, text
from etrt._meta import method_meta
from etrt._method import WHEN_GIVEN, Runner, method
from etrt._owned import freeing
from etrt._state import State, new_state


class Verification(enum.Enum):
    """How closely a file is checked. Both check its whole structure; the two names exist because ExecuTorch has them."""

    Minimal = lib.ET_VERIFY_MINIMAL
    InternalConsistency = lib.ET_VERIFY_INTERNAL_CONSISTENCY


_OPTIONS_SIZE = ffi.sizeof("et_program_options")
_METHOD_OPTIONS_SIZE = ffi.sizeof("et_method_options")
_BUFFER_SIZE = ffi.sizeof("et_buffer")


class _Contents:
    """A file's contents in memory, as an et_buffer. Immutable bytes are read in place, anything else is copied by the
    library; `keep` must live as long as the program."""

    __slots__ = ("buffer", "keep", "_memory", "_name")

    def __init__(self, source, name):
        if hasattr(source, "read"):
            source = source.read()
        if not _is_buffer(source):
            raise ArgumentTypeError(f"{name} must be a path, bytes or a file opened in binary mode ('rb'), "
                                    f"not {type(source).__name__}")
        view = memoryview(source)
        self._memory = ffi.from_buffer(source if view.c_contiguous else view.tobytes())
        self._name = ffi.new("char[]", name.encode())
        self.buffer = ffi.new("et_buffer *")
        self.buffer.struct_size = _BUFFER_SIZE
        self.buffer.data, self.buffer.size, self.buffer.name = self._memory, view.nbytes, self._name
        self.buffer.copy = not isinstance(source, bytes)
        self.keep = None if self.buffer.copy else self._memory


def _freeing(keep, free=lib.et_program_free):
    """A destructor that lets go of `keep` after it has freed the program."""
    return freeing(lambda program, keep=keep: free(program))


def _is_buffer(x):
    try:
        memoryview(x)
        return True
    except TypeError:
        return False


def _is_path(x):
    return isinstance(x, (str, os.PathLike))


def _data_list(data):
    if _is_path(data) or _is_buffer(data) or hasattr(data, "read"):
        return [data]
    try:
        return list(data)
    except TypeError:
        raise ArgumentTypeError("data must be a .ptd file or a list of them, each a path, bytes or a file opened in binary mode "
                                f"('rb'), not {shown(data)}") from None


def _path(path):
    """A path as the C library takes it."""
    path = os.fspath(path)
    try:
        found = path.encode("utf-8", "surrogatepass") if os.name == "nt" else os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ArgumentError(f"the path {path!r} is no name that a file can have: {error}") from None
    if b"\0" in found:
        raise ArgumentError(f"the path {path!r} contains a null character")
    return ffi.new("char[]", found)


class Handle:
    """An et_program and what Python must know of it. Methods and metadata keep it."""

    __slots__ = ("handle", "method_names", "_shared", "_lock", "__weakref__")

    def __init__(self, source, data=(), verification=Verification.Minimal):
        """`source`: a path (str or os.PathLike), bytes or another buffer, or a file object. `data`: the same for .ptd files."""
        options = ffi.new("et_program_options *")
        options.struct_size = _OPTIONS_SIZE
        options.verification = _verification(verification)
        paths, contents = [], []
        if type(data) is not tuple or data:
            data = _data_list(data)
            paths = [_path(d) for d in data if _is_path(d)]
            contents = [_Contents(d, "data in memory") for d in data if not _is_path(d)]
            path_array = ffi.new("char *[]", paths)
            buffer_array = ffi.new("et_buffer[]", [c.buffer[0] for c in contents])
            options.data_paths, options.data_path_count = path_array, len(paths)
            options.data_buffers, options.data_buffer_count = buffer_array, len(contents)
        made = ffi.new("et_program **")
        if _is_path(source):
            status = lib.et_program_load_file(_path(source), options, made)
        else:
            if not _is_buffer(source) and not hasattr(source, "read"):
                raise ArgumentTypeError("Expected data to be bytes, bytearray, a path to a .pte file, or a file-like object, "
                                        f"but got {type(source).__name__}.")
            contents.append(_Contents(source, "bytes in memory"))
            status = lib.et_program_load_buffer(contents[-1].buffer, options, made)
        if status:
            raise last_error(status, LoadError)
        self.handle = ffi.gc(made[0], _freeing([c.keep for c in contents]))
        self.method_names = [text(lib.et_program_method_name(self.handle, i))
                             for i in range(lib.et_program_method_count(self.handle))]
        self._shared, self._lock = None, allocate_lock()

    def load(self, name, torch, state=None, **options):
        """A Runner for a method, with memory of its own."""
        made = ffi.new("et_method_options *")
        made.struct_size = _METHOD_OPTIONS_SIZE
        if state is not None:
            made.state = state
        for key, value in options.items():
            setattr(made, key, value)
        return Runner(self, name, made, torch)

    def shared_state(self):
        """One state for all methods where a named buffer occurs in more than one of them; else None."""
        with self._lock:
            if self._shared is None:
                self._shared = (new_state() if self._has_common_buffers() else None,)
            return self._shared[0]

    def _has_common_buffers(self):
        if len(self.method_names) < 2:
            return False
        seen = set()
        for name in self.method_names:
            meta = method_meta(self, name)
            infos = [meta.attribute_tensor_meta(i) for i in range(meta.num_attributes())]
            names = {i.name() for i in infos if i.is_state() and i.name()}
            if names & seen:
                return True
            seen |= names
        return False


def _verification(level):
    if type(level) is Verification:
        return level._value_
    try:
        return Verification(whole_number(level, "verification")).value
    except ValueError:
        raise ArgumentError("verification must be Verification.Minimal or Verification.InternalConsistency, "
                            f"not {shown(level)}") from None


_PLANS = {None: lib.ET_PLAN_DEFAULT, "as_exported": lib.ET_PLAN_AS_EXPORTED, "optimized": lib.ET_PLAN_OPTIMIZED}


class Program:
    """A loaded program. Any number of threads may use it."""

    __slots__ = ("_handle", "__weakref__")
    _torch = WHEN_GIVEN

    def __init__(self, *args, **kwargs):
        raise TypeError("Program: no constructor; etrt.load(...) makes one")

    @property
    def method_names(self):
        """Names of the methods, as a set."""
        return set(self._handle.method_names)

    def load_method(self, name, *, plan=None, state=None, memory_limit=0, step_limit=0):
        """A new Method each time, with memory of its own; weights are shared.

        plan          "as_exported" or None, which today are the same ("optimized" is refused as long as there is none)
        state         an etrt.State to share. Without one the method gets its own, unless a named buffer occurs in
                      more than one method of the program: then all of them share one
        memory_limit  bytes that the method may need, weights excepted; 0 for no limit
        step_limit    instructions of one run; 0 for ten million
        """
        if not isinstance(plan, (str, type(None))) or plan not in _PLANS:
            raise ArgumentError(f"plan must be 'as_exported' or None, not {shown(plan)}")
        if not isinstance(state, (State, type(None))):
            raise ArgumentTypeError(f"state must be an etrt.State or None, not {shown(state)}")
        runner = self._handle.load(name, self._torch, self._handle.shared_state() if state is None else state._handle,
                                   plan=_PLANS[plan], memory_limit=whole_number(memory_limit, "memory_limit"),
                                   step_limit=whole_number(step_limit, "step_limit"))
        if state is not None:
            state._keep.append(self._handle)
        return method(runner)

    def metadata(self, method_name):
        """MethodMeta of a method, without loading it."""
        return method_meta(self._handle, method_name)

    def check(self, method_name=None):
        """Raises an Error that names every operator and backend that is missing here."""
        check(lib.et_program_can_run(self._handle.handle, NULL if method_name is None else encoded(method_name, "a method's name")))

    def describe(self):
        """What `etrt inspect` prints, as a dict."""
        import json

        made = ffi.new("char **")
        check(lib.et_program_describe(self._handle.handle, made))
        try:
            return json.loads(text(made[0]))
        finally:
            lib.et_text_free(made[0])

    def write_etdump_result_to_file(self, etdump_path, debug_buffer_path=None):
        raise NotImplementedYetError("ETDump")

    def __repr__(self):
        return f"<etrt.Program with {', '.join(self._handle.method_names)}>"


def program(handle, kind=Program):
    made = object.__new__(kind)
    made._handle = handle
    return made
