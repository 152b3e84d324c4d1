"""Makes etrt/_cffi.py, the module through which Python calls libetrt, from capi/et.h.

    python cffi_module.py OUTPUT.py

The header is the only place where the functions are declared. cffi reads plain declarations, so comments,
the preprocessor and the export macro are taken out first. Runs when the wheel is built, because parsing a
header takes longer than everything else `import etrt` does.
"""

import pathlib
import re
import sys

HEADER = pathlib.Path(__file__).resolve().parent.parent / "capi" / "et.h"

# What et_value_from_dlpack and et_value_to_dlpack call void*; https://dmlc.github.io/dlpack.
DLPACK = """
typedef struct { int32_t device_type; int32_t device_id; } dl_device;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } dl_dtype;
typedef struct {
  void* data; dl_device device; int32_t ndim; dl_dtype dtype; int64_t* shape; int64_t* strides; uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed { dl_tensor tensor; void* manager_ctx; void (*deleter)(struct dl_managed*); } dl_managed;
typedef struct dl_managed_versioned {
  uint32_t major; uint32_t minor; void* manager_ctx; void (*deleter)(struct dl_managed_versioned*); uint64_t flags;
  dl_tensor tensor;
} dl_managed_versioned;
"""


def declarations(header):
    """The text of et.h as cffi takes it."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = text.replace("\\\n", " ")
    kept, taken = [], []  # taken: for each open #if, whether its branch is kept
    for line in text.splitlines():
        directive = re.match(r"\s*#\s*(\w+)", line)
        if directive is None:
            if all(taken):
                kept.append(line)
            continue
        word = directive.group(1)
        if word in ("if", "ifdef", "ifndef"):  # nothing is defined here, so only "not defined" holds
            taken.append(word == "ifndef")
        elif word in ("else", "elif"):
            taken[-1] = word == "else" and not taken[-1]
        elif word == "endif":
            taken.pop()
    return re.sub(r"\bET_API\b\s*", "", "\n".join(kept))


def write(output, header=HEADER):
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(declarations(pathlib.Path(header).read_text(encoding="utf-8")) + DLPACK)
    ffi.set_source("etrt._cffi", None)
    pathlib.Path(output).parent.mkdir(parents=True, exist_ok=True)
    ffi.emit_python_code(str(output))


if __name__ == "__main__":
    write(sys.argv[1])
