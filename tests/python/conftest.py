import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "python"


@pytest.fixture
def path():
    """Path of a test program by name."""
    return lambda name: str(DATA / name) if "." in name else str(DATA / f"{name}.pte")


@pytest.fixture
def method(path):
    """A method of a test program by name."""
    import etrt

    return lambda name, method="forward", **options: etrt.load(path(name)).load_method(method, **options)


@pytest.fixture
def module(path):
    """An ExecuTorchModule of a test program by name."""
    from etrt import portable_lib

    return lambda name: portable_lib._load_for_executorch(path(name))
