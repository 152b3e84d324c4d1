"""The 30 dtypes: their names, and how Python and NumPy see each."""

import sys

from etrt._errors import ArgumentError
from etrt._library import lib, text

# Buffer format, NumPy's name for it, and whether that is the dtype itself (else integers of its width).
_SEEN_AS = {
    "uint8": ("B", "uint8", True),
    "int8": ("b", "int8", True),
    "int16": ("h", "int16", True),
    "int32": ("i", "int32", True),
    "int64": ("q", "int64", True),
    "float16": ("e", "float16", True),
    "float32": ("f", "float32", True),
    "float64": ("d", "float64", True),
    "complex64": ("Zf", "complex64", True),
    "complex128": ("Zd", "complex128", True),
    "bool": ("?", "bool", True),
    "uint16": ("H", "uint16", True),
    "uint32": ("I", "uint32", True),
    "uint64": ("Q", "uint64", True),
    "qint8": ("b", "int8", False),
    "qint32": ("i", "int32", False),
}
_WORDS = {1: ("B", "uint8", False), 2: ("H", "uint16", False), 4: ("I", "uint32", False)}


class DType(str):
    """A dtype's name. Also equals the NumPy dtype and type of that name; hashes as the str.

    code       number in the file format
    itemsize   bytes of an element
    format     format character of the buffer protocol
    seen_as    the NumPy dtype that arrays over it have
    native     whether that is this dtype; else it is an integer of the same width
    """

    def __new__(cls, name, code, itemsize):
        self = super().__new__(cls, name)
        self.code = code
        self.itemsize = itemsize
        self.format, self.seen_as, self.native = _SEEN_AS.get(name) or _WORDS[itemsize]
        return self

    def __eq__(self, other):
        if isinstance(other, str):
            return str.__eq__(self, other)
        return dtype_of_numpy(other) is self

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self):
        return find, (str(self),)

    @property
    def typestr(self):
        """As in __array_interface__."""
        kind = {"b": "i", "B": "u", "?": "b"}.get(self.format) or {"f": "f", "c": "c", "u": "u", "i": "i"}[self.seen_as[0]]
        return ("|" if self.itemsize == 1 else "<" if sys.byteorder == "little" else ">") + kind + str(self.itemsize)


def _all():
    code = 0
    while True:
        name = text(lib.et_dtype_name(code))
        if name is None:
            return
        yield DType(name, code, lib.et_dtype_size(code))
        code += 1


BY_CODE = list(_all())
BY_NAME = {str(d): d for d in BY_CODE}


def find(name):
    """The DType of a name, NumPy dtype or type, or torch dtype."""
    found = BY_NAME.get(name) if isinstance(name, str) else dtype_of_numpy(name)
    if found is None:
        plain = str(name)
        found = BY_NAME.get(plain[6:] if plain.startswith("torch.") else plain)
    if found is None:
        raise ArgumentError(f"unknown dtype {name!r}; there are: {', '.join(BY_NAME)}")
    return found


# Types that NumPy turns into some dtype although they stand for none.
_ABSTRACT = frozenset(("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating",
                       "flexible", "character"))
_OF_NUMPY = {}  # by NumPy dtype; asking one for its name is slow


def dtype_of_numpy(dtype):
    """The DType that a NumPy dtype (any that is native-endian, ml_dtypes too) or scalar type stands for; else None."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "dtype"):
        return None
    if isinstance(dtype, type):
        if not issubclass(dtype, numpy.generic) or dtype.__name__ in _ABSTRACT:
            return None
        try:
            kind, dtype = dtype, numpy.dtype(dtype)
        except TypeError:
            return None
        if dtype.type is not kind:
            return None
    if not isinstance(dtype, numpy.dtype):
        return None
    try:
        return _OF_NUMPY[dtype]
    except KeyError:
        plain = dtype.isnative and dtype.names is None and dtype.subdtype is None
        found = BY_NAME.get(dtype.name) if plain else None
        if len(_OF_NUMPY) < 1000:  # structured ones are without number
            _OF_NUMPY[dtype] = found
        return found


# Formats of the struct module that mean a fixed-size number, by kind and size.
_KINDS = {**dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u")}
_BY_KIND = {
    ("i", 1): "int8", ("i", 2): "int16", ("i", 4): "int32", ("i", 8): "int64",
    ("u", 1): "uint8", ("u", 2): "uint16", ("u", 4): "uint32", ("u", 8): "uint64",
}
_BY_FORMAT = {"?": "bool", "e": "float16", "f": "float32", "d": "float64", "Zf": "complex64", "Zd": "complex128"}


def dtype_of_format(format, itemsize):
    """The DType of a buffer's format; None when there is none."""
    native = "@=<" if sys.byteorder == "little" else "@=>!"
    if format[:1] in "@=<>!":
        if format[:1] not in native and itemsize > 1:
            return None
        format = format[1:]
    name = _BY_FORMAT.get(format) or _BY_KIND.get((_KINDS.get(format), itemsize))
    found = BY_NAME.get(name)
    return found if found is not None and found.itemsize == itemsize else None
