"""install_as_executorch: lets an unchanged script's `import executorch.runtime` find etrt."""

import importlib.abc
import importlib.machinery
import sys
import types

from etrt import _runtime, portable_lib
from etrt._meta import MethodMeta
from etrt._program import Verification
from etrt._runtime import BackendRegistry, OperatorRegistry


class Method:
    """executorch.runtime.Method."""

    def __init__(self, method):
        self._method = method

    def execute(self, inputs, clone_outputs=True):
        return self._method(inputs, clone_outputs)

    @property
    def metadata(self):
        return self._method.method_meta()


class Program:
    """executorch.runtime.Program: one Method a name, made when first asked for."""

    def __init__(self, program, data=None):
        self._data, self._program = data, program
        self._methods = {program.get_method_name(i): None for i in range(program.num_methods())}

    @property
    def method_names(self):
        return set(self._methods)

    def load_method(self, name):
        if name not in self._methods:
            self._program.load_method(name)  # raises, and says which there are
        if self._methods[name] is None:
            self._methods[name] = Method(self._program.load_method(name))
        return self._methods[name]

    def metadata(self, method_name):
        return self._program.method_meta(method_name)

    def write_etdump_result_to_file(self, etdump_path, debug_buffer_path):
        self._program.write_etdump_result_to_file(etdump_path, debug_buffer_path)


class Runtime(_runtime.Runtime):
    """executorch.runtime.Runtime."""

    def __init__(self, *, legacy_module=portable_lib):
        super().__init__()
        self._legacy_module = legacy_module

    def load_program(self, data, *, verification=Verification.InternalConsistency, enable_etdump=False,
                     debug_buffer_size=0, data_path=None):
        given = {"enable_etdump": enable_etdump, "debug_buffer_size": debug_buffer_size,
                 "program_verification": verification, "data_path": data_path}
        if isinstance(data, str) or hasattr(data, "__fspath__"):
            return Program(portable_lib._load_program(data, **given))
        if hasattr(data, "read"):
            data = data.read()
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise portable_lib._ArgumentTypeError(
                "Expected data to be bytes, bytearray, a path to a .pte file, or a file-like object, but got "
                f"{type(data).__name__}.")
        return Program(portable_lib._load_program_from_buffer(data, **given), data)


def _runtime_module():
    module = types.ModuleType("executorch.runtime", "executorch.runtime by etrt.")
    for thing in (Runtime, Program, Method, BackendRegistry, OperatorRegistry, MethodMeta, Verification,
                  portable_lib.ExecuTorchProgram, portable_lib.ExecuTorchMethod):
        setattr(module, thing.__name__, thing)
    return module


def _data_loader_module():
    module = types.ModuleType("executorch.extension.pybindings.data_loader")
    module.PyDataLoader = portable_lib.PyDataLoader
    return module


def _named(name, module):
    """The module under another name; `module` itself stays what it is."""
    twin = types.ModuleType(name, module.__doc__)
    twin.__dict__.update({k: v for k, v in module.__dict__.items() if not (k.startswith("__") and k.endswith("__"))})
    return twin


class _Loader(importlib.abc.Loader):
    def __init__(self, module):
        self._module = module

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        pass


class _Ours(importlib.abc.MetaPathFinder):
    """Serves some modules whatever else is installed."""

    def __init__(self, modules):
        self.modules = modules

    def find_spec(self, name, path=None, target=None):
        module = self.modules.get(name)
        if module is None:
            return None
        spec = importlib.machinery.ModuleSpec(name, _Loader(module))
        theirs = importlib.machinery.PathFinder.find_spec(name, path) if path is not None else None
        if theirs is not None and theirs.submodule_search_locations is not None:  # its other modules stay reachable
            spec.submodule_search_locations = list(theirs.submodule_search_locations)
        return spec


class _Packages(importlib.abc.MetaPathFinder):
    """Serves empty packages for what is not installed: the folders of our modules, and modules that a script imports
    only to have their operators registered, which etrt's always are."""

    names = frozenset(("executorch", "executorch.extension", "executorch.extension.pybindings", "executorch.kernels",
                       "executorch.kernels.quantized", "executorch.extension.llm", "executorch.extension.llm.custom_ops",
                       "executorch.extension.llm.custom_ops.custom_ops"))

    def find_spec(self, name, path=None, target=None):
        if name not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(types.ModuleType(name)), is_package=True)


_installed = []


def install_as_executorch():
    """From now on `import executorch.runtime` and `executorch.extension.pybindings.portable_lib` give etrt's, also
    where ExecuTorch is installed. Other modules of an installed ExecuTorch, such as its exporter, stay as they are."""
    if _installed:
        return
    bindings = "executorch.extension.pybindings"
    modules = {"executorch.runtime": _runtime_module(), f"{bindings}.data_loader": _data_loader_module()}
    for name in ("portable_lib", "_C", "core"):
        modules[f"{bindings}.{name}"] = _named(f"{bindings}.{name}", portable_lib)
    sys.meta_path.insert(0, _Ours(modules))
    sys.meta_path.append(_Packages())
    _installed.append(modules)
    for name, module in modules.items():
        parent, _, leaf = name.rpartition(".")
        if name in sys.modules:  # imported before: who asks from now on gets ours
            del sys.modules[name]
        if parent in sys.modules and leaf in vars(sys.modules[parent]):
            setattr(sys.modules[parent], leaf, module)
            sys.modules[name] = module
