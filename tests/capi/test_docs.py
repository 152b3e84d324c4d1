"""What the documents show is compiled, run and linked as it stands there."""

import pathlib
import re
import shutil

import pytest

from conftest import BUILD, DATA, ROOT, run_ok

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language):
    """Each block in that language, with its page and number as its id."""
    found = []
    for page in PAGES:
        texts = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
        found += [pytest.param(text, id=f"{page.stem}-{number}") for number, text in enumerate(texts)]
    return found


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with the programs that the documents name."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("digits.pte", "digits_images.npy"):
        shutil.copy(DATA / name, folder)
    for name in ("shared_state", "custom"):
        shutil.copy(DATA / "python" / f"{name}.pte", folder)
    return folder


def build_and_run(compiler, flags, suffix, text, folder, models):
    source = folder / f"snippet{suffix}"
    source.write_text(text, encoding="utf-8")
    program = folder / "snippet"
    run_ok(*compiler, "-Wall", "-Wextra", "-Werror", *flags, f"-I{ROOT / 'capi'}", f"-I{ROOT / 'include'}", source, "-o", program,
           f"-L{BUILD}", "-letrt", f"-Wl,-rpath,{BUILD}")
    return run_ok(program, cwd=models)


@pytest.mark.parametrize("text", blocks("c"))
def test_c(text, tmp_path, models):
    build_and_run(["gcc"], ["-std=c99", "-pedantic"], ".c", text, tmp_path, models)


@pytest.mark.parametrize("text", blocks("cpp"))
def test_cpp(text, tmp_path, models):
    build_and_run(["g++"], ["-std=c++20"], ".cc", text, tmp_path, models)


def commands():
    """The lines of the block of etrt commands, without their comments."""
    (text,) = re.findall(r"^```sh\n(etrt .*?)^```", (ROOT / "docs" / "command.md").read_text(encoding="utf-8"), re.M | re.S)
    return [line.partition("#")[0].split() for line in text.splitlines()]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands(words, models):
    run_ok(BUILD / "tools" / words[0], *words[1:], cwd=models)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_lead_somewhere(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_s_first_block_is_two_commands():
    (first, *_) = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    commands = first.splitlines()
    assert len(commands) == 2
    for command in commands:
        assert pathlib.Path(ROOT / command).stat().st_mode & 0o100
