"""etrt runs ExecuTorch programs (.pte) without ExecuTorch and without PyTorch.

    import etrt
    program = etrt.load("model.pte")
    forward = program.load_method("forward")
    outputs = forward([x])              # NumPy arrays, torch tensors, buffers, DLPack tensors, numbers

Importing etrt imports neither NumPy nor torch.
"""

from etrt._library import lib as _lib, library_path, text as _text
from etrt._errors import ArgumentError, Error, LoadError, Status, whole_number as _whole_number
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
    _lib.et_set_thread_count(_whole_number(n, "the number of threads", 1, 1024))


def thread_count():
    """Threads that kernels may use. Starts as ETRT_NUM_THREADS, else the cores this process may use."""
    return _lib.et_thread_count()


def set_seed(n):
    """Makes random operators repeat: the same seed and calls give the same numbers."""
    _lib.et_set_seed(_whole_number(n, "a seed", -(2**63)) % 2**64)


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
