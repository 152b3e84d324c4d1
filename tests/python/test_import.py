"""Importing etrt: what it brings along, how long it takes, and what is said when it can't."""

import os
import subprocess
import sys

import pytest

import etrt


def python(code, *options, timeout=120, **environment):
    env = {**os.environ, **environment}
    folder = os.path.dirname(os.path.dirname(etrt.__file__))
    env["PYTHONPATH"] = os.pathsep.join([folder] + ([env["PYTHONPATH"]] if env.get("PYTHONPATH") else []))
    return subprocess.run([sys.executable, *options, "-c", code], env=env, capture_output=True, text=True, timeout=timeout)


def test_imports_nothing_heavy():
    done = python("import sys, etrt, etrt.portable_lib; print([m for m in ('numpy', 'torch', 'ml_dtypes', 'ctypes', 'cffi') if m in sys.modules])")
    assert done.stdout.strip() == "[]", done


def test_is_quick(tmp_path):
    times = []
    for _ in range(5):  # the first compiles, as installing does
        done = python("import etrt", "-X", "importtime", PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=str(tmp_path))
        (line,) = [l for l in done.stderr.splitlines() if l.split("|")[-1].strip() == "etrt"]
        times.append(int(line.split("|")[1]) / 1000)
    assert min(times) < 50, f"import etrt took {min(times)} ms"


def test_runs_without_numpy(path):
    """A program runs, and results can be read, where NumPy is absent."""
    code = f"""
import sys, array
class Absent:
    def find_spec(self, name, *_):
        if name.split(".")[0] in ("numpy", "torch"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import etrt
m = etrt.load({path("add_one")!r}).load_method("forward")
out = m([memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))])[0]
assert out.tolist() == [[1, 2, 3], [4, 5, 6]] and out.dtype == "float32", out
assert etrt.tensor([1.5], dtype="bfloat16").astype("float64").tolist() == [1.5]
assert m([etrt.tensor([[0, 1, 2], [3, 4, 5]], dtype="float32")])[0].tolist() == out.tolist()
assert "numpy" not in sys.modules and "torch" not in sys.modules
print("ok")
"""
    done = python(code)
    assert done.stdout.strip() == "ok", done.stderr


@pytest.mark.parametrize("make, reason", [
    (lambda p: str(p / "absent.so"), "no such file"),
    (lambda p: str(p), "annot"),
    (lambda p: (p / "junk.so").write_bytes(b"junk") and str(p / "junk.so"), "junk.so"),
])
def test_a_library_that_cannot_be_loaded(tmp_path, make, reason):
    path = make(tmp_path)
    done = python("import etrt", ETRT_LIBRARY=path)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: etrt can't load its library. Tried: " + path), last
    assert "ETRT_LIBRARY" in last and reason in last and sys.platform in last and "Platform:" in last


def test_another_library_is_refused(tmp_path):
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    if not os.path.exists(libc):
        pytest.skip("no libc where it was looked for")
    done = python("import etrt", ETRT_LIBRARY=libc)
    assert "it is not libetrt" in done.stderr and "et_abi_version" in done.stderr


def test_silent(path):
    """Nothing is written to stdout or stderr, also when calls fail."""
    code = f"""
import etrt, etrt.portable_lib as p
for call in (lambda: etrt.load("/absent.pte"), lambda: etrt.load(b"junk"), lambda: p._load_for_executorch({path("add_one")!r}).forward([1])):
    try:
        call()
    except etrt.Error:
        pass
    else:
        raise SystemExit("no error")
"""
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_process_settings():
    before = etrt.thread_count()
    etrt.set_thread_count(2)
    assert etrt.thread_count() == 2
    etrt.set_thread_count(before)
    etrt.set_seed(7), etrt.set_seed(-1)
    for bad in (0, -1, 1.5, True, "2"):
        with pytest.raises(etrt.ArgumentError):
            etrt.set_thread_count(bad)
    assert etrt.__version__
    for name in etrt.__all__:
        assert getattr(etrt, name) is not None
