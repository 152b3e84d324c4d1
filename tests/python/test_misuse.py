"""Every public function with arguments of every wrong kind: an etrt.Error, and everything usable afterwards."""

import inspect
import itertools
import warnings

import pytest

np = pytest.importorskip("numpy")

import etrt
from etrt import portable_lib
from conftest import DATA
from test_inputs import f32


DATA_FILE = str(DATA / "mul_add_planned_reuse.pte")


class Producer:
    """Its DLPack tensor is whatever `make` gives."""

    def __init__(self, make):
        self.make = make

    def __dlpack__(self, **_):
        return self.make()

    def __dlpack_device__(self):
        return 1, 0


class Interface:
    __array_interface__ = 5


class Evasive:
    def __getattr__(self, name):
        raise AttributeError(name)


WRONG = [
    None, 0, -1, 2**70, 1.5, float("nan"), 1j, True, "x", "", "\0", "\ud800", "{a}", b"", b"abc", bytearray(3), memoryview(b"abc"), [], [None],
    ["x"] * 2, [[1.0]], (), (1, 2), {}, {"a": 1}, set(), range(3), object(), int, etrt, len, slice(1), np.array(3), np.float32(1), np.array(["a"]),
    np.array([object()]), np.ma.masked_array([1.0]), np.dtype("f4"), np.zeros(3, [("a", "f4")]), np.zeros(3, ">f4"), Interface(), Evasive(),
    Producer(lambda: 5), Producer(lambda: {}["key"]), Producer(lambda: Producer(None)),
]
SECOND = [None, -1, "x", [], object()]
SPECIAL = ("__call__", "__getitem__", "__setitem__", "__contains__", "__len__", "__iter__", "__int__", "__index__", "__float__", "__complex__",
           "__copy__", "__dlpack__")
NOT_HERE = ("install_as_executorch", "set_thread_count", "set_seed", "_unsafe_reset_threadpool", "Status", "Verification")
RECURSIVE = []
RECURSIVE.append(RECURSIVE)
WRONG.append(RECURSIVE)


@pytest.fixture(scope="module")
def objects():
    program = DATA_FILE
    method = etrt.load(program).load_method("forward")
    stock = portable_lib._load_program(program)
    meta = method.metadata
    return {
        "etrt": etrt, "portable_lib": portable_lib, "Program": etrt.load(program), "Method": method, "MethodMeta": meta,
        "TensorInfo": meta.input_tensor_meta(0), "Tensor": method([f32(1), f32(1)])[0], "bfloat16": etrt.tensor([[1.5]], dtype="bfloat16"),
        "State": etrt.load(str(DATA / "counter.pte")).load_method("forward").state, "Runtime": etrt.Runtime.get(),
        "BackendRegistry": etrt.Runtime.get().backend_registry, "ExecuTorchModule": portable_lib._load_for_executorch(program),
        "ExecuTorchProgram": stock, "ExecuTorchMethod": stock.load_method("forward"),
    }


def functions(thing):
    for name in dir(thing):
        public = name in SPECIAL or not name.startswith("_") or (thing is portable_lib and name.startswith(("_load", "_is", "_get", "_thread")))
        if public and name not in NOT_HERE:
            function = getattr(thing, name)
            if callable(function) and not (inspect.isclass(function) and issubclass(function, BaseException)):
                yield name, function


def never_called(error):
    """Whether Python itself refused the number or the names of the arguments."""
    return error.__traceback__.tb_next is None


OPTIONS = {
    "load": (lambda objects: lambda **given: etrt.load(DATA_FILE, **given), ["data", "verification"]),
    "load_method": (lambda objects: lambda **given: objects["Program"].load_method("forward", **given),
                    ["plan", "state", "memory_limit", "step_limit"]),
    "execute": (lambda objects: lambda **given: objects["Method"].execute([f32(1), f32(1)], **given), ["clone_outputs"]),
    "tensor": (lambda objects: lambda **given: etrt.tensor([1.0], **given), ["dtype", "shape"]),
    "__dlpack__": (lambda objects: lambda **given: objects["Tensor"].__dlpack__(**given), ["stream", "max_version", "dl_device"]),
    "load_program": (lambda objects: lambda **given: etrt.Runtime.get().load_program(DATA_FILE, **given), ["verification", "data_path"]),
    "_load_program": (lambda objects: lambda **given: portable_lib._load_program(DATA_FILE, **given), ["program_verification", "data_path"]),
    "_load_for_executorch": (lambda objects: lambda **given: portable_lib._load_for_executorch(DATA_FILE, **given),
                             ["program_verification", "data_path"]),
    "set_thread_count": (lambda objects: lambda **given: etrt.set_thread_count(**given), ["n"]),
    "set_seed": (lambda objects: lambda **given: etrt.set_seed(**given), ["n"]),
}


@pytest.mark.parametrize("name, option", [(name, option) for name, (_, options) in OPTIONS.items() for option in options])
def test_wrong_options(objects, name, option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    threads, call = etrt.thread_count(), OPTIONS[name][0](objects)
    refused = 0
    for wrong in WRONG:
        try:
            call(**{option: wrong})
        except etrt.Error as error:
            refused += 1
            assert str(error)
    etrt.set_thread_count(threads)
    assert refused > 10


@pytest.mark.parametrize("kind", ["etrt", "portable_lib", "Program", "Method", "MethodMeta", "TensorInfo", "Tensor", "bfloat16", "State",
                                  "Runtime", "BackendRegistry", "ExecuTorchModule", "ExecuTorchProgram", "ExecuTorchMethod"])
def test_wrong_arguments(objects, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    undocumented = []
    for name, function in functions(objects[kind]):
        calls = itertools.chain([()], ((w,) for w in WRONG), itertools.product(WRONG, SECOND))
        for arguments, named in itertools.chain(((c, {}) for c in calls), [((), {"no_such_argument": 1}), ((None,), {"inputs": 1})]):
            if name == "register_operator" and len(arguments) > 1 and callable(arguments[1]):
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(*arguments, **named)
            except etrt.Error:
                pass
            except Exception as error:
                if not (isinstance(error, TypeError) and (never_called(error) or inspect.isclass(function))):
                    undocumented.append((name, arguments, error))
    assert not undocumented, undocumented[:5]
    x = f32(2)
    assert (np.asarray(objects["Method"]([x, x])[0]) == 5).all() and (np.asarray(objects["ExecuTorchMethod"]([x, x])[0]) == 5).all()
    assert (np.asarray(objects["ExecuTorchModule"].forward([x, x])[0]) == 5).all()
    assert objects["Tensor"].tolist() == [[2, 2, 2]] * 2 and "forward" in objects["Program"].method_names
    objects["State"].reset()


def test_names_with_braces(tmp_path, path):
    """They stand in the beginnings that scripts match on."""
    odd = tmp_path / "{x}{0:d}.pte"
    with pytest.raises(etrt.LoadError, match=r"\{x\}\{0:d\}.pte, error: 0x:22"):
        portable_lib._load_for_executorch(str(odd))
    odd.write_bytes(open(path("add_one"), "rb").read())
    program, module = portable_lib._load_program(str(odd)), portable_lib._load_for_executorch(str(odd))
    for call in (program.load_method, program.method_meta, module.run_method, module.method_meta, module.plan_execute):
        with pytest.raises(KeyError, match=r"\{y\}.*error:? 0x"):
            call("{y}")
    for call in (etrt.load(path("add_one")).load_method, module.method_meta, program.load_method):
        with pytest.raises(etrt.ArgumentError, match="null character"):  # C would see "forward"
            call("forward\0y")
