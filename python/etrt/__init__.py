"""etrt runs ExecuTorch programs (.pte) without ExecuTorch and without PyTorch.

    import etrt
    program = etrt.load("model.pte")
    forward = program.load_method("forward")
    outputs = forward([x])              # NumPy arrays, torch tensors, buffers, DLPack tensors, numbers

Importing etrt imports neither NumPy nor torch.
"""

from etrt._library import lib as _lib, library_path, text as _text
from etrt._errors import ArgumentError, Error, LoadError, Status
from etrt._make import tensor
from etrt._meta import MethodMeta, TensorInfo
from etrt._method import Method
from etrt._program import Program, Verification
from etrt._runtime import BackendRegistry, OperatorRegistry, Runtime, load
from etrt._state import State
from etrt._tensor import Tensor

ExecuTorchResult = Tensor

__version__ = _text(_lib.et_version())


def set_thread_count(n):
    """Threads that kernels may use, the calling one included."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ArgumentError(f"the number of threads must be an int of at least 1, not {n!r}")
    _lib.et_set_thread_count(n)


def thread_count():
    """Threads that kernels may use. Starts as ETRT_NUM_THREADS, else the cores this process may use."""
    return _lib.et_thread_count()


def set_seed(n):
    """Makes random operators repeat: the same seed and calls give the same numbers."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise ArgumentError(f"a seed is an int, not {n!r}")
    _lib.et_set_seed(n % 2**64)


def register_operator(name, function):
    from etrt import _operators

    _operators.register_operator(name, function)


def install_as_executorch():
    from etrt import _executorch

    _executorch.install_as_executorch()


def __getattr__(name):
    if name == "portable_lib":  # reads its environment variable when it is first used
        import importlib

        return importlib.import_module("etrt.portable_lib")
    raise AttributeError(f"module 'etrt' has no attribute {name!r}")


__all__ = [
    "ArgumentError", "BackendRegistry", "Error", "ExecuTorchResult", "LoadError", "Method", "MethodMeta", "OperatorRegistry",
    "Program", "Runtime", "State", "Status", "Tensor", "TensorInfo", "Verification", "install_as_executorch", "load",
    "register_operator", "set_seed", "set_thread_count", "tensor", "thread_count",
]
