"""Changes single fields of a .pte, found by walking its flatbuffer."""

import struct


def _table(data, at, *fields):
    """Position of a field of the table at `at`, following offsets; None where it is absent."""
    vtable = at - struct.unpack_from("<i", data, at)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    (field,) = fields
    entry = 4 + 2 * field
    offset = struct.unpack_from("<H", data, vtable + entry)[0] if entry < size else 0
    return at + offset if offset else None


def _follow(data, at):
    return at + struct.unpack_from("<I", data, at)[0]


def _vector(data, at):
    start = _follow(data, at)
    return [start + 4 + 4 * i for i in range(struct.unpack_from("<I", data, start)[0])]


_TENSOR_TAG = 5
PLAN, VALUES, VAL_TYPE, VAL, SCALAR_TYPE = 1, 2, 0, 1, 0


def with_dtype(program, code):
    """The program with the dtype of all its tensors changed, whose field must be there (not uint8)."""
    data = bytearray(program)
    plan = _follow(data, _vector(data, _table(data, _follow(data, 0), PLAN))[0])
    for at in _vector(data, _table(data, plan, VALUES)):
        value = _follow(data, at)
        if data[_table(data, value, VAL_TYPE)] == _TENSOR_TAG:
            tensor = _follow(data, _table(data, value, VAL))
            data[_table(data, tensor, SCALAR_TYPE)] = code
    return bytes(data)
