"""The examples in C, C++ and Python read every digit right."""

import pathlib
import re
import sys

import pytest

from conftest import BUILD, DATA, ROOT, run, run_ok

EXAMPLES = {
    "c": [BUILD / "examples" / "digits_c"],
    "cpp": [BUILD / "examples" / "digits_cpp"],
    "python": [sys.executable, ROOT / "examples" / "python" / "digits.py"],
}


@pytest.mark.parametrize("digit", range(10))
@pytest.mark.parametrize("language", EXAMPLES)
def test_reads_the_digit(language, digit):
    printed = run_ok(*EXAMPLES[language], DATA / "digits.pte", DATA / f"digit_{digit}.pgm")
    assert re.search(rf"^This is a {digit} \(\d+\.\d ?% sure\), read in \d+\.\d+ ms\.$", printed.splitlines()[-1])


@pytest.mark.parametrize("language", EXAMPLES)
def test_says_what_is_wrong(language):
    missing = run(*EXAMPLES[language], "/nowhere/model.pte", DATA / "digit_3.pgm")
    assert missing.returncode == 1
    assert "/nowhere/model.pte" in missing.stderr
    no_arguments = run(*EXAMPLES[language])
    assert no_arguments.returncode != 0
    assert "usage" in no_arguments.stderr


def test_the_pictures_are_those_of_the_labels():
    assert sorted(p.name for p in pathlib.Path(DATA).glob("digit_*.pgm")) == [f"digit_{d}.pgm" for d in range(10)]
