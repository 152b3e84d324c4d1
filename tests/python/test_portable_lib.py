"""portable_lib and executorch.runtime by etrt: names, results, and the words scripts match on."""

import textwrap

import pytest

np = pytest.importorskip("numpy")

import etrt
from etrt import portable_lib
from test_import import python
from test_inputs import f32

NAMES = """_create_profile_block _dump_profile_results _get_operator_names _get_registered_backend_names _is_available
_load_bundled_program_from_buffer _load_for_executorch _load_for_executorch_from_buffer
_load_for_executorch_from_bundled_program _load_for_executorch_from_data_loader _load_program _load_program_from_buffer
_reset_profile_results _threadpool_get_thread_count _unsafe_reset_threadpool BundledModule ExecuTorchMethod ExecuTorchModule
ExecuTorchProgram ExecuTorchResult MethodMeta PyDataLoader TensorInfo Verification _uses_aten _tensor_output""".split()


def test_every_name_is_there():
    assert [n for n in NAMES if not hasattr(portable_lib, n)] == []
    for name in ("ExecuTorchModule", "ExecuTorchProgram", "ExecuTorchMethod", "MethodMeta", "TensorInfo", "BundledModule", "ExecuTorchResult"):
        with pytest.raises(TypeError):
            getattr(portable_lib, name)()
    assert portable_lib._uses_aten is False and portable_lib._tensor_output in ("torch", "executorch")
    assert "aten::add.out" in portable_lib._get_operator_names()
    assert isinstance(portable_lib._get_registered_backend_names(), list) and not portable_lib._is_available("NoSuchBackend")
    threads = portable_lib._threadpool_get_thread_count()
    portable_lib._unsafe_reset_threadpool(2)
    assert portable_lib._threadpool_get_thread_count() == 2 == etrt.thread_count()
    portable_lib._unsafe_reset_threadpool(threads)


def test_module(module, path):
    m = module("two_methods")
    x = f32(1.0)
    assert sorted(m.method_names()) == ["forward", "other"]
    for call in (m, m.forward, lambda i: m.run_method("forward", i), lambda i: m.run_method(method_name="forward", inputs=i)):
        assert (np.asarray(call([x, x])[0]) == 2).all()
        assert (np.asarray(call((x, x))[0]) == 2).all()
    assert (np.asarray(m.run_method("other", [x, x], clone_outputs=False)[0]) == 3).all()
    assert (np.asarray(m.plan_execute("other")[0]) == 3).all()
    assert m.method_meta("other").name() == "other" and not m.has_etdump()
    for data in (open(path("add_one"), "rb").read(), bytearray(open(path("add_one"), "rb").read())):
        assert (np.asarray(portable_lib._load_for_executorch_from_buffer(data)(x)[0]) == 2).all()


def test_methods_of_a_module_share_their_state(path):
    m = portable_lib._load_for_executorch(path("shared_state"))
    x, zero = np.float32([1, 2, 3]), np.zeros(3, np.float32)
    m.forward([x]), m.forward([x])
    assert np.asarray(m.run_method("peek", [zero])[-1]).tolist() == [2, 4, 6]
    other = portable_lib._load_for_executorch(path("shared_state"))
    assert np.asarray(other.run_method("peek", [zero])[-1]).tolist() == [0, 0, 0]
    for program in (etrt.load(path("shared_state")), portable_lib._load_program(path("shared_state"))):
        forward, peek = program.load_method("forward"), program.load_method("peek")
        forward([x])
        assert np.asarray(peek([zero])[-1]).tolist() == [1, 2, 3]
    program = etrt.load(path("counter"))  # one method: each Method its own
    one, two = program.load_method("forward"), program.load_method("forward")
    one(f32(0)), one(f32(0))
    assert np.asarray(one(f32(0))[-1])[0, 0] == 3 and np.asarray(two(f32(0))[-1])[0, 0] == 1


def test_state(method):
    m = method("counter")
    m(f32(0)), m(f32(0))
    (name,) = m.state.names()
    assert name == "runs" and (np.asarray(m.state["runs"]) == 2).all() and (np.asarray(m.get_attribute("runs")) == 2).all()
    saved = m.state.clone()
    m.state["runs"] = f32(10.0)
    assert np.asarray(m(f32(0))[-1])[0, 0] == 11
    m.state.reset()
    assert np.asarray(m(f32(0))[-1])[0, 0] == 1 and (np.asarray(saved["runs"]) == 2).all()
    for bad in (lambda: m.state["no"], lambda: m.get_attribute("no")):
        with pytest.raises(KeyError):
            bad()
    with pytest.raises(etrt.ArgumentError):
        m.state["runs"] = np.zeros(3)


def test_program_and_method(path):
    for program in (portable_lib._load_program(path("two_methods")),
                    portable_lib._load_program_from_buffer(open(path("two_methods"), "rb").read(), program_verification=etrt.Verification.Minimal)):
        assert program.num_methods() == 2 and {program.get_method_name(i) for i in range(2)} == {"forward", "other"}
        method, x = program.load_method("other"), f32(1.0)
        assert program.load_method("other") is not method
        method.set_inputs([x, x])
        assert method.execute() is None
        assert (np.asarray(method.get_outputs()[0]) == 3).all()
        assert (np.asarray(method([x, x])[0]) == 3).all() and (np.asarray(method.call((x, x), clone_outputs=False)[0]) == 3).all()
        meta = method.method_meta()
        del program, method
        info = "TensorInfo(sizes=[2, 3], dtype=float32, is_memory_planned=True, nbytes=24)"
        assert repr(meta) == (f"MethodMeta(name='other', num_inputs=2, input_tensor_meta=['{info}', '{info}'], "
                              f"num_outputs=1, output_tensor_meta=['{info}'])")
        infos = meta.input_tensor_meta(1), meta.output_tensor_meta(0)
        del meta
        assert [(i.sizes(), i.dtype(), i.is_memory_planned(), i.nbytes()) for i in infos] == [((2, 3), 6, True, 24)] * 2


def test_data_files(path):
    x = np.float32([1, 2, 3])
    want = [8 + 0.5, 26 + 0.5]
    data = open(path("external.ptd"), "rb").read()
    program = open(path("external.pte"), "rb").read()
    for m in (portable_lib._load_for_executorch(path("external.pte"), path("external.ptd")),
              portable_lib._load_for_executorch_from_buffer(program, data),
              etrt.load(path("external.pte"), [path("external.ptd")]).load_method("forward"),
              etrt.load(program, data=data).load_method("forward"),
              etrt.Runtime.get().load_program(path("external.pte"), data_path=path("external.ptd")).load_method("forward"),
              portable_lib._load_program(path("external.pte"), data_path=path("external.ptd")).load_method("forward")):
        assert np.asarray(m(x)[0]).tolist() == want
    # Reported at first use, as ExecuTorch does.
    for lazy in (portable_lib._load_for_executorch_from_buffer(program), portable_lib._load_for_executorch_from_buffer(program, b"invalid bytes"),
                 portable_lib._load_for_executorch_from_buffer(b"invalid program"), portable_lib._load_for_executorch_from_buffer(b"")):
        with pytest.raises(RuntimeError):
            lazy.forward([x])


STOCK = {  # call -> (class, how the text begins)
    "unknown method of a module": (lambda p: module_of(p).run_method("nope", []), RuntimeError, "Failed to get method_meta for nope, error: 0x12: "),
    "unknown meta of a module": (lambda p: module_of(p).method_meta("nope"), RuntimeError, "failed to retrieve method_meta for method nope, error 0x12: "),
    "unknown method of a program": (lambda p: program_of(p).load_method("nope"), RuntimeError, "Failed to get method meta for method nope, error: 0x:12: "),
    "unknown meta of a program": (lambda p: program_of(p).method_meta("nope"), RuntimeError, "Failed to get method meta for method nope, error: 0x:12: "),
    "method index": (lambda p: program_of(p).get_method_name(5), RuntimeError, "Failed get method name, error: 0x:12: "),
    "input meta index": (lambda p: module_of(p).method_meta("forward").input_tensor_meta(9), IndexError, "Cannot get input tensor meta at 9: index 9 out of range. num_inputs: 1"),
    "output meta index": (lambda p: module_of(p).method_meta("forward").output_tensor_meta(-1), IndexError, "Cannot get output tensor meta at -1: "),
    "attribute meta index": (lambda p: module_of(p).method_meta("forward").attribute_tensor_meta(0), IndexError, "Cannot get attribute tensor meta at 0: "),
    "missing file": (lambda p: portable_lib._load_for_executorch("/nope.pte"), RuntimeError, "Failed to create MmapDataLoader from file /nope.pte, error: 0x:22: "),
    "missing file of a program": (lambda p: portable_lib._load_program("/nope.pte"), RuntimeError, "Failed to create MmapDataLoader from file /nope.pte, error: 0x:22: "),
    "junk program": (lambda p: portable_lib._load_program_from_buffer(b"junk" * 100), RuntimeError, "Failed to load program, error: 0x:23: "),
    "junk module": (lambda p: portable_lib._load_for_executorch_from_buffer(b"junk" * 100).forward([]), RuntimeError, "Failed to execute method forward, error: 0x23: "),
    "wrong count": (lambda p: method_of(p).set_inputs([]), RuntimeError, "method->set_inputs() for method 'forward' failed with error 0x12: Invalid number of inputs provided. Expected 1, but got 0"),
    "too many": (lambda p: module_of(p).forward([f32(1), f32(1)]), RuntimeError, "Failed to execute method forward, error: 0x12: "),
    "wrong dtype": (lambda p: module_of(p).forward([np.zeros((2, 3), np.int32)]), RuntimeError, "Failed to execute method forward, error: 0x12: "),
    "wrong shape": (lambda p: method_of(p)([f32(1, shape=(3, 2))]), ValueError, "method->set_inputs() for method 'forward' failed with error 0x1"),
    "unset": (lambda p: method_of(p).execute(), RuntimeError, "method->execute() failed with error 0x"),
    "plan_execute on a fresh module": (lambda p: module_of(p).plan_execute("forward"), RuntimeError, "executing execution plan for method 'forward' failed with error: 0x"),
    "attribute": (lambda p: method_of(p).get_attribute("state"), RuntimeError, "Failed to get attribute 'state' for method 'forward', error: 0x:20: "),
    "unsupported type": (lambda p: module_of(p)([[f32(1)]]), RuntimeError, "Failed to execute method forward, error: 0x13: Unsupported python type <class 'list'>. Ensure that inputs are passed as a flat list of tensors."),
    "not bytes": (lambda p: portable_lib._load_for_executorch_from_buffer(5), TypeError, "buffer must be bytes, not int"),
    "missing operator": (lambda p: portable_lib._load_for_executorch(p("missing_operator")).forward([f32(1)]), RuntimeError, "Failed to load method forward, error: 0x14: "),
    "missing operator of a program": (lambda p: portable_lib._load_program(p("missing_operator")).load_method("forward"), RuntimeError, "Failed to load method forward, error: 0x:14: "),
}


def module_of(path):
    return portable_lib._load_for_executorch(path("add_one"))


def program_of(path):
    return portable_lib._load_program(path("add_one"))


def method_of(path):
    return program_of(path).load_method("forward")


@pytest.fixture
def paths(path, tmp_path):
    data = open(path("add_one"), "rb").read()
    assert data.count(b"aten::add") == 1
    (tmp_path / "missing_operator.pte").write_bytes(data.replace(b"aten::add", b"none::add"))
    return lambda name: str(tmp_path / f"{name}.pte") if name.startswith("missing") else path(name)


@pytest.mark.parametrize("what", STOCK)
def test_stock_words(paths, what):
    call, kind, begins = STOCK[what]
    with pytest.raises(kind) as caught:
        call(paths)
    assert str(caught.value).startswith(begins), str(caught.value)
    assert isinstance(caught.value, etrt.Error) and str(caught.value).count("error: 0x") <= 1
    assert len(str(caught.value)) > len(begins) or not begins.endswith(": ")


@pytest.mark.parametrize("call", [
    lambda: portable_lib._load_bundled_program_from_buffer(b""),
    lambda: portable_lib._load_for_executorch_from_bundled_program(None),
    lambda: portable_lib._load_for_executorch_from_data_loader(None),
    lambda: portable_lib.PyDataLoader(),
    lambda: portable_lib._load_for_executorch("x.pte", enable_etdump=True),
    lambda: etrt.Runtime.get().load_program("x.pte", enable_etdump=True),
])
def test_what_is_not_here_yet_says_so(call):
    with pytest.raises(NotImplementedError, match="not implemented in this version") as caught:
        call()
    assert isinstance(caught.value, etrt.Error) and isinstance(caught.value, RuntimeError)


def test_output_mode_is_read_at_import():
    for value, expected in (("executorch", "executorch"), ("torch", "torch"), (None, "torch")):
        env = {} if value is None else {"EXECUTORCH_PYBINDINGS_TENSOR_OUTPUT": value}
        assert python("from etrt import portable_lib as p; print(p._tensor_output)", **env).stdout.strip() == expected
    done = python("import etrt; from etrt import portable_lib", EXECUTORCH_PYBINDINGS_TENSOR_OUTPUT="x")
    assert "ValueError: EXECUTORCH_PYBINDINGS_TENSOR_OUTPUT must be either 'torch' or 'executorch', but was 'x'" in done.stderr


def test_runtime(path):
    runtime = etrt.Runtime.get()
    assert runtime is etrt.Runtime.get()
    data = open(path("two_methods"), "rb").read()
    import io
    import pathlib

    for source in (path("two_methods"), pathlib.Path(path("two_methods")), data, bytearray(data), memoryview(data), io.BytesIO(data), open(path("two_methods"), "rb")):
        program = runtime.load_program(source, verification=etrt.Verification.Minimal)
        assert program.method_names == {"forward", "other"}
        method = program.load_method("other")
        assert method is not program.load_method("other")
        assert (np.asarray(method.execute([f32(1), f32(1)])[0]) == 3).all()
        assert method.metadata.name() == "other" == program.metadata("other").name()
    for bad in (5, None, ["x"]):
        with pytest.raises(TypeError, match="Expected data to be bytes, bytearray, a path to a .pte file, or a file-like object, but got"):
            runtime.load_program(bad)
    with pytest.raises(KeyError) as caught:
        program.load_method("nope")
    assert isinstance(caught.value, etrt.ArgumentError) and "forward" in str(caught.value)
    with pytest.raises(TypeError, match="binary mode"):
        etrt.load(open(__file__))
    assert "aten::add.out" in runtime.operator_registry.operator_names
    assert runtime.backend_registry.is_available("NoSuchBackend") is False
    assert isinstance(runtime.backend_registry.registered_backend_names, list)


SCRIPT = """
    from pathlib import Path
    import numpy as np
    import executorch.runtime
    from executorch.runtime import Runtime, Program, Method, Verification, MethodMeta
    from executorch.extension.pybindings import portable_lib
    from executorch.extension.pybindings.portable_lib import _load_for_executorch
    import executorch.extension.pybindings.portable_lib as again
    assert again is portable_lib and Runtime.get() is Runtime.get()
    program = Runtime.get().load_program(Path({path!r}), verification=Verification.InternalConsistency)
    method = program.load_method("forward")
    assert program.load_method("forward") is method and isinstance(method, Method) and isinstance(program, Program)
    x = np.ones((2, 3), np.float32)
    out = method.execute((x,))
    assert (np.asarray(out[0]) == 2).all() and isinstance(method.metadata, MethodMeta)
    assert (np.asarray(_load_for_executorch({path!r})(x)[0]) == 2).all()
    try:
        program.load_method("nope")
    except KeyError as error:
        assert isinstance(error, RuntimeError)
    print(type(out[0]).__module__)
"""


@pytest.mark.parametrize("before", ["", "import executorch.extension.pybindings"])
def test_install_as_executorch(path, before):
    code = f"import etrt\netrt.install_as_executorch()\netrt.install_as_executorch()\n{before}\n" + textwrap.dedent(SCRIPT.format(path=path("add_one")))
    done = python(code)
    assert done.stdout.strip() == "etrt._tensor", done.stderr
