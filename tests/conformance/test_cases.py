"""Every case of tests/data/cases gives the values that eager PyTorch gives."""

import pathlib

import pytest

from run_case import Case, names

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "data" / "cases"


@pytest.mark.parametrize("name", names(CORPUS))
def test_case(name):
    assert Case(CORPUS, name).run() is None
