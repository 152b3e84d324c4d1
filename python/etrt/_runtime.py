"""Runtime: the entry that executorch.runtime has, and what hangs on it."""

from etrt import _program
from etrt._errors import NotImplementedYetError, encoded
from etrt._library import lib, text
from etrt._program import Handle, Verification


def backend_names():
    return [text(lib.et_backend_name(i)) for i in range(lib.et_backend_count())]


def operator_names():
    return [text(lib.et_operator_name(i)) for i in range(lib.et_operator_count())]


class BackendRegistry:
    """The backends that programs may delegate to."""

    @property
    def registered_backend_names(self):
        return backend_names()

    def is_available(self, backend_name):
        """Whether a backend of that name is registered and can run here."""
        return bool(lib.et_backend_is_available(encoded(backend_name, "a backend's name")))


class OperatorRegistry:
    """The operators that programs may call."""

    @property
    def operator_names(self):
        return set(operator_names())


def load(source, data=(), *, verification=Verification.InternalConsistency):
    """Loads a program.

    source        path of a .pte file, its contents (bytes or another buffer), or a file object opened in binary mode
    data          .ptd files with weights that the program keeps outside: one or a list, each as `source`
    verification  both levels check the whole structure
    """
    return _program.program(Handle(source, data, verification))


class Runtime:
    """The runtime, with the names that executorch.runtime gives it."""

    _the_one = None
    _program_class = _program.Program

    def __init__(self):
        self.backend_registry = BackendRegistry()
        self.operator_registry = OperatorRegistry()

    @classmethod
    def get(cls):
        """The Runtime; always the same."""
        if cls.__dict__.get("_the_one") is None:
            cls._the_one = cls()
        return cls._the_one

    def load_program(self, data, *, verification=Verification.InternalConsistency, enable_etdump=False,
                     debug_buffer_size=0, data_path=None):
        """The same as etrt.load; `data_path` is a .ptd file or a list of them."""
        if enable_etdump:
            raise NotImplementedYetError("ETDump (enable_etdump=True)")
        return _program.program(Handle(data, () if data_path is None else data_path, verification), self._program_class)
