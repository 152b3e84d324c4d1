"""DLPack both ways: ownership, versions, flags."""

import gc
import weakref

import pytest

np = pytest.importorskip("numpy")

import etrt
from test_inputs import f32


def names(capsule):
    return repr(capsule).split('"')[1]


def test_capsules(method):
    t = method("add_one")(f32(1.0))[0]
    assert t.__dlpack_device__() == (1, 0)
    assert names(t.__dlpack__()) == "dltensor" and names(t.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
    assert names(t.__dlpack__(max_version=(0, 8))) == "dltensor" and names(t.__dlpack__(stream=None)) == "dltensor"
    for bad in ({"stream": 1}, {"dl_device": (2, 0)}, {"dl_device": (1, 1)}):
        with pytest.raises(BufferError):
            t.__dlpack__(**bad)


def test_shared_and_copied(method):
    t = method("add_one")(f32(1.0))[0]
    shared = np.from_dlpack(t)
    assert np.shares_memory(shared, np.asarray(t)) and (shared == 2).all()

    class Copied:
        def __dlpack__(self, **kwargs):
            return t.__dlpack__(copy=True)

        def __dlpack_device__(self):
            return 1, 0

    copied = np.from_dlpack(Copied())
    shared_address = shared.__array_interface__["data"][0]
    assert copied.__array_interface__["data"][0] != shared_address
    address = t._host_address()
    del t
    gc.collect()
    assert shared.__array_interface__["data"][0] == address and (shared == 2).all()


def live_exports():
    from etrt import _dlpack

    return len(_dlpack._exported)


def test_ownership_is_released_once():
    x = f32(1.0)
    watch = weakref.ref(x)
    t = etrt.tensor(x)  # memory that Python keeps alive
    del x
    before = live_exports()
    unused = [t.__dlpack__() for _ in range(3)] + [t.__dlpack__(max_version=(1, 0)) for _ in range(3)]
    assert live_exports() == before + 6
    taken = np.from_dlpack(t)
    del unused, t
    gc.collect()
    assert live_exports() == before + 1 and watch() is not None and (taken == 1).all()
    del taken
    gc.collect()
    assert live_exports() == before and watch() is None


class Counting:
    """A producer that counts its deleter's calls, by way of the array that each capsule keeps."""

    def __init__(self):
        self.x = f32(1.0)

    def __dlpack__(self, **arguments):
        return self.x.__dlpack__(**arguments)  # NumPy before 2.1 refuses max_version, as an older producer does

    def __dlpack_device__(self):
        return 1, 0


def test_taken_tensors_are_given_back(method):
    import sys

    producer = Counting()
    before = sys.getrefcount(producer.x)
    m, counts = method("add_one"), []

    def note():
        gc.collect()
        counts.append(sys.getrefcount(producer.x) - before)

    for _ in range(3):
        m(producer)
        m.execute()
    note()  # the input that is bound
    t = etrt.tensor(producer)
    t.tolist()
    note()
    view = np.asarray(t)
    del t, m
    note()
    del view
    note()
    assert counts == [1, 2, 1, 0]


def test_a_used_or_foreign_capsule_is_refused(method):
    class Bad:
        def __init__(self, capsule):
            self.capsule = capsule

        def __dlpack__(self, **kwargs):
            return self.capsule

        def __dlpack_device__(self):
            return 1, 0

    used = f32(1.0).__dlpack__()

    class Once:
        def __dlpack__(self, **kwargs):
            return used

        def __dlpack_device__(self):
            return 1, 0

    m = method("add_one")
    np.from_dlpack(Once())
    for bad in (Bad(used), Bad(None), Bad(5)):
        with pytest.raises(BufferError, match="input 0|Input 0"):
            m([bad])


def test_read_only():
    x = f32(1.0)
    x.flags.writeable = False
    t = etrt.tensor(x)
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()
    assert names(t.__dlpack__(copy=True)) == "dltensor"
    try:
        back = np.from_dlpack(t)
    except BufferError:
        pytest.skip("this NumPy asks for no version")
    assert not back.flags.writeable


class Versioned:
    """Gives a Tensor's versioned capsule, whatever NumPy can do."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, *, max_version, **_):
        return self.tensor.__dlpack__(max_version=max_version)

    def __dlpack_device__(self):
        return 1, 0


def test_the_read_only_flag_goes_both_ways(method):
    x = np.ones(3, np.float32)
    assert np.asarray(etrt.tensor(Versioned(etrt.tensor(x)))).flags.writeable
    x.flags.writeable = False
    fixed = etrt.tensor(Versioned(etrt.tensor(x)))
    assert not np.asarray(fixed).flags.writeable
    for given in (fixed, Versioned(etrt.tensor(x))):
        with pytest.raises(etrt.ArgumentError, match="read-only"):
            method("write_unplanned")([given, np.ones(3, np.float32)])


def test_streams_of_host_memory():
    """The array API standard: None, or -1 for no synchronization; numbers are for devices that have streams."""
    t = etrt.tensor([1.0])
    for stream in (None, -1):
        assert names(t.__dlpack__(stream=stream)) == "dltensor"
    for stream in (0, 1, 2, "x"):
        with pytest.raises(BufferError, match="stream"):
            t.__dlpack__(stream=stream)


def test_no_code_for_some_dtypes():
    t = etrt.tensor(b"\1\2", dtype="bits8")
    with pytest.raises(BufferError, match="bits8"):
        t.__dlpack__()
