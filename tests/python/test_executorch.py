"""The tests that an installed ExecuTorch brings along for its Python API, run on etrt."""

import importlib.util
import json

import pytest

from test_import import python

if importlib.util.find_spec("executorch") is None or importlib.util.find_spec("torch") is None:
    pytest.skip("needs torch and executorch", allow_module_level=True)

# Runs a test file and prints what failed: {test: its traceback}.
RUN = """
import importlib, json, sys, unittest
import torch, etrt
etrt.install_as_executorch()
result = unittest.TestResult()
unittest.TestCase.maxDiff = None
unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module({name!r})).run(result)
failed = {{test.id().rpartition(".")[2]: text for test, text in result.failures + result.errors}}
print("RESULT", json.dumps([result.testsRun, failed]))
"""

OLD_REPR = "dtype=Float"  # newer revisions print float32, as etrt does
NO_AOT_LIBRARY = "Missing out variants"  # in the exporter, before anything is loaded; ExecuTorch fails the same way
EXPLAINED = {
    "executorch.extension.pybindings.test.test_pybindings": {
        "test_method_meta": OLD_REPR,
        "test_method_method_meta": OLD_REPR,
        "test_program_method_meta": OLD_REPR,
        "test_quantized_ops": NO_AOT_LIBRARY,
        "test_method_quantized_ops": NO_AOT_LIBRARY,
        "test_program_data_separation": "bundled programs is not implemented",  # its last part; the others pass
    },
    "executorch.runtime.test.test_runtime": {},
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_the_tests_of_executorch_pass(name):
    if importlib.util.find_spec(name.rpartition(".")[0]) is None:
        pytest.skip("this ExecuTorch comes without its tests")
    done = python(RUN.format(name=name), timeout=900)
    (line,) = [l for l in done.stdout.splitlines() if l.startswith("RESULT ")] or pytest.fail(done.stderr)
    count, failed = json.loads(line[len("RESULT "):])
    assert count > 0
    explained = EXPLAINED[name]
    unexplained = {test: text for test, text in failed.items() if test not in explained or explained[test] not in text}
    assert not unexplained, unexplained
