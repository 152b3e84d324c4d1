"""Tests of what a build and an installation give: the command, the examples, the symbols, the packages, the docs.

ETRT_BUILD_DIR is the build to test; default: build/ beside the sources.
"""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
BUILD = pathlib.Path(os.environ.get("ETRT_BUILD_DIR", ROOT / "build"))


def run(*command, **options):
    """Runs a command; returns what became of it, with its output as text."""
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, encoding="utf-8", **options)


def run_ok(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Where `cmake --install` put the build."""
    prefix = tmp_path_factory.mktemp("installed")
    run_ok("cmake", "--install", BUILD, "--prefix", prefix)
    return prefix
