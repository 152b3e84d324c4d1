"""Finds and loads libetrt. Everything else calls it through `lib` and `ffi` of this module."""

import os
import sys

ABI_VERSION = 1  # of et.h as this package uses it

try:
    from etrt._cffi import ffi
except ModuleNotFoundError as error:
    if error.name != "etrt._cffi":
        raise ImportError(f"etrt needs the package cffi, which can't be imported: {error}; pip install cffi") from error
    raise ImportError(
        "etrt._cffi is missing: this is a source folder, not an installed package; run `pip install ./python` in the "
        "repository, or `python python/cffi_module.py python/etrt/_cffi.py` and set ETRT_LIBRARY"
    ) from error


def _file_name():
    return {"win32": "etrt.dll", "darwin": "libetrt.dylib"}.get(sys.platform, "libetrt.so")


def _platform():
    import platform

    return f"{sys.platform} {platform.machine()}, Python {platform.python_version()}, {8 * ffi.sizeof('void*')}-bit"


def _failure(path, origin, reason):
    return ImportError(
        f"etrt can't load its library. Tried: {path} ({origin}). Reason: {reason}. Platform: {_platform()}. "
        + ("Set ETRT_LIBRARY to a libetrt built for this platform, or unset it."
           if origin == "from ETRT_LIBRARY" else
           "Reinstall etrt for this platform, or set ETRT_LIBRARY to the path of a libetrt.")
    )


def _load():
    path, origin = os.environ.get("ETRT_LIBRARY"), "from ETRT_LIBRARY"
    if not path:
        path, origin = os.path.join(os.path.dirname(os.path.abspath(__file__)), _file_name()), "in the package"
    if not os.path.exists(path):
        raise _failure(path, origin, "there is no such file")
    try:
        library = ffi.dlopen(os.path.abspath(path))
    except OSError as error:
        raise _failure(path, origin, str(error)) from None
    try:
        found = library.et_abi_version()
        sizes = library.et_sizeof_value(), library.et_sizeof_tensor_info()
    except (AttributeError, ffi.error, OSError) as error:
        raise _failure(path, origin, f"it is not libetrt: {error}") from None
    if found < ABI_VERSION:
        raise _failure(path, origin, f"its ABI version is {found}, this package needs {ABI_VERSION} or later")
    expected = ffi.sizeof("et_value"), ffi.sizeof("et_tensor_info")
    if sizes != expected:
        raise _failure(path, origin, f"its et_value and et_tensor_info have {sizes} bytes, this package's {expected}")
    return library, path


lib, library_path = _load()

NULL = ffi.NULL


def text(pointer):
    """A char* as str; None for NULL."""
    return None if pointer == NULL else ffi.string(pointer).decode("utf-8", "replace")
