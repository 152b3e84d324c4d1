"""executorch.extension.pybindings.portable_lib by etrt: the same names, arguments and results.

Tensors come out as torch tensors where the program has imported torch by then, else as etrt.Tensor. The environment
variable EXECUTORCH_PYBINDINGS_TENSOR_OUTPUT, read once at import, set to "executorch" makes it etrt.Tensor always.
"""

import os as _os
from _thread import allocate_lock as _allocate_lock

from etrt import _method
from etrt._errors import (
    ArgumentIndexError as _ArgumentIndexError,
    ArgumentTypeError as _ArgumentTypeError,
    Error as _Error,
    LoadError as _LoadError,
    NotImplementedYetError as _NotImplementedYetError,
    encoded as _encoded,
    whole_number as _whole_number,
    ACCESS_FAILED as _ACCESS_FAILED,
    INVALID_ARGUMENT as _INVALID_ARGUMENT,
)
from etrt._library import lib as _lib
from etrt._meta import MethodMeta, TensorInfo, method_meta as _method_meta
from etrt._program import Handle as _Handle, Verification
from etrt._runtime import backend_names as _get_registered_backend_names, operator_names as _get_operator_names
from etrt._state import new_state as _new_state
from etrt._tensor import Tensor as ExecuTorchResult

_tensor_output = _os.environ.get("EXECUTORCH_PYBINDINGS_TENSOR_OUTPUT", "torch")
if _tensor_output not in ("torch", "executorch"):
    raise ValueError(
        f"EXECUTORCH_PYBINDINGS_TENSOR_OUTPUT must be either 'torch' or 'executorch', but was {_tensor_output!r}")
_torch = _method.WHEN_IMPORTED if _tensor_output == "torch" else _method.NEVER
_uses_aten = False


def _no_constructor(self, *args, **kwargs):
    raise TypeError(f"etrt.portable_lib.{type(self).__name__}: No constructor defined!")


# ---- Modules -----------------------------------------------------------------------------------------------


class ExecuTorchModule:
    """A program whose methods are loaded when they are first used. They share the buffers that live from run to run."""

    __slots__ = ("_program", "_load_error", "_methods", "_state", "_lock", "__weakref__")
    __init__ = _no_constructor

    def run_method(self, method_name, inputs=(), clone_outputs=True):
        """Runs a method. With fewer inputs than it takes, the rest are kept from earlier calls."""
        method = self._methods.get(method_name) if type(method_name) is str else None
        if method is None:
            method = self._method(method_name)
        try:
            return method.run(inputs, clone_outputs, True)
        except _Error as error:
            raise _in_stock_words(error, f"Failed to execute method {method_name}, error: 0x{{:x}}")

    def forward(self, inputs=(), clone_outputs=True):
        return self.run_method("forward", inputs, clone_outputs)

    __call__ = forward

    def plan_execute(self, method_name, clone_outputs=True):
        """Runs a method with the inputs kept from earlier calls."""
        method = self._method(method_name)
        try:
            return method.rerun(clone_outputs)
        except _Error as error:
            raise _in_stock_words(error, f"executing execution plan for method '{method_name}' failed with error: 0x{{:x}}")

    def method_meta(self, method_name):
        return self._meta(method_name, f"failed to retrieve method_meta for method {method_name}, error 0x{{:x}}")

    def method_names(self):
        try:
            return list(self._loaded().method_names)
        except _Error as error:
            raise _in_stock_words(error, "Failed to get method names, error: 0x{:x}")

    def has_etdump(self):
        return False

    def write_etdump_result_to_file(self, path, debug_buffer_path=None):
        raise _NotImplementedYetError("No etdump found: ETDump")

    def load_bundled_input(self, bundle, method_name, testset_idx):
        raise _NotImplementedYetError("Running bundled programs")

    def verify_result_with_bundled_expected_output(self, bundle, method_name, testset_idx, rtol=1e-5, atol=1e-8):
        raise _NotImplementedYetError("Running bundled programs")

    def _loaded(self):
        """The program. As in ExecuTorch, contents that can't be used are reported at first use, not at load."""
        if self._load_error is not None:
            error = type(self._load_error)(*self._load_error.args)
            error.__dict__.update(self._load_error.__dict__)
            raise error
        return self._program

    def _meta(self, method_name, words):
        try:
            return _method_meta(self._loaded(), method_name)
        except _Error as error:
            raise _in_stock_words(error, words)

    def _method(self, name):
        """Loads a method at its first use."""
        _encoded(name, "a method's name")
        with self._lock:
            method = self._methods.get(name)
            if method is not None:
                return method
            try:
                program = self._loaded()
            except _Error as error:
                raise _in_stock_words(error, f"Failed to execute method {name}, error: 0x{{:x}}")
            if name not in program.method_names:
                self._meta(name, f"Failed to get method_meta for {name}, error: 0x{{:x}}")
            try:
                if self._state is None:
                    self._state = _new_state()
                method = self._methods[name] = program.load(name, _torch, self._state)
            except _Error as error:
                raise _in_stock_words(error, f"Failed to load method {name}, error: 0x{{:x}}")
            return method

    def __repr__(self):
        return "<etrt.portable_lib.ExecuTorchModule>"


def _in_stock_words(error, words):
    """The same exception with the beginning that ExecuTorch's bindings give it."""
    return error.with_context(words.replace("{:x}", f"{int(error.status):x}"))  # names in it may have braces


def _refuse_etdump(enable_etdump):
    if enable_etdump:
        raise _NotImplementedYetError("ETDump (enable_etdump=True)")


def _module(source, data, verification, words):
    made = object.__new__(ExecuTorchModule)
    made._load_error = made._program = made._state = None
    made._methods, made._lock = {}, _allocate_lock()
    try:
        made._program = _Handle(source, () if data is None else data, verification)
    except _LoadError as error:
        if error.status == _ACCESS_FAILED:
            raise _in_stock_words(error, words)
        made._load_error = error.with_traceback(None)
    return made


def _path_of(path, name):
    if not isinstance(path, (str, _os.PathLike)):
        raise _ArgumentTypeError(f"{name} must be a path, not {type(path).__name__}")
    return _os.fspath(path)


def _bytes_of(buffer, name):
    try:
        memoryview(buffer)
    except TypeError:
        raise _ArgumentTypeError(f"{name} must be bytes, not {type(buffer).__name__}") from None
    return buffer


def _load_for_executorch(program_path, data_path=None, enable_etdump=False, debug_buffer_size=0,
                         program_verification=Verification.InternalConsistency):
    _refuse_etdump(enable_etdump)
    path = _path_of(program_path, "program_path")
    return _module(path, data_path, program_verification,
                   f"Failed to create MmapDataLoader from file {path}, error: 0x:{{:x}}")


def _load_for_executorch_from_buffer(buffer, data_map_buffer=None, enable_etdump=False, debug_buffer_size=0,
                                     program_verification=Verification.InternalConsistency):
    _refuse_etdump(enable_etdump)
    data = None if data_map_buffer is None else _bytes_of(data_map_buffer, "data_map_buffer")
    return _module(_bytes_of(buffer, "buffer"), data, program_verification, "Failed to load program, error: 0x:{:x}")


# ---- Programs and methods ----------------------------------------------------------------------------------


class ExecuTorchProgram:
    """A loaded program."""

    __slots__ = ("_handle", "__weakref__")
    __init__ = _no_constructor

    def num_methods(self):
        return len(self._handle.method_names)

    def get_method_name(self, method_index):
        names = self._handle.method_names
        method_index = _whole_number(method_index, "method_index", -(2**63))
        if not 0 <= method_index < len(names):
            raise _ArgumentIndexError(f"Failed get method name, error: 0x:{int(_INVALID_ARGUMENT):x}: index {method_index} is out "
                                      f"of range; the program has {len(names)} methods")
        return names[method_index]

    def load_method(self, method_name):
        """A new ExecuTorchMethod, with memory of its own."""
        try:
            runner = self._handle.load(method_name, _torch, self._handle.shared_state())
        except _Error as error:
            known = isinstance(method_name, str) and method_name in self._handle.method_names
            words = "Failed to load method" if known else "Failed to get method meta for method"
            raise _in_stock_words(error, f"{words} {method_name}, error: 0x:{{:x}}")
        return _method.method(runner, ExecuTorchMethod)

    def method_meta(self, method_name):
        try:
            return _method_meta(self._handle, method_name)
        except _Error as error:
            raise _in_stock_words(error, f"Failed to get method meta for method {method_name}, error: 0x:{{:x}}")

    def has_etdump(self):
        return False

    def write_etdump_result_to_file(self, path, debug_buffer_path=None):
        raise _NotImplementedYetError("No etdump found: ETDump")

    def __repr__(self):
        return f"<etrt.portable_lib.ExecuTorchProgram with {', '.join(self._handle.method_names)}>"


class ExecuTorchMethod:
    """A loaded method. One thread at a time uses it."""

    __slots__ = ("_runner", "__weakref__")
    __init__ = _no_constructor

    def set_inputs(self, inputs):
        try:
            self._runner.set_inputs(inputs)
        except _Error as error:
            raise self._set_inputs_failed(error)

    def execute(self):
        try:
            self._runner.execute()
        except _Error as error:
            raise _in_stock_words(error, "method->execute() failed with error 0x{:x}")

    def get_outputs(self, clone_outputs=True):
        try:
            return self._runner.get_outputs(clone_outputs)
        except _Error as error:
            raise _in_stock_words(error, f"method->get_outputs() for method '{self._runner.name}' failed with error 0x{{:x}}")

    def call(self, inputs=(), clone_outputs=True):
        try:
            return self._runner.run(inputs, clone_outputs)
        except ValueError as error:  # an ArgumentError: the inputs were refused
            raise self._set_inputs_failed(error)
        except _Error as error:
            raise _in_stock_words(error, "method->execute() failed with error 0x{:x}")

    __call__ = call

    def method_meta(self):
        return _method_meta(self._runner.program, self._runner.name)

    def get_attribute(self, name):
        try:
            return self._runner.attribute(name)
        except _Error as error:
            raise _in_stock_words(error, f"Failed to get attribute '{name}' for method '{self._runner.name}', error: 0x:{{:x}}")

    def _set_inputs_failed(self, error):
        return _in_stock_words(error, f"method->set_inputs() for method '{self._runner.name}' failed with error 0x{{:x}}")

    def __repr__(self):
        return f"<etrt.portable_lib.ExecuTorchMethod {self._runner.name}>"


def _program(source, data_path, enable_etdump, verification, words):
    _refuse_etdump(enable_etdump)
    made = object.__new__(ExecuTorchProgram)
    try:
        made._handle = _Handle(source, () if data_path is None else data_path, verification)
    except _Error as error:
        raise _in_stock_words(error, words if error.status == _ACCESS_FAILED else "Failed to load program, error: 0x:{:x}")
    return made


def _load_program(path, enable_etdump=False, debug_buffer_size=0, program_verification=Verification.Minimal, data_path=None):
    path = _path_of(path, "path")
    return _program(path, data_path, enable_etdump, program_verification,
                    f"Failed to create MmapDataLoader from file {path}, error: 0x:{{:x}}")


def _load_program_from_buffer(buffer, enable_etdump=False, debug_buffer_size=0,
                              program_verification=Verification.Minimal, data_path=None):
    return _program(_bytes_of(buffer, "buffer"), data_path, enable_etdump, program_verification,
                    "Failed to load program, error: 0x:{:x}")


# ---- Not here yet ------------------------------------------------------------------------------------------


class BundledModule:
    """A bundled program."""

    __init__ = _no_constructor

    def verify_result_with_bundled_expected_output(self, method_name, testset_idx, rtol=1e-5, atol=1e-8):
        raise _NotImplementedYetError("Running bundled programs")


class PyDataLoader:
    """A data loader made by another extension."""

    def __init__(self, *args, **kwargs):
        raise _NotImplementedYetError("PyDataLoader")


def _load_bundled_program_from_buffer(buffer, non_const_pool_size=16384):
    raise _NotImplementedYetError("Loading bundled programs")


def _load_for_executorch_from_bundled_program(module, data_map_buffer=None, data_path=None, enable_etdump=False,
                                              debug_buffer_size=0):
    raise _NotImplementedYetError("Loading bundled programs")


def _load_for_executorch_from_data_loader(loader, data_path=None, enable_etdump=False, debug_buffer_size=0):
    raise _NotImplementedYetError("Loading through a PyDataLoader")


# ---- The process -------------------------------------------------------------------------------------------


def _is_available(backend_name):
    return bool(_lib.et_backend_is_available(_encoded(backend_name, "a backend's name")))


def _unsafe_reset_threadpool(num_threads):
    """Threads that kernels may use."""
    _lib.et_set_thread_count(max(_whole_number(num_threads, "num_threads", -(2**63)), 1))


def _threadpool_get_thread_count():
    return _lib.et_thread_count()


def _create_profile_block(name):
    """The old profiler records nothing here."""


def _dump_profile_results():
    return b""


def _reset_profile_results():
    pass
