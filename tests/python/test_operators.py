"""Operators written in Python, and what they make possible to test: calls around calls."""

import gc
import threading
from unittest import mock

import pytest

np = pytest.importorskip("numpy")

import etrt
from etrt import _operators
from etrt._library import ffi
from scale_operator import behaviour, scale


def etrt_operators():
    """The registered testing::scale.out."""
    return next(o for o in _operators._registered.values() if o.name == "testing::scale.out")



@pytest.fixture
def does():
    yield behaviour.append
    behaviour.clear()


def test_arguments(method, does):
    seen = []
    does(lambda x, by, out: seen.append((x.tolist(), by, out.shape, out.dtype, x.dtype == np.float32)))
    does(lambda x, by, out: out.resize(x.shape))
    assert np.asarray(method("custom")([np.float32([1, 2, 3])])[0]).tolist() == [6, 9, 12]
    assert seen == [([2, 3, 4], 3.0, (3,), "float32", True)]
    assert "testing::scale.out" in etrt.Runtime.get().operator_registry.operator_names


def test_planned_bytes_are_used_again_and_reruns_are_right(method, does):
    """The input is put into the method's memory, the result overwrites it there, and every run is right all the same."""
    seen, m = [], method("custom_reuse")
    does(lambda x, by, out: seen.append(int(ffi.cast("uintptr_t", x._place.data))))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1]  # of a layout that a run has to convert
    m.set_inputs([x])
    for i in range(3):
        m.execute()
        result = m.get_outputs(clone_outputs=False)[0]
        assert result._host_address() == seen[-1]  # where the input was
        assert (np.asarray(result) == 3 * x + 1).all()
        del result
        x[0, 0] = i
    seen.clear()
    x = np.ones((2, 3), np.float32)
    m([x])
    assert seen == [x.__array_interface__["data"][0]]  # of the program's layout: read where it is


def test_an_exception_becomes_the_error(method, does):
    m, x = method("custom"), np.float32([1, 2, 3])

    def fails(*_):
        raise KeyError("a reason\nof two lines")

    does(fails)
    with pytest.raises(etrt.Error, match="KeyError: 'a reason") as caught:
        m(x)
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.operator == "testing::scale.out"
    behaviour.clear()
    assert np.asarray(m(x)[0]).tolist() == [6, 9, 12]


def test_interrupts_pass_through(method, does):
    def interrupts(*_):
        raise KeyboardInterrupt

    does(interrupts)
    with pytest.raises(KeyboardInterrupt):
        method("custom")(np.float32([1, 2, 3]))


def test_what_an_operator_keeps_stays(method, does):
    """Arrays over arguments are copies: they outlive the call, the run, and the method."""
    kept, x = [], np.float32([1, 2, 3])
    does(lambda x, by, out: kept.append((x, out)))
    does(lambda x, by, out: kept.extend([np.asarray(x), np.asarray(x)[1:], np.asarray(out), x[0:2]]))
    m = method("custom")
    assert np.asarray(m(x)[0]).tolist() == [6, 9, 12]
    behaviour.clear()
    m(x * 10)
    del m
    gc.collect()
    (argument, out), whole, part, written, view = kept
    assert whole.tolist() == argument.tolist() == [2, 3, 4] and part.tolist() == [3, 4] and view.tolist() == [2, 3]
    assert written.tolist() == out.tolist() == [6, 9, 12]
    with pytest.raises(etrt.Error, match="resized after the operator returned"):
        out.resize((2,))


def test_an_argument_is_looked_at_during_the_call(method):
    kept = []
    with mock.patch.object(etrt_operators(), "function", lambda x, by, out: kept.append(x)):
        method("custom")(np.float32([1, 2, 3]))
    with pytest.raises(etrt.Error, match="first looked at after the operator returned"):
        kept[0].tolist()
    assert kept[0].shape == (3,) and "float32" in repr(kept[0])


def test_arguments_that_are_only_read(method, does):
    def writes(x, by, out):
        np.asarray(x)[0] = 5

    does(writes)
    with pytest.raises(etrt.Error, match="read-only"):
        method("custom")(np.float32([1, 2, 3]))
    behaviour.clear()
    does(lambda x, by, out: x.resize((2,)))
    with pytest.raises(etrt.Error, match="only read"):
        method("custom")(np.float32([1, 2, 3]))


def test_what_an_operator_returns(method):
    m, x = method("custom"), np.float32([1, 2, 3])
    for result in (lambda x, by, out: np.asarray(x) * by, lambda x, by, out: (out, 5)):
        with mock.patch.object(etrt_operators(), "function", result):
            with pytest.raises(etrt.Error, match="testing::scale.out returned .*writes its outputs in place") as caught:
                m(x)
            assert isinstance(caught.value.__cause__, TypeError)
    with mock.patch.object(etrt_operators(), "function", lambda x, by, out: (scale(x, by, out), out)[1]):
        assert np.asarray(m(x)[0]).tolist() == [6, 9, 12]


def test_the_method_is_busy_in_its_own_operator(method, does):
    m, x, seen = method("custom"), np.float32([1, 2, 3]), []

    def again(*_):
        for use in (lambda: m(x), m.execute, lambda: m.set_inputs(x), m.get_outputs):
            try:
                use()
            except etrt.Error as error:
                seen.append((error.status, "forward" in str(error)))

    does(again)
    assert np.asarray(m(x)[0]).tolist() == [6, 9, 12]
    assert seen == [("InvalidState", True)] * 4


def test_a_second_thread_is_refused(method, does):
    m, x = method("custom"), np.float32([1, 2, 3])
    inside, leave = threading.Event(), threading.Event()
    does(lambda *_: (inside.set(), leave.wait(20)))
    results = []
    runner = threading.Thread(target=lambda: results.append(np.asarray(m(x)[0]).tolist()))
    runner.start()
    assert inside.wait(20)
    for use in (lambda: m(x), m.execute, lambda: m.set_inputs(x), m.get_outputs):
        with pytest.raises(etrt.Error, match="method forward is in use") as caught:
            use()
        assert caught.value.status == "InvalidState" and caught.value.method == "forward"
    del m
    gc.collect()
    leave.set()
    runner.join(20)
    assert results == [[6, 9, 12]]


def test_nested_calls_keep_their_errors_apart(method, does, path):
    def other_fails(*_):
        try:
            etrt.load(path("missing-file"))
        except etrt.LoadError:
            pass

    does(other_fails)
    m = method("custom")
    assert np.asarray(m(np.float32([1, 2, 3]))[0]).tolist() == [6, 9, 12]
    with pytest.raises(etrt.Error) as caught:
        m(np.float64([1, 2, 3]))
    assert "missing-file" not in str(caught.value)


def test_what_an_operator_recovered_from_is_not_in_a_later_error(method, does, path):
    def recovers(*_):
        with pytest.raises(etrt.LoadError):
            etrt.load(path("missing-file"))

    does(recovers)
    with pytest.raises(etrt.Error) as caught:
        method("custom_reuse", step_limit=1)(np.ones((2, 3), np.float32))  # the second step is one too many
    assert "1 instructions" in str(caught.value) and "missing-file" not in str(caught.value)


def test_bad_registrations():
    with pytest.raises(etrt.ArgumentError, match="testing::scale.out"):
        etrt.register_operator("testing::scale.out", scale)
    with pytest.raises(TypeError):
        etrt.register_operator("testing::other.out", 5)
    for schema in ("no schema (", "testing::bad.out(Tensor x)", "testing::bad.out(Tensr x, *, Tensor(a!) out) -> Tensor(a!)"):
        with pytest.raises(etrt.ArgumentError):
            etrt.register_operator(schema, lambda *_: None)
    schema = "testing::bad.out(Tensor x, float[] by=[1.0, 2.0], *, Tensor(a!) out) -> Tensor(a!)"
    for function in (lambda x: None, lambda x, by: None, lambda x, by, out, more: None, lambda x, by, *, out: None):
        with pytest.raises(etrt.ArgumentError, match="testing::bad.out can't take the 3 arguments"):
            etrt.register_operator(schema, function)
    for function in (lambda *_: None, lambda x, by, out, more=1: None):
        etrt.register_operator(schema.replace("bad", f"good{function.__code__.co_argcount}"), function)
