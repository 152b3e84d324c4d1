"""Outputs: who owns their memory, and what a Tensor can do."""

import copy
import gc
import pickle
import sys
import warnings

import pytest

np = pytest.importorskip("numpy")

import etrt
from test_inputs import PLANS, f32


def test_results_own_their_memory(method):
    m, x = method("add_one"), f32(1.0)
    first = m(x)[0]
    array = np.asarray(first)
    x[:] = 5
    second = m(x)[0]
    del m, first
    gc.collect()
    assert (array == 2).all() and (np.asarray(second) == 6).all()
    array[:] = 7  # writable, and nobody else's
    assert (np.asarray(second) == 6).all()


@pytest.mark.parametrize("name", ["add_one", "add_one_unplanned"])
def test_a_borrowed_result_keeps_its_numbers(method, name):
    m, x, held = method(name), f32(0.0), []
    for i in range(5):
        x[:] = i
        held.append(np.asarray(m(x, clone_outputs=False)[0]))  # only a view of each is held
    assert [h[0, 0] for h in held] == [1, 2, 3, 4, 5]
    keep = m(x, clone_outputs=False)[0]
    del m
    gc.collect()
    assert (np.asarray(keep) == 5).all() and [h[1, 2] for h in held] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["add_one", "add_one_unplanned"])
def test_borrowed_memory_is_used_again(method, name):
    m, x = method(name), f32(0.0)
    seen = set()
    for _ in range(10):
        out = m(x, clone_outputs=False)[0]
        seen.add(out._host_address())
        del out
    assert len(seen) <= 3


@pytest.mark.parametrize("name", ["add_one", "add_one_unplanned"])
@pytest.mark.parametrize("form", [lambda r: r, np.asarray, lambda r: np.asarray(r)[:], np.from_dlpack, etrt.tensor])
def test_a_borrowed_result_passed_back_in(method, name, form):
    m = method(name)
    result = m(f32(1.0), clone_outputs=False)[0]  # 2
    m.set_inputs([form(result)])
    for _ in range(3):
        m.execute()
        assert (np.asarray(m.get_outputs(clone_outputs=False)[0]) == 3).all()
    np.asarray(result)[:] = 10  # an edit of the result is an edit of the input
    m.execute()
    assert (np.asarray(m.get_outputs()[0]) == 11).all()


@pytest.mark.parametrize("name", PLANS)
def test_a_borrowed_result_kept_by_a_module(module, name):
    m = module(name)
    r = m.forward([f32(1.0), f32(1.0)], clone_outputs=False)[0]  # 2
    assert (np.asarray(m.forward([f32(3.0), r])[0]) == 7).all()
    for value in (4.0, 5.0):
        assert (np.asarray(m.forward([f32(value)])[0]) == 2 * value + 1).all()
    assert (np.asarray(r) == 2).all()


def test_an_output_that_is_an_input_or_constant(method):
    m, x = method("outputs"), np.ones(3, np.float32)
    out = m(x)
    assert np.asarray(out[0]).tolist() == [2, 2, 2] and np.asarray(out[3]).tolist() == [1, 1, 1]
    assert out[1] is None and out[2] == 3 and type(out[2]) is int and out[4] == 2.5 and type(out[4]) is float
    borrowed = m(x, clone_outputs=False)
    x[:] = 9
    assert np.asarray(m.execute()[3]).tolist() == [9, 9, 9]
    assert np.asarray(borrowed[0]).tolist() == [2, 2, 2]
    m = method("constant")
    out, table = m(np.zeros(2, np.float32), clone_outputs=False)
    np.asarray(table)[:] = 100  # the result's own memory, not the program's
    assert np.asarray(m.execute()[0]).tolist() == [3, 4]


def test_a_constant_outlives_the_bytes_it_was_loaded_from(path):
    program = etrt.load(open(path("constant"), "rb").read())
    out = program.load_method("forward")(np.zeros(2, np.float32), clone_outputs=False)
    del program
    gc.collect()
    assert np.asarray(out[1]).tolist() == [3, 4]


def test_get_outputs_before_a_run(method):
    with pytest.raises(etrt.Error, match="has not run") as caught:
        method("add_one").get_outputs()
    assert caught.value.status == "InvalidState"


# ---- Tensor ------------------------------------------------------------------------------------------------


def test_tensor_attributes(method):
    t = method("add_one")(f32(0, 1, 2, 3, 4, 5))[0]
    assert t.shape == (2, 3) and t.strides == (12, 4) and t.ndim == 2 and t.nbytes == 24 and t.itemsize == 4
    assert t.device == "cpu" and t.numel() == 6 and len(t) == 2 and t.to_host() is t
    assert t.dtype == "float32" and t.dtype == np.float32 and t.dtype == np.dtype("f4") and np.float32 == t.dtype
    assert np.dtype("f4") == t.dtype and t.dtype != np.float64 and t.dtype != "float64" and t.dtype != np.floating
    for abstract in (np.floating, np.inexact, np.number, np.generic, np.integer, np.complexfloating, np.character, np.flexible):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not any(d == abstract for d in etrt._dtypes.BY_CODE)
    assert hash(t.dtype) == hash("float32") and {t.dtype: 1}["float32"] == 1 and str(t.dtype) == "float32"
    assert t.tolist() == [[1, 2, 3], [4, 5, 6]] and t.tobytes() == f32(1, 2, 3, 4, 5, 6).tobytes()
    assert repr(t) == "Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], shape=(2, 3), dtype=float32)"
    with pytest.raises(etrt.ArgumentError, match="one element"):
        t.item()
    with pytest.raises(TypeError):
        etrt.Tensor()
    assert etrt.ExecuTorchResult is etrt.Tensor and not hasattr(t, "__dict__")


def test_scalars_of_a_tensor():
    t = etrt.tensor(2.5)
    assert t.shape == () and t.item() == 2.5 and float(t) == 2.5 and int(t) == 2 and bool(t) and complex(t) == 2.5
    assert t.tolist() == 2.5 and [10, 20, 30][etrt.tensor(1)] == 20
    for bad in (lambda: len(t), lambda: [1, 2][t]):
        with pytest.raises(TypeError):
            bad()


def test_numpy_shares_memory_and_converts():
    t = etrt.tensor([[1, 2], [3, 4]])
    assert t.dtype == "int64"
    view = t.numpy()
    view[0, 0] = 9
    assert t.tolist() == [[9, 2], [3, 4]] and view.base is not None
    assert np.shares_memory(np.asarray(t), view)
    assert np.asarray(t, np.float32).dtype == np.float32
    assert np.array(t).base is None
    assert not np.shares_memory(t.__array__(copy=True), view)
    with pytest.raises(ValueError):
        t.__array__(np.float32, copy=False)
    assert t.astype("float64").tolist() == [[9.0, 2.0], [3.0, 4.0]] and t.astype(np.int8).dtype == "int8"
    assert np.add(t, 1).tolist() == [[10, 3], [4, 5]]


def test_strided_tensor():
    x = np.arange(24, dtype=np.int32).reshape(4, 6)[::-2, 1::2]
    t = etrt.tensor(x)
    assert t.shape == x.shape and t.strides == x.strides and (np.asarray(t) == x).all()
    assert t.tobytes() == x.tobytes() and t.tolist() == x.tolist()
    assert (np.from_dlpack(t) == x).all()
    assert t.astype("int64").tolist() == x.tolist()
    if sys.version_info >= (3, 12):
        assert memoryview(t).tolist() == x.tolist()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="__buffer__ is new in Python 3.12")
def test_buffer_protocol(method):
    t = method("add_one")(f32(0.0))[0]
    view = memoryview(t)
    assert view.format == "f" and view.shape == (2, 3) and not view.readonly and view.tolist() == [[1, 1, 1], [1, 1, 1]]
    view[0, 0] = 5
    del t
    gc.collect()
    assert view[0, 0] == 5
    assert memoryview(etrt.tensor(b"abc")).readonly
    assert memoryview(etrt.tensor(np.zeros((0, 2)))).shape == (0, 2)


def test_buffer_of_a_tensor_through_its_method(method):
    from etrt import _buffers

    t = method("add_one")(f32(0.0))[0]  # what __buffer__ returns, on every Python
    view = _buffers.memoryview_of(t)
    assert view.format == "f" and view.shape == (2, 3) and view.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_empty_and_zero_dimensional():
    for shape in ((0,), (2, 0, 3), ()):
        x = np.ones(shape, np.float32)
        t = etrt.tensor(x)
        assert np.asarray(t).shape == shape and t.tolist() == x.tolist() and t.tobytes() == x.tobytes()
        assert etrt.tensor(t.tobytes(), dtype="float32", shape=shape).shape == shape
        assert np.from_dlpack(t).shape == shape
        copied = etrt.tensor(x, dtype="float64")
        assert np.asarray(copied).shape == shape and np.from_dlpack(copied).shape == shape
        repr(t), repr(copied)


def test_copies_and_pickles():
    t = etrt.tensor([[1.5, 2.5]], dtype="bfloat16")
    for other in (copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert other.dtype == "bfloat16" and other.tolist() == [[1.5, 2.5]] and other._host_address() != t._host_address()
    assert pickle.loads(pickle.dumps(t.dtype)) is t.dtype


def test_read_only_sources():
    t = etrt.tensor(b"\x01\x02")
    assert t.dtype == "uint8" and t.tolist() == [1, 2]
    assert not np.asarray(t).flags.writeable
    x = np.zeros(3, np.float32)
    x.flags.writeable = False
    with pytest.raises(ValueError):
        np.asarray(etrt.tensor(x))[0] = 1


def test_making_tensors():
    assert etrt.tensor([True, False]).dtype == "bool" and etrt.tensor([1, 2.5]).dtype == "float32"
    assert etrt.tensor([1j]).tolist() == [1j] and etrt.tensor([], dtype="int32").shape == (0,)
    assert etrt.tensor([2**64 - 1], dtype="uint64").item() == 2**64 - 1
    assert etrt.tensor(np.arange(6), shape=(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert etrt.tensor(np.arange(6, dtype="f4"), dtype="int8", shape=(3, 2)).shape == (3, 2)
    for bad, kind in (
        (lambda: etrt.tensor([[1], [1, 2]]), etrt.ArgumentError),
        (lambda: etrt.tensor("abc"), TypeError),
        (lambda: etrt.tensor([2**70]), etrt.ArgumentError),
        (lambda: etrt.tensor(b"abc", dtype="float32"), etrt.ArgumentError),
        (lambda: etrt.tensor(b"abcd", dtype="float32", shape=(2,)), etrt.ArgumentError),
        (lambda: etrt.tensor([1], dtype="float31"), etrt.ArgumentError),
        (lambda: etrt.tensor(np.arange(6), shape=(4,)), etrt.ArgumentError),
    ):
        with pytest.raises(kind):
            bad()


def test_indexing_is_numpys():
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 10
    tensor = etrt.tensor(values)
    whole = slice(None)
    for key in (0, -1, (1, 2), (whole, 1), (..., 0), (None, 0, ..., slice(None, None, -1)), slice(5, 1),
                (slice(None, None, 2), slice(2, 0, -1), None, 3), ()):
        view = tensor[key]
        assert view.shape == values[key].shape and (np.asarray(view) == values[key]).all()
    assert tensor[1, 2, -1] == values[1, 2, -1] and isinstance(tensor[0, 0, 0], float)
    assert [row.tolist() for row in tensor[0]] == values[0].tolist() and list(tensor[1, 0]) == values[1, 0].tolist()
    view = tensor[1]
    del tensor
    values[1] = 7
    assert view[0, 0] == 7
    for key, kind in ((5, IndexError), ((0, 0, 0, 0), IndexError), ((..., ...), IndexError), (True, TypeError), ("x", TypeError), ([0], TypeError),
                      (slice("a"), TypeError), (2**70, IndexError)):
        with pytest.raises(kind) as failed:
            etrt.tensor(values)[key]
        assert isinstance(failed.value, etrt.ArgumentError)


def test_repr_has_the_digits_of_the_dtype():
    numbers = [0.1, 1 / 3, 1e-20, float("nan"), float("inf"), 16777216.0, -0.0, 3.4028235e38]
    assert "[0.1, 0.33333334, 1e-20, nan, inf, 16777216.0, -0.0, 3.4028235e+38]" in repr(etrt.tensor(numbers))
    assert "[0.1, 0.3333, 65500.0]" in repr(etrt.tensor(np.float16([0.1, 1 / 3, 65504])))
    assert "[0.1001, 0.334]" in repr(etrt.tensor([0.1, 1 / 3], dtype="bfloat16"))
    assert "(0.1-2.0j)" in repr(etrt.tensor([0.1 - 2j])) and "0.1," in repr(etrt.tensor(np.array(0.1)))
