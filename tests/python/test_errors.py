"""The text of every common failure, word for word: docs/errors.md is the list.

    ETRT_UPDATE_ERRORS=1 pytest test_errors.py      writes it anew
"""

import os
import pathlib
import shutil

import pytest

np = pytest.importorskip("numpy")

import etrt
from etrt import portable_lib
from conftest import DATA
from scale_operator import behaviour

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "errors.md"

HEAD = """# What errors say

Every failure raises `etrt.Error` (C: a status, and the same text from `et_last_error_text`, with C's names of functions). The text gives what failed, the
status code, why, and what to do. `error.status`, `.method`, `.operator` and `.argument` give the parts.

`ArgumentError` (also a `ValueError`) is for what the caller passed, `LoadError` for files. The text is the same whether or not a
log level is set. Below: a call, and what it raises. This page is checked against the library by `tests/python/test_errors.py`.

In these calls `x` is `np.ones((2, 3), np.float32)`; `method` is add_one.pte's `forward`, which takes one float32 [2, 3];
`two` takes two of them; `program` is add_one.pte.
"""

SECTIONS = {
    "Files": [
        'etrt.load("missing.pte")',
        'etrt.load("folder")',
        'etrt.load("empty.pte")',
        'etrt.load("truncated.pte")',
        'etrt.load("text.pte")',
        'etrt.load("external.ptd")',
        'etrt.load(b"junk" * 100)',
        'etrt.load(5)',
        'etrt.load("external.pte").load_method("forward")',
        'etrt.load("external.pte", data=["missing.ptd"])',
        'etrt.load("external.pte", data=["add_one.pte"])',
        'etrt.load("add_one.pte", verification="deep")',
    ],
    "Methods": [
        'program.load_method("generate")',
        'etrt.load("missing_operator.pte").load_method("forward")',
        'etrt.load("missing_backend.pte").load_method("forward")',
        'program.load_method("forward", plan="fast")',
        'program.load_method("forward", memory_limit=10)',
        'program.metadata("forward").input_tensor_meta(9)',
        'scalars.metadata.input_tensor_meta(1)',
        'method.get_attribute("cache")',
        'method.state["cache"]',
    ],
    "Inputs": [
        'two([x])',
        'two(5)',
        'method([x.astype(np.float64)])',
        'method([x.reshape(3, 2)])',
        'method([x.reshape(6)])',
        'dynamic([np.ones((9, 3), np.float32)])',
        'method([[[1.0, 2.0, 3.0]] * 2])',
        'method([1.0])',
        'method([None])',
        'scalars([np.ones(3, np.float32), 3, 0.5, True])',
        'scalars([np.ones(3, np.float32), x, 0.5, True])',
        'method([x.astype(">f4")])',
        'method([x.astype(object)])',
        'method([np.ones((2, 3), [("a", "f4")])])',
        'method([np.zeros((2, 3), [("a", "f4"), ("b", "u1")])["a"]])',
        'method([np.ma.masked_array(x, x > 0)])',
        'writes([memoryview(bytes(12)).cast("f"), np.ones(3, np.float32)])',
        'bf16([np.asarray(bf16(etrt.tensor(x, dtype="bfloat16"))[0])])',
        'etrt.load("mul_add_planned_reuse.pte").load_method("forward").execute()',
        'changed(two, x)',
        'changed_kept(x)',
    ],
    "Runs and results": [
        'gather([np.ones(4, np.float32), np.array([0, 7])])',
        'program.load_method("forward").get_outputs()',
        'failing_operator()',
        'calls_itself()',
        'etrt.load("mul_add_planned_reuse.pte").load_method("forward", step_limit=1)([x, x])',
        'result.item()',
        'half_result.numpy(np.float32)',
        'result.__dlpack__(stream=1)',
        'etrt.tensor(b"\\1\\2", dtype="bits8").__dlpack__()',
        'result.astype("float31")',
        'etrt.tensor(b"abc", dtype="float32")',
        'etrt.tensor([[1], [2, 3]])',
    ],
    "Registering": [
        'etrt.register_operator("aten::add.out", print)',
        'etrt.register_operator("no name", print)',
        'etrt.set_thread_count(0)',
    ],
    "ExecuTorch's bindings (`etrt.portable_lib`)": [
        'portable_lib._load_for_executorch("missing.pte")',
        'portable_lib._load_for_executorch("missing_operator.pte").forward([x])',
        'portable_lib._load_for_executorch("add_one.pte").run_method("generate", [])',
        'portable_lib._load_for_executorch("add_one.pte").forward([x.astype(np.float64)])',
        'portable_lib._load_bundled_program_from_buffer(b"")',
    ],
}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the calls may use; the current folder has the files."""
    folder = tmp_path_factory.mktemp("errors")
    for file in DATA.iterdir():
        shutil.copyfile(file, folder / file.name)
    data = (folder / "add_one.pte").read_bytes()
    (folder / "truncated.pte").write_bytes(data[:200])
    (folder / "empty.pte").write_bytes(b"")
    (folder / "text.pte").write_bytes(b"This is not a program at all, but a text of some length.\n" * 4)
    (folder / "missing_operator.pte").write_bytes(data.replace(b"aten::add", b"none::add"))
    xnnpack = (DATA.parent / "add_one__xnnpack.pte").read_bytes()
    (folder / "missing_backend.pte").write_bytes(xnnpack.replace(b"XnnpackBackend", b"MissingBackend"))
    (folder / "folder").mkdir()
    before = os.getcwd()
    os.chdir(folder)

    def load(name):
        return etrt.load(f"{name}.pte").load_method("forward")

    def changed(two, x):
        y = np.ones((2, 3), np.float32)
        two([x, y])
        y.shape = (3, 2)
        two.execute()

    def changed_kept(x):
        module, y = portable_lib._load_for_executorch("mul_add_planned_reuse.pte"), np.ones((2, 3), np.float32)
        module.forward([x, y])
        y.shape = (3, 2)
        module.forward([x])

    def acting(act):
        def run():
            behaviour.append(act)
            try:
                custom(np.ones(3, np.float32))
            finally:
                behaviour.clear()

        return run

    def fails(*_):
        raise RuntimeError("the table is empty")

    custom = load("custom")
    x = np.ones((2, 3), np.float32)
    bf16 = load("add_bf16")
    names = dict(etrt=etrt, np=np, portable_lib=portable_lib, x=x, program=etrt.load("add_one.pte"), method=load("add_one"),
                 two=load("mul_add_planned_reuse"), dynamic=load("dynamic"), scalars=load("scalars"), writes=load("write_unplanned"),
                 bf16=bf16, changed=changed, changed_kept=changed_kept, gather=load("gather"), failing_operator=acting(fails),
                 calls_itself=acting(lambda *_: custom(np.ones(3, np.float32))), result=load("add_one")(x)[0],
                 half_result=bf16(etrt.tensor(x, dtype="bfloat16"))[0])
    yield names
    os.chdir(before)


def raised(call, names):
    with pytest.raises(Exception) as caught:
        eval(call, dict(names))
    error = caught.value
    assert isinstance(error, etrt.Error), f"{call}: {error!r}"
    kind = next(k for k in type(error).__mro__ if k in (etrt.ArgumentError, etrt.LoadError, etrt.Error))
    return f"etrt.{kind.__name__}", str(error), error


def page(texts):
    lines = [HEAD]
    for section, calls in SECTIONS.items():
        lines.append(f"## {section}\n")
        for call in calls:
            kind, text = texts[call]
            lines.append(f"```python\n>>> {call}\n{kind}: {text}\n```\n")
    return "\n".join(lines)


CALLS = [call for calls in SECTIONS.values() for call in calls]


@pytest.mark.skipif(not os.environ.get("ETRT_UPDATE_ERRORS"), reason="only when the page is to be written")
def test_write_the_page(names):
    PAGE.write_text(page({call: raised(call, names)[:2] for call in CALLS}), encoding="utf-8")


@pytest.fixture(scope="module")
def golden():
    found = {}
    for block in PAGE.read_text(encoding="utf-8").split("```python\n>>> ")[1:]:
        call, _, rest = block.partition("\n")
        kind, _, text = rest.partition("\n```")[0].partition(": ")
        found[call] = kind, text
    return found


@pytest.mark.parametrize("call", CALLS)
def test_text(names, golden, call):
    kind, text, error = raised(call, names)
    assert (kind, text) == golden[call]
    assert "\n\n" not in text and error.status.name != "Unknown"


def test_the_text_does_not_depend_on_the_log_level(path):
    from test_import import python

    code = f"import etrt\ntry: etrt.load({path('add_one')!r}).load_method('forward')([1])\nexcept etrt.Error as e: print(e)"
    quiet, loud = python(code), python(code, ETRT_LOG_LEVEL="debug")
    assert quiet.stdout == loud.stdout != "" and quiet.stderr == ""


def test_parts(method, path):
    with pytest.raises(etrt.Error) as caught:
        method("gather")([np.ones(4, np.float32), np.array([0, 7])])
    error = caught.value
    assert (error.method, error.operator) == ("forward", "aten::gather.out")
    assert error.status.name in str(type(error.status)) or error.status == error.status.name == str(error.status)
    assert error.status == int(error.status) and hash(error.status) == hash(int(error.status)) and "0x" in repr(error.status)
    with pytest.raises(etrt.ArgumentError) as caught:
        method("mul_add_planned_reuse")([np.ones((2, 3), np.float32), np.ones((2, 3))])
    assert (caught.value.method, caught.value.operator, caught.value.argument) == ("forward", None, 1)
    with pytest.raises(etrt.LoadError) as caught:
        etrt.load("/no/such/file.pte")
    assert caught.value.status == "AccessFailed" == caught.value.status.name and caught.value.status == 0x22
    import pickle

    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.status == caught.value.status


def test_nothing_stale(method):
    m = method("add_one")
    for bad in (np.ones((2, 4), np.float32), np.ones((2, 3), np.int8), "abc"):
        with pytest.raises(etrt.Error) as caught:
            m([bad])
        text = str(caught.value)
        assert text.count("input 0") <= 1 and len(text) < 400
