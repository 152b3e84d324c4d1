"""The etrt command."""

import io
import json
import os
import re

import numpy as np
import pytest

from conftest import BUILD, DATA, run, run_ok

ETRT = BUILD / "tools" / "etrt"
DIGITS = DATA / "digits.pte"
PROGRAMS = DATA / "python"


def etrt(*arguments):
    return run_ok(ETRT, *arguments)


def refused(*arguments, status=1):
    done = run(ETRT, *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stderr.startswith("etrt: ")
    return done.stderr


# --- usage ---------------------------------------------------------------------------------------------------


def test_help_names_the_commands():
    for words in (["--help"], ["help"], ["-h"]):
        text = etrt(*words)
        for command in ("run", "inspect", "ops", "info"):
            assert f"\n  {command} " in text


@pytest.mark.parametrize("command", ["run", "inspect", "ops", "info"])
def test_help_of_a_command(command):
    assert etrt(command, "--help").startswith(f"usage: etrt {command}")


def test_version():
    assert etrt("--version").startswith("etrt 0.")
    assert etrt("-V") == etrt("--version")


@pytest.mark.parametrize("words, part", [
    ([], "usage"),
    (["walk"], "walk"),
    (["run"], "expected one program"),
    (["run", DIGITS, DIGITS], "expected one program"),
    (["run", DIGITS, "--loud"], "unknown option --loud"),
    (["run", DIGITS, "--method"], "--method needs a value"),
    (["run", DIGITS, "--repeat", "many"], "--repeat"),
    (["run", DIGITS, "--repeat=-1"], "--repeat"),
    (["run", DIGITS, "--plan", "best"], "as_exported"),
    (["inspect", DIGITS, "--json=yes"], "--json takes no value"),
    (["info", "all"], "no arguments"),
])
def test_wrong_usage(words, part):
    done = run(ETRT, *words)
    assert done.returncode == 2
    assert part in done.stderr
    assert done.stdout == ""


# --- the log -------------------------------------------------------------------------------------------------


def logged(*arguments, status=0, **environment):
    """The lines on stderr, without their time."""
    done = run(ETRT, *arguments, env={**os.environ, **environment})
    assert done.returncode == status, done.stdout + done.stderr
    return [re.sub(r"^([A-Z]) [0-9:.]+ etrt] ", r"\1 ", line) for line in done.stderr.splitlines()]


def test_the_debug_log_says_what_was_loaded():
    program, method, *more = logged("run", DIGITS, "--threads", "2", ETRT_LOG_LEVEL="debug")
    size = DIGITS.stat().st_size
    assert re.fullmatch(rf"D loaded program \"?{DIGITS}\"?: {size} bytes, 1 methods, 1 segments, 0 data files", program)
    assert re.fullmatch(r"D loaded method 'forward': [1-9]\d* instructions, [1-9]\d* operators, 0 delegates, [1-9]\d* bytes planned, "
                        r"0 of state, up to 2 threads", method)
    assert more == ["D thread pool: 1 threads started, 2 with the caller"]
    assert logged("run", DIGITS, ETRT_LOG_LEVEL="error") == logged("run", DIGITS, ETRT_LOG_LEVEL="") == []


def test_a_wrong_log_level_is_named_once():
    wrong = 'E ETRT_LOG_LEVEL is "loud", expected debug, info, error, fatal or off; error is used'
    assert logged("run", DIGITS, "-r", "2", ETRT_LOG_LEVEL="loud") == [wrong]


@pytest.mark.parametrize("count", ["four", "0", "-1", "2 ", "1025"])
def test_a_wrong_number_of_threads_is_named_once(count):
    (line,) = logged("run", DIGITS, "-r", "2", ETRT_LOG_LEVEL="error", ETRT_NUM_THREADS=count)
    start = f'E ETRT_NUM_THREADS is "{count}", expected a number from 1 to 1024; '
    assert line.startswith(start) and re.match(r"[1-9]\d* is used", line[len(start):])
    assert logged("run", DIGITS, ETRT_NUM_THREADS=count) == []  # nothing is printed unless it is asked for
    assert logged("run", DIGITS, "--threads", "3", ETRT_LOG_LEVEL="error", ETRT_NUM_THREADS=count) == []


def test_log_lines_are_no_part_of_an_error():
    arguments = "run", PROGRAMS / "custom.pte"
    quiet = logged(*arguments, status=1)
    loud = logged(*arguments, status=1, ETRT_LOG_LEVEL="debug", ETRT_NUM_THREADS="four")
    assert len(loud) > len(quiet) and loud[-len(quiet):] == quiet


# --- run -----------------------------------------------------------------------------------------------------


def test_run_on_an_npy_file(tmp_path):
    out = tmp_path / "scores.npy"
    printed = etrt("run", DIGITS, "-i", DATA / "digits_images.npy", "-o", out)
    assert "input 0: float32[64, 1, 8, 8]" in printed
    assert "output 0: float32[64, 10]" in printed
    assert " ms" in printed
    np.testing.assert_allclose(np.load(out), np.load(DATA / "digits_expected.npy"), rtol=1e-4, atol=1e-6)


def test_run_on_a_raw_file(tmp_path):
    image = np.load(DATA / "digits_images.npy")[:1]
    (tmp_path / "image.bin").write_bytes(image.tobytes())
    out = tmp_path / "scores.bin"
    etrt("run", DIGITS, "-i", f"1x1x8x8=@{tmp_path}/image.bin", "-o", out)
    scores = np.frombuffer(out.read_bytes(), np.float32)
    np.testing.assert_allclose(scores, np.load(DATA / "digits_expected.npy")[0], rtol=1e-4, atol=1e-6)
    assert "expected 16384" in refused("run", DIGITS, "-i", f"@{tmp_path}/image.bin")


def test_run_on_other_layouts(tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "columns.npy", np.asfortranarray(x))
    etrt("run", PROGRAMS / "add_one.pte", "-i", tmp_path / "columns.npy", "-o", tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), x + 1)


def test_run_on_typed_numbers(tmp_path):
    out = tmp_path / "out.npy"
    printed = etrt("run", PROGRAMS / "mul_add_planned_reuse.pte", "-i", "1,2,3,4,5,6", "-i", "10", "-o", out)
    np.testing.assert_array_equal(np.load(out), np.float32([[11, 21, 31], [41, 51, 61]]))
    assert "  11 21 31 41 51 61\n" in printed
    assert "min 11, max 61, mean 36" in printed


def test_run_on_random_numbers_is_repeatable(tmp_path):
    def numbers(*more):
        etrt("run", PROGRAMS / "add_one.pte", "-o", tmp_path / "out.npy", *more)
        return np.load(tmp_path / "out.npy")

    first = numbers()
    assert ((first >= 1) & (first < 2)).all() and len(set(first.ravel())) == 6
    np.testing.assert_array_equal(first, numbers("--seed", "0"))
    assert (first != numbers("--seed", "1")).any()
    wide = numbers("-i", "random:-100:-50")
    assert ((wide >= -99) & (wide < -48)).all()
    np.testing.assert_array_equal(numbers("-i", "zeros"), np.ones((2, 3)))
    np.testing.assert_array_equal(numbers("-i", "ones"), 2 * np.ones((2, 3)))


def test_values_of_options_may_be_attached():
    apart = etrt("run", PROGRAMS / "dynamic.pte", "-i", "5x3=2", "--print", "2", "--seed", "3")
    attached = etrt("run", PROGRAMS / "dynamic.pte", "-i=5x3=2", "-p=2", "--seed=3")
    output = lambda printed: printed.partition("output 0: ")[2]
    assert output(apart) == output(attached) and "  3 3 …\n" in output(attached)
    assert output(etrt("run", PROGRAMS / "dynamic.pte", "--input=5x3=2", "--print=2")) == output(attached)


def test_run_on_dynamic_sizes(tmp_path):
    out = tmp_path / "out.npy"
    etrt("run", PROGRAMS / "dynamic.pte", "-i", "5x3=2", "-o", out)
    np.testing.assert_array_equal(np.load(out), 3 * np.ones((5, 3)))
    assert "float32[8, 3]" in etrt("run", PROGRAMS / "dynamic.pte")
    assert "9" in refused("run", PROGRAMS / "dynamic.pte", "-i", "9x3=random")


def test_run_on_integers_and_dtypes_that_numpy_lacks(tmp_path):
    out = tmp_path / "out.npy"
    big = 2**53 + 1
    etrt("run", PROGRAMS / "add_int64.pte", "-i", str(big), "-o", out)
    assert np.load(out).dtype == np.int64 and (np.load(out) == big + 1).all()
    etrt("run", PROGRAMS / "add_bf16.pte", "-i", "1,2,3,4,5,0.5", "-o", out)
    words = np.load(out)
    assert words.dtype == np.uint16
    values = (words.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(values, np.float32([[2, 3, 4], [5, 6, 1.5]]))
    np.save(tmp_path / "words.npy", words)
    assert "3 4 5 6 7 2.5" in etrt("run", PROGRAMS / "add_bf16.pte", "-i", tmp_path / "words.npy")


def test_run_with_numbers_bools_and_strings():
    assert "output 0: float32[3]\n  2 2 2\n" in etrt("run", PROGRAMS / "scalars.pte", "-i", "1")
    assert "2" in refused("run", PROGRAMS / "scalars.pte", "-i", "1", "-i", "3")
    printed = etrt("run", PROGRAMS / "outputs.pte")
    assert "output 1: None\n" in printed
    assert "output 2: int 3\n" in printed
    assert "output 4: double 2.5\n" in printed
    assert "  2 2 2\n" in etrt("run", PROGRAMS / "string.pte", "-i", "1", "-i", "one")


def test_run_another_method_repeatedly():
    printed = etrt("run", PROGRAMS / "two_methods.pte", "-m", "other", "-i", "1", "-i", "2", "-r", "5", "-p", "2")
    assert "other: " in printed and "5 times more: fastest" in printed
    assert "  4 4 …\n" in printed
    assert "other" in refused("run", PROGRAMS / "two_methods.pte", "-m", "decode")


def test_run_with_external_data():
    printed = etrt("run", PROGRAMS / "external.pte", "-d", PROGRAMS / "external.ptd", "-i", "1")
    assert "  3.5 12.5\n" in printed
    assert "weight" in refused("run", PROGRAMS / "external.pte", "-i", "1")


@pytest.mark.parametrize("arguments, part", [
    (["/nowhere/model.pte"], "No such file"),
    ([DIGITS, "-i", "/nowhere/x.npy"], "/nowhere/x.npy"),
    ([DIGITS, "-i", "@/"], "can't read /: it is a folder"),
    ([DIGITS, "-i", "@/nowhere/x.bin"], "/nowhere/x.bin"),
    ([DIGITS, "-i", "pixels"], "none of the forms"),
    ([DIGITS, "-i", "1", "-i", "2"], "forward takes 1"),
    ([DIGITS, "-i", "1,2,3"], "3 numbers for"),
    ([DIGITS, "-i", "random:5:1"], "random:LOW:HIGH"),
    ([DIGITS, "-i", "none"], "input 0"),
    ([DIGITS, "-i", DATA / "digits_labels.npy"], "int64"),
    ([DIGITS, "-i", DIGITS], "none of the forms"),
    ([DIGITS, "-o", "/nowhere/out.npy"], "/nowhere/out.npy"),
    ([DIGITS, "-o", "a.npy", "-o", "b.npy"], "forward has 1"),
])
def test_run_refuses(arguments, part, tmp_path):
    assert part in refused("run", *arguments)


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


WHOLE = saved(np.ones((2, 3), np.float32))


@pytest.mark.parametrize("content, found, remedy", [
    (b"", "it is empty, expected 93 4e 55 4d 50 59", "numpy.save"),
    (b"PK" + WHOLE[2:], "starts with the bytes 50 4b", "@FILE"),
    (WHOLE[:8], "cut off within its header, after 8 bytes", "save it again"),
    (WHOLE[:40], "cut off within its header, after 40 bytes", "save it again"),
    (WHOLE[:-1], "23 bytes of elements, expected 24", "save it again"),
    (WHOLE.replace(b"(2, 3)", b"(2, -3)"), "no sizes from 0 up", "save it again"),
    (WHOLE.replace(b"(2, 3)", b"(2, 3 "), "no sizes from 0 up", "save it again"),
    (WHOLE.replace(b"(2, 3), }             ", b"(9, 4611686018427387904)"), "more elements than there can be", ""),
    (WHOLE.replace(b"'descr'", b"'dtype'"), "no 'descr'", "save it again"),
    (saved(np.ones((2, 3), ">f4")), "big-endian (dtype '>f4'), expected little-endian", "newbyteorder"),
    (saved(np.array([1, None])), "Python objects (dtype '|O'), expected numbers", "astype"),
    (saved(np.zeros(3, [("a", "<f4"), ("b", "<i2")])), "a structured array, expected numbers", "save one of its fields"),
    (saved(np.array(["one"])), "dtype '<U3', expected bool, integers", "astype"),
])
def test_run_refuses_npy_files_that_hold_no_tensor(content, found, remedy, tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    text = refused("run", PROGRAMS / "add_one.pte", "-i", path)
    assert f"input 0, float32[2, 3]: {path} " in text and found in text and remedy in text


def test_no_npy_header_crashes_the_command(tmp_path):
    random = np.random.default_rng(0)
    path = tmp_path / "x.npy"
    for _ in range(100):
        damaged = bytearray(WHOLE)
        for at in random.integers(0, len(WHOLE), 3):
            damaged[at] = random.integers(256)
        path.write_bytes(damaged[:random.integers(1, len(WHOLE) + 1)])
        assert run(ETRT, "run", PROGRAMS / "add_one.pte", "-i", path).returncode in (0, 1)


# --- inspect -------------------------------------------------------------------------------------------------


def test_inspect_shows_what_is_there():
    text = etrt("inspect", DIGITS)
    assert "digits.pte" in text and "1 method, can run here" in text
    assert "float32[≤64, ≤1, ≤8, ≤8]" in text
    assert "   2  aten::convolution.out\n" in text
    assert "memory: " in text and "arena" in text
    assert "state: none" in text
    assert "segments: " in text and "constants" in text


def test_inspect_shows_state_writes_and_plans():
    assert "runs  float32[2, 3]  24 B" in etrt("inspect", PROGRAMS / "counter.pte")
    assert "planned, written in place" in etrt("inspect", PROGRAMS / "write_planned.pte")
    assert "not planned, written in place" in etrt("inspect", PROGRAMS / "write_unplanned.pte")
    assert "dim order [0, 2, 3, 1]" in etrt("inspect", PROGRAMS / "channels_last.pte")
    assert "int 2" in etrt("inspect", PROGRAMS / "scalars.pte")
    two = etrt("inspect", PROGRAMS / "two_methods.pte", "-m", "other")
    assert "\nother\n" in two and "\nforward\n" not in two
    assert "decode" in refused("inspect", PROGRAMS / "two_methods.pte", "-m", "decode")


def lacking(*arguments):
    """Its output; the exit status says that the program can't run here."""
    done = run(ETRT, "inspect", *arguments)
    assert done.returncode == 3 and done.stderr == "", done.stdout + done.stderr
    return done.stdout


def test_inspect_shows_what_is_missing():
    text = lacking(PROGRAMS / "custom.pte")
    assert text == lacking(PROGRAMS / "custom.pte", "-m", "forward") and "\nsegments: " in text
    assert not json.loads(lacking(PROGRAMS / "custom.pte", "--json"))["can_run"]
    assert "CAN'T RUN HERE" in text
    assert "testing::scale.out   MISSING" in text
    text = lacking(PROGRAMS / "external.pte")
    assert "CAN'T RUN HERE" in text and "weight" in text
    text = etrt("inspect", PROGRAMS / "external.pte", "-d", PROGRAMS / "external.ptd", "--attributes")
    assert "can run here" in text and "external.ptd" in text and "weight" in text


def test_inspect_as_json():
    described = json.loads(etrt("inspect", DIGITS, "--json"))
    (forward,) = described["methods"]
    assert described["name"].endswith(".pte")
    assert forward["name"] == "forward" and forward["can_run"] and described["can_run"]
    (pixels,) = forward["inputs"]
    assert pixels["dtype"] == "float32" and pixels["sizes"] == [64, 1, 8, 8] and pixels["dynamism"] == "bounded"
    assert {"name": "aten::convolution.out", "calls": 2, "available": True} in forward["operators"]
    assert forward["memory"]["planned_bytes"] == sum(forward["memory"]["arenas"]) > 0
    assert forward["constants"]["bytes"] >= 4 * (16 * 9 + 16 + 32 * 16 * 9 + 32 + 128 * 10 + 10)


@pytest.mark.parametrize("path", sorted(p for p in DATA.rglob("*.pte") if "cases" not in p.parts), ids=lambda p: p.stem)
def test_inspect_describes_every_program(path):
    described = json.loads(run(ETRT, "inspect", path, "--json").stdout)
    assert described["methods"]
    done = run(ETRT, "inspect", path)
    assert done.returncode == (0 if described["can_run"] else 3)
    text = done.stdout
    for method in described["methods"]:
        assert f"\n{method['name']}\n" in text


# --- the others ----------------------------------------------------------------------------------------------


def test_ops_lists_operators():
    names = etrt("ops").splitlines()
    assert "aten::add.out" in names and names == sorted(names)
    some = etrt("ops", "convolution").splitlines()
    assert some and set(some) < set(names) and all("convolution" in n for n in some)
    assert etrt("ops", "--schema", "::relu.out") == "aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
    assert "--all" in run(ETRT, "ops", "--all").stderr
    assert 'no operator here has "zzz" in its name' in refused("ops", "zzz")


def test_info():
    text = etrt("info")
    for word in ("etrt ", "processor ", "threads ", "operators ", "backends "):
        assert f"\n{word}" in "\n" + text
