"""Every public function with arguments of every wrong kind: a documented exception, and everything usable afterwards."""

import inspect
import itertools
import warnings

import pytest

np = pytest.importorskip("numpy")

import etrt
from etrt import portable_lib
from test_inputs import f32


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
           "__copy__", "__reduce__", "__dlpack__")
NOT_HERE = ("install_as_executorch", "set_thread_count", "set_seed", "_unsafe_reset_threadpool", "Status", "Verification")


@pytest.fixture(scope="module")
def objects():
    from conftest import DATA

    program = str(DATA / "mul_add_planned_reuse.pte")
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
            except (etrt.Error, TypeError, ValueError):  # ValueError: what NumPy itself says of a dtype or a truth value
                pass
            except Exception as error:
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
