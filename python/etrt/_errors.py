"""Exceptions. Each carries the status of the C call that failed, or the one it would have had."""

from operator import index

from etrt._library import NULL, ffi, lib, text


class Status(int):
    """A status code: an int that has a name and also equals it."""

    __slots__ = ()

    @property
    def name(self):
        return text(lib.et_status_name(self))

    def __eq__(self, other):
        return self.name == other if isinstance(other, str) else int.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__

    def __repr__(self):
        return f"<Status.{self.name}: 0x{int(self):x}>"

    def __str__(self):
        return self.name


INTERNAL = Status(lib.ET_INTERNAL)
INVALID_STATE = Status(lib.ET_INVALID_STATE)
NOT_SUPPORTED = Status(lib.ET_NOT_SUPPORTED)
NOT_IMPLEMENTED = Status(lib.ET_NOT_IMPLEMENTED)
INVALID_ARGUMENT = Status(lib.ET_INVALID_ARGUMENT)
INVALID_TYPE = Status(lib.ET_INVALID_TYPE)
NOT_FOUND = Status(lib.ET_NOT_FOUND)
ACCESS_FAILED = Status(lib.ET_ACCESS_FAILED)


class Error(RuntimeError):
    """Something failed; the text says what, why, and what to do.

    status     the Status
    method     name of the method concerned, or None
    operator   name of the operator that failed, or None
    argument   index of the input, output or operator argument at fault, or None
    """

    def __init__(self, message="", status=INTERNAL, method=None, operator=None, argument=None):
        super().__init__(message)
        self.status = Status(status)
        self.method = method
        self.operator = operator
        self.argument = argument

    def __str__(self):  # KeyError, which some subclasses also are, would show the repr
        return self.args[0] if self.args else ""

    @property
    def reason(self):
        """The text without the words that the C library puts in front: "<context>, error: 0x12: "."""
        head, mark, rest = str(self).partition(f", error: 0x{int(self.status):02x}: ")
        return rest if mark else head

    def with_context(self, context):
        """Replaces those words; returns the error."""
        self.args = (f"{context}: {self.reason}",)
        return self


class ArgumentError(Error, ValueError):
    """What the caller passed can't be used."""

    def __init__(self, message="", status=INVALID_ARGUMENT, method=None, operator=None, argument=None):
        Error.__init__(self, message, status, method, operator, argument)


class LoadError(Error):
    """A file is missing, unreadable or not a sound program."""


# What ExecuTorch's own bindings raise in the same places; handlers written for them catch these too.
class ArgumentTypeError(ArgumentError, TypeError):
    pass


class ArgumentBufferError(ArgumentError, BufferError):
    pass


class ArgumentIndexError(ArgumentError, IndexError):
    pass


class UnknownNameError(ArgumentError, KeyError):
    pass


class NotImplementedYetError(Error, NotImplementedError):
    def __init__(self, what):
        Error.__init__(self, f"{what} is not implemented in this version of etrt", NOT_IMPLEMENTED)


def last_error(status, kind=Error):
    """The exception for a C call of this thread that has just returned `status`."""
    taken = lib.et_last_error_take()
    if taken == NULL:
        return kind(f"the library failed with {Status(status).name} and gave no reason", status)
    taken = ffi.gc(taken, lib.et_error_free)
    argument = lib.et_error_argument(taken)
    return kind(
        _in_python(text(lib.et_error_text(taken))),
        status,
        text(lib.et_error_method(taken)) or None,
        text(lib.et_error_operator(taken)) or None,
        argument if argument >= 0 else None,
    )


# Texts of the C library name its functions; in Python they are called otherwise.
_NAMES = {"et_register_operator": "etrt.register_operator", "et_register_backend": "et_register_backend (in C)"}


def _in_python(words):
    for name, ours in _NAMES.items():
        words = words.replace(name, ours)
    return words


def whole_number(x, what, least=0, most=2**64 - 1):
    """An int argument, of any type that Python takes for one."""
    try:
        number = index(x)
    except Exception:
        raise ArgumentTypeError(f"{what} must be an int, not {shown(x)}") from None
    if isinstance(x, bool) or not least <= number <= most:
        raise ArgumentError(f"{what} must be an int from {least} to {most}, not {shown(x)}")
    return number


def shown(x):
    """What was passed, for messages: short, and whatever its repr does."""
    try:
        text = repr(x)
    except Exception:
        text = "?"
    kind = type(x).__name__
    if not isinstance(x, (int, float, str, bytes, type(None))) and not text.startswith((kind, "<")):
        text = f"{kind} {text}"
    return text if len(text) <= 80 else text[:77] + "..."


def encoded(name, what):
    """A name as the C library takes it."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{what} is a str, not {type(name).__name__}", INVALID_TYPE)
    data = name.encode("utf-8", "surrogatepass")
    if b"\0" in data:
        raise ArgumentError(f"{what} has no null character in it: {name!r}")
    return data


def check(status, kind=Error):
    if status:
        raise last_error(status, kind)
