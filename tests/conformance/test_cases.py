"""Every case of tests/data/cases gives the values that eager PyTorch gives; docs/operators.md names the operators there are."""

import pytest

from corpora import MADE, ROOT, operators_of_page
from run_case import Case, names


@pytest.mark.parametrize("name", names(MADE))
def test_case(name):
    assert Case(MADE, name).run() is None


def test_page_of_operators():
    """make_cases.py --page writes it anew."""
    from etrt._library import lib, text
    from etrt.portable_lib import _get_operator_names

    there = [(name, text(lib.et_operator_schema(name.encode()))) for name in _get_operator_names()]
    assert operators_of_page((ROOT / "docs" / "operators.md").read_text(encoding="utf-8")) == there
