"""Inputs: what is accepted, and that each run reads them from where the caller put them."""

import array
import gc
import weakref

import pytest

np = pytest.importorskip("numpy")

import etrt

PLANS = [f"mul_add_{planned}_{reuse}" for planned in ("planned", "unplanned") for reuse in ("reuse", "naive")]


def f32(*values, shape=(2, 3)):
    return np.resize(np.array(values, np.float32), shape)


def fresh(method, *inputs):
    """What a new method says."""
    return np.asarray(method.metadata and method(list(inputs))[0])


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("clone", [True, False])
def test_every_run_reads_the_callers_memory(method, name, clone):
    m = method(name)
    x, y = f32(2.0), f32(5.0)
    m.set_inputs([x, y])
    for expected in (11.0, 11.0, 11.0):  # the plan may put the output where the input was
        m.execute()
        assert (np.asarray(m.get_outputs(clone)[0]) == expected).all()
    x[0, 0] = 3.0
    assert np.asarray(m.execute(clone_outputs=clone)[0])[0, 0] == 16.0
    assert (x[1] == 2.0).all() and (y == 5.0).all()


def test_a_second_input_is_no_flag(method):
    m = method("mul_add_planned_reuse")
    x = f32(2.0)
    for call in (lambda: m(x, x), lambda: m.execute([x, x], x), lambda: m.get_outputs("no")):
        with pytest.raises(etrt.ArgumentError, match=r"several inputs are passed as one list, f\(\[x, y\]\)"):
            call()
    assert (np.asarray(m([x, x], np.bool_(True))[0]) == 5.0).all()


@pytest.mark.parametrize("name", PLANS)
def test_module_keeps_inputs_that_a_call_omits(module, name):
    m = module(name)
    x, y = f32(2.0), f32(5.0)
    assert (np.asarray(m.forward([x, y])[0]) == 11).all()
    for _ in range(3):
        assert (np.asarray(m.forward([x])[0]) == 11).all()
        assert (np.asarray(m.plan_execute("forward")[0]) == 11).all()
    y[:] = 6.0
    assert (np.asarray(m.forward([x])[0]) == 13).all()
    assert (np.asarray(m.forward([])[0]) == 13).all()
    with pytest.raises(etrt.ArgumentError, match="Input 1 for method forward has not been set"):
        module(name).forward([x])


LAYOUTS = {
    "transposed": lambda: f32(1, 2, 3, 4, 5, 6, shape=(3, 2)).T,
    "reversed": lambda: f32(1, 2, 3, 4, 5, 6)[::-1, ::-1],
    "stepped": lambda: f32(*range(24), shape=(4, 6))[::2, ::2],
    "broadcast": lambda: np.broadcast_to(np.float32([1, 2, 3]), (2, 3)),
    "misaligned": lambda: np.frombuffer(bytes(1) + f32(1, 2, 3).tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3),
    "fortran": lambda: np.asfortranarray(f32(1, 2, 3, 4, 5, 6)),
    "read-only": lambda: np.frombuffer(f32(1, 2, 3).tobytes(), np.float32).reshape(2, 3),
    "subclass": lambda: f32(1, 2, 3).view(np.matrix),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["add_one", "add_one_unplanned"])
def test_any_layout(method, name, layout):
    m = method(name)
    x = LAYOUTS[layout]()
    assert (np.asarray(m([x])[0]) == np.asarray(x) + 1).all()
    if x.flags.writeable:  # a converted input is read again too
        x[0, 0] = 100
        assert (np.asarray(m.execute()[0]) == np.asarray(x) + 1).all()


def test_a_lone_input_is_one_input(method, module):
    m, x = method("add_one"), f32(1.0)
    for lone in (x, etrt.tensor(x), memoryview(x)):
        assert (np.asarray(m(lone)[0]) == 2).all()
        assert (np.asarray(module("add_one").forward(lone)[0]) == 2).all()
        m.set_inputs(lone)
        assert (np.asarray(m.execute()[0]) == 2).all()


def test_kinds_of_memory(method):
    m, data = method("add_one"), array.array("f", range(6))
    view = memoryview(data).cast("B").cast("f", (2, 3))
    assert np.asarray(m(view)[0]).ravel().tolist() == [1, 2, 3, 4, 5, 6]
    data[0] = 9.0
    assert np.asarray(m.execute()[0])[0, 0] == 10
    m = method("scalar_0d")
    assert m([np.float32(3)])[0].item() == 4.0
    assert m([np.array(3, np.float32)])[0].item() == 4.0
    assert m([etrt.tensor(3.0)])[0].item() == 4.0
    assert np.asarray(method("empty")([np.zeros((0, 3), np.float32)])[0]).shape == (0, 3)


def test_strided_memoryview(method):
    x = f32(*range(12), shape=(4, 3))
    assert (np.asarray(method("add_one")(memoryview(x)[::2])[0]) == x[::2] + 1).all()


def test_the_same_array_twice(method):
    x = f32(3.0)
    for name in PLANS:
        m = method(name)
        for _ in range(2):
            assert (np.asarray(m([x, x])[0]) == 10).all()


def test_scalars_strings_and_none(method):
    x = np.ones(3, np.float32)
    m = method("scalars")
    assert np.asarray(m([x, 2, 0.5, True])[0]).tolist() == [2, 2, 2]
    assert np.asarray(m([x, np.int64(2), np.float64(0.5), np.bool_(True)])[0]).tolist() == [2, 2, 2]
    assert [m.metadata.input_value(i) for i in (1, 2, 3)] == [2, 0.5, True]
    for wrong in ([x, 3, 0.5, True], [x, 2, 0.25, True], [x, 2, 0.5, False], [x, 2.0, 0.5, True], [x, True, 0.5, True], [x, None, 0.5, True]):
        with pytest.raises(etrt.ArgumentError):
            m(wrong)
    assert np.asarray(m.execute()[0]).tolist() == [2, 2, 2]  # the refused ones changed nothing
    m = method("string")
    assert np.asarray(m([x, "one"])[0]).tolist() == [2, 2, 2]
    with pytest.raises(etrt.ArgumentError, match="64 bits"):
        method("scalars")([x, 2**70, 0.5, True])


def resized(x):
    x.resize((200, 300), refcheck=False)


def reshaped(x):
    x.shape = (3, 2)


def restrided(x):
    x.strides = (4, 8)


OVER_AN_ARRAY = {
    "view": lambda x: x[:],
    "reversed view": lambda x: x[::-1],
    "matrix": lambda x: x.view(np.matrix),
    "memoryview": memoryview,
    "memoryview of a view": lambda x: memoryview(x[:]),
    "tensor": etrt.tensor,
    "tensor of a memoryview": lambda x: etrt.tensor(memoryview(x)),
}


@pytest.mark.parametrize("over", OVER_AN_ARRAY)
def test_what_lies_over_an_array_that_was_resized_is_refused(method, over):
    m, x = method("add_one"), np.array(f32(2.0))
    m.set_inputs([OVER_AN_ARRAY[over](x)])
    assert (np.asarray(m.execute()[0]) == 3).all()
    resized(x)
    with pytest.raises(etrt.ArgumentError, match="changed since it was given: .*; pass it again"):
        m.execute()
    assert (np.asarray(m([f32(1.0)])[0]) == 2).all()


def test_an_array_made_read_only_is_not_written(method):
    m, x, y = method("write_unplanned"), np.ones(3, np.float32), np.ones(3, np.float32)
    m.set_inputs([x, y])
    m.execute()
    x.flags.writeable = False
    with pytest.raises(etrt.ArgumentError, match="read-only"):
        m.execute()
    with pytest.raises(etrt.ArgumentError, match="read-only"):
        m([x, y])
    assert x.tolist() == [2, 2, 2]


FINALIZERS = """
import gc, etrt
import numpy as np
class Last:
    def __del__(self):  # Python runs it when the rest of its cycle is garbage as well
        assert (self.method([x])[0].numpy() == 2).all() and (self.array == 3).all() and self.result.tolist() == [[3] * 3] * 2
        assert (np.asarray(self.program.load_method("forward")([x])[0]) == 2).all()
        count.append(1)
class Array(np.ndarray):
    def __del__(self):
        self.method([x])
count, x = [], np.ones((2, 3), np.float32)
for early in (False, True):
    for i in range(50):
        last = Last() if early else None
        program = etrt.load({path!r})
        method = program.load_method("forward")
        result = method([x + 1], clone_outputs=bool(i % 2))[0]
        array = np.asarray(method([x + 1], clone_outputs=bool(i % 3))[0])
        last = last or Last()
        last.me, last.program, last.method, last.result, last.array = last, program, method, result, array
        given = x.view(Array)
        given.method = method
        method([given])
        del last, program, method, result, array, given
        gc.collect()
print(len(count))
"""


def test_what_a_finalizer_in_a_cycle_uses_is_still_there(path):
    from test_import import python

    done = python(FINALIZERS.format(path=path("add_one")))
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("100", "", 0)


CYCLE = """
import array, gc, etrt
import numpy as np
class Holder: pass
def buffer(): return memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))
class Producer:
    def __init__(self): self.x = np.ones((2, 3), np.float32)
    def __dlpack__(self, **k): return self.x.__dlpack__()
    def __dlpack_device__(self): return 1, 0
makers = [buffer, lambda: etrt.tensor(buffer()), lambda: np.asarray(buffer()), lambda: np.ones((2, 3), np.float32).view(np.matrix), Producer]
for make in makers:
    for i in range(10):
        h = Holder()
        h.me, h.method = h, etrt.load({path!r}).load_method("forward")
        h.method.set_inputs([make()])
        h.out = np.asarray(h.method.execute(clone_outputs=False)[0])
        del h
        gc.collect()
print("ok")
"""


def test_cycles_of_methods_and_inputs_are_collected(path):
    from test_import import python

    done = python(CYCLE.format(path=path("add_one")))
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("ok", "", 0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("change", [resized, reshaped, restrided])
@pytest.mark.parametrize("name", ["mul_add_planned_reuse", "mul_add_unplanned_naive"])
def test_a_changed_input_is_refused(method, module, name, change):
    m, x, y = method(name), f32(2.0), np.array(f32(5.0))
    m([x, y])
    change(y)
    with pytest.raises(etrt.ArgumentError, match=r"input 1 of method forward changed since it was given: .*; pass it again") as caught:
        m.execute()
    assert caught.value.argument == 1 and caught.value.method == "forward"
    assert (np.asarray(m([x, f32(1.0)])[0]) == 3).all()  # usable afterwards

    m, y = module(name), np.array(f32(5.0))
    m.forward([x, y])
    change(y)
    with pytest.raises(etrt.ArgumentError, match="input 1, kept from an earlier call, of method forward changed since it was given"):
        m.forward([x])


def test_a_changed_tensor_source_is_refused(method):
    m, x = method("add_one"), np.array(f32(2.0))
    t = etrt.tensor(x)
    m(t)
    resized(x)
    for use in (m.execute, lambda: m(t), t.tobytes, t.numpy, lambda: t.__dlpack__()):
        with pytest.raises(etrt.ArgumentError, match="changed"):
            use()


class Producer:
    """Speaks DLPack only."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


def test_dlpack_producers(method):
    m, producer = method("add_one"), Producer(f32(1.0))
    assert (np.asarray(m(producer)[0]) == 2).all()
    producer.x[:] = 2
    assert (np.asarray(m.execute()[0]) == 3).all()
    old = producer.x
    producer.x = f32(4.0)
    with pytest.raises(etrt.ArgumentError, match="its memory moved; pass it again"):
        m.execute()
    producer.x = old.T
    with pytest.raises(etrt.ArgumentError, match="its shape was"):
        m.execute()
    del old


def test_inputs_are_kept_alive_until_replaced(method):
    for name in PLANS:
        m = method(name)
        x, y = f32(2.0), f32(5.0)
        watch = weakref.ref(x)
        m.set_inputs([x, y])
        del x
        gc.collect()
        assert watch() is not None
        assert (np.asarray(m.execute()[0]) == 11).all()
        with pytest.raises(etrt.ArgumentError):  # a refused call leaves the old ones
            m.set_inputs([f32(1.0), np.zeros((2, 3), np.int32)])
        with pytest.raises(etrt.ArgumentError):
            m([f32(1.0), object()])
        assert watch() is not None and (np.asarray(m.execute()[0]) == 11).all()
        m([f32(1.0), f32(1.0)])
        gc.collect()
        assert watch() is None


def test_written_inputs(method):
    m, x, y = method("write_planned"), np.ones(3, np.float32), np.ones(3, np.float32)
    for _ in range(3):  # planned: starts over
        assert m([x, y])[-1].item() == 6.0
    assert x.tolist() == [1, 1, 1]
    m = method("write_unplanned")
    for expected in (6.0, 9.0, 12.0):  # not planned: keeps the write
        assert m([x, y])[-1].item() == expected
    assert x.tolist() == [4, 4, 4]
    assert m.metadata.input_tensor_meta(0).is_written() and not m.metadata.input_tensor_meta(1).is_written()
    x.flags.writeable = False
    with pytest.raises(etrt.ArgumentError, match="read-only"):
        m([x, y])
    assert method("write_planned")([x, y])[-1].item() == 15.0
    with pytest.raises(etrt.ArgumentError, match="read-only"):
        m([memoryview(x.tobytes()).cast("f"), y])


def test_converted_written_input_is_written_back(method):
    m, x = method("write_unplanned"), np.zeros(6, np.float32)
    m([x[::2], np.ones(3, np.float32)])
    assert x.tolist() == [1, 0, 1, 0, 1, 0]


def test_channels_last(method):
    m = method("channels_last")
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    want = x.repeat(2, 2).repeat(2, 3)
    assert (np.asarray(m(x)[0]) == want).all()
    assert (np.asarray(m(np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2))[0]) == want).all()
    borrowed = m(x, clone_outputs=False)[0]
    assert (np.asarray(borrowed) == want).all() and borrowed.tobytes() == want.tobytes()


def test_dynamic_sizes(method):
    m = method("dynamic")
    for n in (1, 8, 3, 2):
        x = f32(1.0, shape=(n, 3))
        out = m(x)[0]
        assert out.shape == (n, 3) and (np.asarray(out) == 2).all()
    with pytest.raises(etrt.ArgumentError):
        m(f32(1.0, shape=(9, 3)))
    info = m.metadata.input_tensor_meta(0)
    assert info.sizes() == (8, 3) and info.dynamism() == "bounded"


REFUSED = {
    "big-endian": (lambda: np.ones((2, 3), ">f4"), "byteorder"),
    "object": (lambda: np.ones((2, 3), object), "astype"),
    "structured": (lambda: np.ones((2, 3), [("a", "f4")]), "one of its fields"),
    "datetime": (lambda: np.ones((2, 3), "M8[s]"), "astype"),
    "masked": (lambda: np.ma.masked_array(f32(1.0), f32(1.0) > 0), "filled"),
    "odd strides": (lambda: np.zeros((2, 3), [("a", "f4"), ("b", "u1")])["a"], "ascontiguousarray"),
    "float64": (lambda: np.ones((2, 3)), "float32"),
    "shape": (lambda: f32(1.0, shape=(3, 2)), r"\[2, 3\]"),
    "rank": (lambda: f32(1.0, shape=(2, 3, 1)), r"\[2, 3\]"),
    "rank 20": (lambda: f32(1.0, shape=(1,) * 20), "20"),
    "list": (lambda: [[1.0]], "Unsupported python type <class 'list'>"),
    "dict": (lambda: {}, "Unsupported python type <class 'dict'>"),
    "float": (lambda: 1.0, "float"),
    "None": (lambda: None, "None"),
    "str": (lambda: "x", "x"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(method, kind):
    make, words = REFUSED[kind]
    m = method("add_one")
    with pytest.raises(etrt.ArgumentError, match=words) as caught:
        m([make()])
    error = caught.value
    assert isinstance(error, ValueError) and isinstance(error, RuntimeError)
    assert error.method == "forward" and error.argument == 0 and "nput 0" in str(error)
    assert (np.asarray(m(f32(1.0))[0]) == 2).all()


@pytest.mark.parametrize("inputs", [5, None, "abc", {}, object(), 1.5])
def test_what_is_no_sequence_of_inputs(method, inputs):
    with pytest.raises(TypeError, match="Inputs must be a tensor buffer or a flat sequence") as caught:
        method("add_one")(inputs)
    assert isinstance(caught.value, etrt.ArgumentError)


def test_wrong_count(method):
    for inputs in ([], [f32(1.0)] * 3):
        with pytest.raises(etrt.ArgumentError, match=f"Expected 2, but got {len(inputs)}"):
            method(PLANS[0])(inputs)
    with pytest.raises(etrt.Error, match="never set"):
        method(PLANS[0]).execute()


def test_interrupted_call_leaves_no_stale_pointer(method, monkeypatch):
    """An exception that comes between binding and noting it must not let a later run read freed memory."""
    from etrt import _method

    m, x, y = method(PLANS[0]), f32(2.0), f32(5.0)
    m([x, y])
    runner = m._runner
    real = _method._set_inputs

    def interrupted(*args):
        real(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(_method, "_set_inputs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        m([f32(7.0), f32(8.0)])
    monkeypatch.setattr(_method, "_set_inputs", real)
    assert runner._unsure
    assert (np.asarray(m.execute()[0]) == 11).all()  # the inputs noted are bound again


class Liar(np.ndarray):
    """Says of itself what isn't so."""

    shape = property(lambda self: (2, 3))
    strides = property(lambda self: (12, 4))
    dtype = property(lambda self: np.dtype("f4"))
    flags = base = nbytes = property(lambda self: None)
    __array_interface__ = property(lambda self: {"data": (8, False), "shape": (2, 3), "typestr": "<f4", "version": 3})

    def view(self, *_):
        return 5


def test_what_a_subclass_says_of_itself_is_not_believed(method):
    run = method("add_one")
    with pytest.raises(etrt.ArgumentError, match=r"float32\[1\]"):
        run([np.ones(1, np.float32).view(Liar)])
    truth = np.ones((2, 3), np.float32)
    liar = truth.view(Liar)
    assert (np.asarray(run([liar])[0]) == 2).all() and etrt.tensor(liar).tolist() == truth.tolist()
    truth[:] = 5
    run.execute()
    assert (np.asarray(run.get_outputs()[0]) == 6).all()
    assert (np.asarray(run([np.matrix(truth)])[0]) == 6).all()
