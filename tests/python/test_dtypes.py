"""All 30 dtypes through a program that returns its input, whose dtype field is changed."""

import pathlib
import sys

import pytest

np = pytest.importorskip("numpy")

import etrt
from etrt import _dtypes, portable_lib
from pte import with_dtype

NAMES = [str(d) for d in _dtypes.BY_CODE]
NATIVE = [d for d in NAMES if _dtypes.BY_NAME[d].native]
WORDS = [d for d in NAMES if d not in NATIVE]


@pytest.fixture
def identity(path):
    program = pathlib.Path(path("identity")).read_bytes()
    return lambda name: etrt.load(with_dtype(program, NAMES.index(name))).load_method("forward")


def words(name):
    itemsize = _dtypes.BY_NAME[name].itemsize
    return bytes(range(1, 6 * itemsize + 1)) if name != "bool" else b"\1\0\1\1\0\0"


def test_there_are_30():
    assert len(NAMES) == 30 and len(NATIVE) == 14
    assert [_dtypes.BY_NAME[n].code for n in ("uint8", "float32", "bool", "bfloat16", "uint64")] == [0, 6, 11, 15, 29]


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_goes_in_and_out(identity, name):
    m = identity(name)
    t = etrt.tensor(words(name), dtype=name, shape=(2, 3))
    for out in (m([t])[0], m([t], clone_outputs=False)[0]):
        assert out.dtype == name and out.shape == (2, 3) and out.tobytes() == words(name) and out.nbytes == len(words(name))
        array = np.asarray(out)
        assert array.shape == (2, 3) and array.tobytes() == words(name)
        expected = {"qint8": "int8", "qint32": "int32", "complex32": "uint32"}
        seen = name if name in NATIVE else expected.get(name, f"uint{8 * out.itemsize}")
        assert array.dtype == np.dtype(seen) and out.numpy().dtype == np.dtype(seen)
        assert name in repr(out) and m([out])[0].tobytes() == words(name)
    info = m.metadata.input_tensor_meta(0)
    assert info.dtype() == NAMES.index(name) and info.dtype_name() == name and f"dtype={name}," in repr(info)
    repr(m.metadata)


@pytest.mark.parametrize("name", NATIVE)
def test_numpy_dtypes_equal(identity, name):
    array = np.frombuffer(words(name), np.dtype(name)).reshape(2, 3)
    m = identity(name)
    out = m([array])[0]
    assert out.dtype == array.dtype and out.dtype == array.dtype.type and np.asarray(out).tobytes() == array.tobytes()
    assert m(memoryview(array))[0].tobytes() == array.tobytes()
    if name != "bool" or np.lib.NumpyVersion(np.__version__) >= "1.25.0":  # older ones refuse DLPack's bool
        assert np.from_dlpack(out).dtype == array.dtype
    with pytest.raises(etrt.ArgumentError):  # raw bytes are for dtypes that no buffer format can name
        if name == "uint8":
            raise etrt.ArgumentError
        m([array.tobytes()])


@pytest.mark.parametrize("name", WORDS)
def test_words_are_not_values(identity, name):
    m = identity(name)
    out = m([etrt.tensor(words(name), dtype=name, shape=(2, 3))])[0]
    array = np.asarray(out)
    with pytest.raises(etrt.ArgumentError, match=name) as caught:  # what it shows as is not what it is
        m([array])
    assert array.dtype.name in str(caught.value) or "uint8" in str(caught.value)
    assert m([array.tobytes()])[0].tobytes() == words(name)  # its bytes are
    assert m([bytearray(array.tobytes())])[0].tobytes() == words(name)
    with pytest.raises(etrt.ArgumentError):
        m([array.tobytes()[1:]])
    with pytest.raises(TypeError, match="astype"):
        out.__array__(np.float32)
    if out.dtype.format in "BHI" and name not in ("qint8", "qint32"):
        saved = etrt.tensor(array, dtype=name)  # unsigned words of the width come back as what they were
        assert saved.dtype == name and m([saved])[0].tobytes() == words(name)
    assert out.__array__(np.int64).dtype == np.int64


def test_values_of_small_floats():
    assert etrt.tensor([1.0, -2.5, 3.140625], dtype="bfloat16").tolist() == [1.0, -2.5, 3.140625]
    assert np.asarray(etrt.tensor(np.float32([1.0, 1.0039])[:1], dtype="bfloat16")).tolist() == [0x3F80]
    assert etrt.tensor([448.0, 0.5], dtype="float8_e4m3fn").tolist() == [448.0, 0.5]
    t = etrt.tensor(np.uint16([0x3F80, 0x4040]), dtype="bfloat16")
    assert t.astype("float32").tolist() == [1.0, 3.0] and t.astype("float64").dtype == np.float64
    assert etrt.tensor(np.int16([1, 2]), dtype="bfloat16").tolist() == [1.0, 2.0]  # signed integers are values
    assert etrt.tensor(np.float32([1.5]), dtype="float16").tolist() == [1.5]
    assert etrt.tensor([1 + 2j], dtype="complex64").tolist() == [1 + 2j]


def test_ml_dtypes(identity):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz"):
        kind = getattr(ml_dtypes, name)
        x = np.arange(6).reshape(2, 3).astype(kind)
        out = identity(name)([x])[0]
        assert out.dtype == name and out.dtype == kind and out.dtype == np.dtype(kind)
        back = out.numpy(kind)
        assert back.dtype == kind and (back == x).all() and np.shares_memory(back, np.asarray(out))
        assert out.astype("float32").tolist() == x.astype(np.float32).tolist()
        assert etrt.tensor(x).dtype == name


def test_portable_lib_takes_them_too(path):
    if "torch" in sys.modules:
        pytest.skip("gives a torch tensor then")
    program = pathlib.Path(path("identity")).read_bytes()
    m = portable_lib._load_for_executorch_from_buffer(with_dtype(program, NAMES.index("bits16")))
    t = etrt.tensor(words("bits16"), dtype="bits16", shape=(2, 3))
    assert m.forward([t])[0].tobytes() == words("bits16")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there NumPy asks for the buffer first, and converts the words")
def test_asarray_with_a_float_dtype_is_refused():
    with pytest.raises(etrt.ArgumentError, match="use .astype"):
        np.asarray(etrt.tensor([1.5], dtype="bfloat16"), dtype=np.float32)
