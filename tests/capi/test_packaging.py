"""The C ABI as a package: its symbols, its header, and an installation that others build on."""

import os
import shutil

import pytest

from conftest import BUILD, DATA, ROOT, run_ok

LIBRARY = BUILD / "libetrt.so"
SYMBOLS = ROOT / "tests" / "capi" / "symbols.txt"


def exported():
    """Names that the library defines for others."""
    lines = run_ok("nm", "-D", "--defined-only", LIBRARY).splitlines()
    return sorted(line.split()[-1].split("@")[0] for line in lines)


def test_the_library_exports_what_the_list_says_and_nothing_else():
    listed = SYMBOLS.read_text().split()
    assert listed == sorted(listed)
    assert exported() == listed


def test_the_header_declares_what_the_library_exports():
    header = (ROOT / "capi" / "et.h").read_text()
    for name in exported():
        assert f" {name}(" in header or f"*{name}(" in header or f"* {name}(" in header, name


def test_the_library_needs_only_the_system():
    needed = [line.split("[")[1].rstrip("]") for line in run_ok("readelf", "-d", LIBRARY).splitlines() if "NEEDED" in line]
    allowed = ("libstdc++.so", "libm.so", "libgcc_s.so", "libc.so", "ld-linux")
    assert all(name.startswith(allowed) for name in needed), needed


@pytest.mark.parametrize("compiler, standard", [("gcc", "c99"), ("gcc", "c11"), ("clang", "c99")])
def test_the_header_is_plain_c(compiler, standard, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source = tmp_path / "only.c"
    source.write_text("#include <et.h>\n#include <et.h>\n"
                      "int main(void) { et_method_options o = ET_INIT(et_method_options); return o.plan; }\n")
    run_ok(compiler, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Wc++-compat", "-Werror",
           "-fsyntax-only", f"-I{ROOT / 'capi'}", source)


def test_the_header_is_plain_cpp(tmp_path):
    source = tmp_path / "only.cc"
    source.write_text("#include <et.h>\nint main() { return et_version() == nullptr; }\n")
    run_ok("g++", "-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'capi'}", source)


@pytest.mark.parametrize("header", sorted(p.name for p in (ROOT / "include" / "et").glob("*.h")))
@pytest.mark.parametrize("flags", [[], ["-fno-exceptions", "-fno-rtti"]], ids=["exceptions", "none"])
def test_each_cpp_header_stands_alone(header, flags, tmp_path):
    source = tmp_path / "only.cc"
    source.write_text(f"#include <et/{header}>\nint main() {{ return 0; }}\n")
    run_ok("g++", "-std=c++20", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only",
           *flags, f"-I{ROOT / 'capi'}", f"-I{ROOT / 'include'}", source)


PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C CXX)
find_package(etrt REQUIRED)
add_executable(c_digits {root}/examples/c/digits.c)
target_link_libraries(c_digits PRIVATE etrt::etrt)
add_executable(cpp_digits {root}/examples/cpp/digits.cc)
target_link_libraries(cpp_digits PRIVATE etrt::cpp)
"""


def test_a_project_builds_on_an_installation(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))
    run_ok("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    run_ok("cmake", "--build", tmp_path / "build")
    for program in ("c_digits", "cpp_digits"):
        printed = run_ok(tmp_path / "build" / program, DATA / "digits.pte", DATA / "digit_4.pgm")
        assert "This is a 4 " in printed


def test_pkg_config_knows_an_installation_wherever_it_was_moved(installed, tmp_path):
    prefix = tmp_path / "moved"
    shutil.copytree(installed, prefix, symlinks=True)
    (pc,) = prefix.rglob("etrt.pc")

    def pkg_config(*arguments):
        return run_ok("pkg-config", *arguments, "etrt", env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}).split()

    (libdir,) = pkg_config("--variable=libdir")
    program = tmp_path / "digits"
    run_ok("gcc", ROOT / "examples" / "c" / "digits.c", *pkg_config("--cflags", "--libs"), f"-Wl,-rpath,{libdir}",
           "-o", program)
    assert "This is a 4 " in run_ok(program, DATA / "digits.pte", DATA / "digit_4.pgm")
    assert str(prefix.resolve()) in run_ok("ldd", program)
    assert run_ok(prefix / "bin" / "etrt", "--version").split()[1:] == pkg_config("--modversion")


def test_the_installed_command_finds_its_library(installed):
    assert run_ok(installed / "bin" / "etrt", "--version").startswith("etrt ")
    assert (installed / "include" / "et.h").is_file()
    assert (installed / "include" / "et" / "module.h").is_file()
