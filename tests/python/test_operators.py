"""Operators written in Python, and what they make possible to test: calls around calls."""

import gc
import threading

import pytest

np = pytest.importorskip("numpy")

import etrt
from scale_operator import behaviour, scale

@pytest.fixture
def does():
    yield behaviour.append
    behaviour.clear()


def test_arguments(method, does):
    seen = []
    does(lambda x, by, out: seen.append((x.tolist(), by, out.shape, out.dtype, x.dtype == np.float32)))
    assert np.asarray(method("custom")([np.float32([1, 2, 3])])[0]).tolist() == [6, 9, 12]
    assert seen == [([2, 3, 4], 3.0, (3,), "float32", True)]
    assert "testing::scale.out" in etrt.Runtime.get().operator_registry.operator_names


def test_planned_bytes_are_used_again_and_reruns_are_right(method, does):
    """The input is put into the method's memory, the result overwrites it there, and every run is right all the same."""
    seen, m = [], method("custom_reuse")
    does(lambda x, by, out: seen.append(x._host_address()))
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


def test_arguments_end_with_the_call(method, does):
    kept, x = [], np.float32([1, 2, 3])
    does(lambda x, by, out: kept.append(x))
    m = method("custom")
    m(x)
    with pytest.raises(etrt.Error, match="after the operator returned"):
        kept[0].tolist()
    repr(kept[0])
    behaviour.clear()
    does(lambda x, by, out: kept.append(np.asarray(x)))
    with pytest.raises(etrt.Error, match="kept an array"):
        m(x)
    kept.clear()
    behaviour.clear()
    does(lambda x, by, out: kept.append(x.numpy().copy()))
    m(x)
    assert kept[0].tolist() == [2, 3, 4]


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
    with pytest.raises(etrt.ArgumentError):
        etrt.register_operator("no schema (", scale)
