"""Builds the wheel: the Python files, etrt/_cffi.py made from capi/et.h, and libetrt itself.

The library is built by CMake from the repository that this folder is part of, or taken ready-made from the
path in ETRT_PREBUILT_LIBRARY. CMAKE_ARGS adds arguments to CMake's command line.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))
import cffi_module  # noqa: E402

LIBRARY = {"win32": "etrt.dll", "darwin": "libetrt.dylib"}.get(sys.platform, "libetrt.so")


def version():
    return re.search(r"project\(etrt VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def build_library():
    """Runs CMake; returns the path of the library it made."""
    cmake = shutil.which("cmake")
    if cmake is None:
        sys.exit("etrt: building the library needs cmake (on Debian: apt-get install cmake ninja-build g++), "
                 "or ETRT_PREBUILT_LIBRARY=path of a libetrt")
    folder = HERE / "build" / f"cmake-{sysconfig.get_platform()}"
    configure = [cmake, "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DETRT_BUILD_TESTS=OFF",
                 "-DETRT_BUILD_TOOLS=OFF", "-DETRT_BUILD_EXAMPLES=OFF"]
    if sys.platform.startswith("linux"):
        configure.append("-DCMAKE_SHARED_LINKER_FLAGS=-s")
    if shutil.which("ninja"):
        configure.append("-GNinja")
    subprocess.run(configure + shlex.split(os.environ.get("CMAKE_ARGS", "")), check=True)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
    subprocess.run([cmake, "--build", str(folder), "--config", "Release", "--target", "etrt", "--parallel", jobs], check=True)
    for path in (folder / LIBRARY, folder / "Release" / LIBRARY):
        if path.exists():
            return path.resolve()
    sys.exit(f"etrt: CMake made no {LIBRARY} in {folder}")


class BuildPackage(build_py):
    def run(self):
        super().run()
        # An editable install runs from the source folder, so the two made files go there (git ignores them).
        package = HERE / "etrt" if getattr(self, "editable_mode", False) else pathlib.Path(self.build_lib) / "etrt"
        cffi_module.write(package / "_cffi.py")
        prebuilt = os.environ.get("ETRT_PREBUILT_LIBRARY")
        library = pathlib.Path(prebuilt).resolve() if prebuilt else build_library()
        if not library.is_file():
            sys.exit(f"etrt: ETRT_PREBUILT_LIBRARY={prebuilt} is no file")
        shutil.copyfile(library, package / LIBRARY)


class PlatformWheel(bdist_wheel):
    """One wheel for every Python: the library is not an extension module."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


setup(version=version(), distclass=WithLibrary, cmdclass={"build_py": BuildPackage, "bdist_wheel": PlatformWheel})
