"""Programs are shared by threads, methods are not."""

import gc
import os
import sys
import threading

import pytest

np = pytest.importorskip("numpy")

import etrt
from test_inputs import f32


def in_threads(count, work):
    errors = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors, errors


def test_a_program_shared_by_many(path):
    program = etrt.load(path("mul_add_planned_reuse"))

    def work(i):
        for k in range(30):
            m = program.load_method("forward")
            x = f32(i + k)
            for _ in range(5):
                assert (np.asarray(m([x, x], clone_outputs=bool(k % 2))[0]) == (i + k) ** 2 + 1).all()

    in_threads(8, work)


def test_misuse_of_one_method_gives_right_answers_or_refusals(method):
    m = method("mul_add_planned_reuse")
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        def work(i):
            x = f32(i)
            for _ in range(300):
                try:
                    out = np.asarray(m([x, x])[0])
                except etrt.Error as error:
                    assert error.status == "InvalidState"
                else:
                    assert (out == i * i + 1).all()

        in_threads(8, work)
    finally:
        sys.setswitchinterval(old)
    assert (np.asarray(m([f32(2), f32(2)])[0]) == 5).all()


def test_last_errors_belong_to_their_thread(method):
    def work(i):
        m = method("add_one")
        for _ in range(50):
            with pytest.raises(etrt.ArgumentError) as caught:
                m(np.zeros((2, 3, i + 1), np.float32))
            assert f"[2, 3, {i + 1}]" in str(caught.value)

    in_threads(4, work)


def test_handles_go_in_any_order(path):
    program = etrt.load(open(path("two_methods"), "rb").read())
    first, second = program.load_method("forward"), program.load_method("other")
    meta = first.metadata
    del program
    gc.collect()
    x = f32(1.0)
    out = second([x, x], clone_outputs=False)[0]
    del second
    gc.collect()
    assert (np.asarray(out) == 3).all() and (np.asarray(first([x, x])[0]) == 2).all()
    del first
    gc.collect()
    assert meta.num_inputs() == 2 and "forward" in repr(meta) and (np.asarray(out) == 3).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_after_a_run(method):
    m, x = method("add_one"), f32(1.0)
    m(x)
    child = os.fork()
    if child == 0:
        ok = (np.asarray(m(x)[0]) == 2).all()
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
