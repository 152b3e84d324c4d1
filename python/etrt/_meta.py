"""MethodMeta and TensorInfo: what a program says of a method, without loading it."""

from etrt import _dtypes
from etrt._errors import ArgumentError, ArgumentIndexError, UnknownNameError, encoded, last_error, whole_number
from etrt._inputs import KIND_NAMES
from etrt._library import ffi, lib, text

_DYNAMISM = {lib.ET_STATIC: "static", lib.ET_DYNAMIC_BOUND: "bounded", lib.ET_DYNAMIC_UNBOUND: "unbounded"}


class TensorInfo:
    """An input, output or attribute as the program describes it."""

    __slots__ = ("_info", "_program")

    def __init__(self, *args, **kwargs):
        raise TypeError("etrt.TensorInfo: No constructor defined!")

    def name(self):
        """Fully qualified name, "" when the file has none."""
        return text(self._info.name)

    def sizes(self):
        """The shape; of a dynamic tensor the largest one, with -1 where there is no bound."""
        return tuple(ffi.unpack(self._info.sizes, self._info.rank)) if self._info.rank else ()

    def dim_order(self):
        """Dimensions from the outermost in memory to the innermost."""
        return tuple(ffi.unpack(self._info.dim_order, self._info.rank)) if self._info.rank else ()

    def dtype(self):
        """The dtype's number, as in ExecuTorch's ScalarType."""
        return self._info.dtype

    def dtype_name(self):
        """The dtype's name, such as "float32"."""
        return str(_dtypes.BY_CODE[self._info.dtype])

    def nbytes(self):
        """Bytes at sizes(); 0 when there is no bound."""
        return self._info.nbytes

    def dynamism(self):
        """ "static", "bounded" or "unbounded"."""
        return _DYNAMISM[self._info.dynamism]

    def is_memory_planned(self):
        """Whether the file plans memory for it. A planned input that the program writes starts over each run, one that
        is not planned keeps the write."""
        return bool(self._info.planned)

    def is_written(self):
        """Whether it is an input that the program writes in place."""
        return bool(self._info.written)

    def is_state(self):
        """Whether it lives from run to run."""
        return bool(self._info.is_state)

    def __repr__(self):
        extra = ", is_written=True" if self._info.written else ""
        return (f"TensorInfo(sizes={list(self.sizes())}, dtype={self.dtype_name()}, "
                f"is_memory_planned={self.is_memory_planned()}, nbytes={self.nbytes()}{extra})")


def tensor_info(info, program):
    made = object.__new__(TensorInfo)
    made._info, made._program = info, program
    return made


class MethodMeta:
    """What a program says of one method."""

    __slots__ = ("_program", "_name", "_c_name", "_counts")

    def __init__(self, *args, **kwargs):
        raise TypeError("etrt.MethodMeta: No constructor defined!")

    def name(self):
        """The method's name, such as "forward"."""
        return self._name

    def num_inputs(self):
        return self._counts[0]

    def num_outputs(self):
        return self._counts[1]

    def num_attributes(self):
        return self._counts[2]

    def input_tensor_meta(self, index):
        """TensorInfo of an input; IndexError when there is none, or it is no tensor."""
        return self._tensor("input", index, lib.et_program_input_info, self._counts[0])

    def output_tensor_meta(self, index):
        """TensorInfo of an output; IndexError when there is none, or it is no tensor."""
        return self._tensor("output", index, lib.et_program_output_info, self._counts[1])

    def attribute_tensor_meta(self, index):
        """TensorInfo of an attribute: a tensor with a name."""
        return self._tensor("attribute", index, lib.et_program_attribute_info, self._counts[2])

    def input_value(self, index):
        """The value that an int, float or bool input was exported with, which alone may be passed. None where the file has none: for
        a number that stays dynamic, a str or None. Any number, str or None may be passed there; it can't be compared."""
        info = self._info("input", index, lib.et_program_input_info, self._counts[0])
        if info.kind == lib.ET_KIND_TENSOR:
            raise ArgumentError(f"input {index} of method {self._name} is a tensor and has no fixed value", argument=index)
        return fixed_value(info)

    def _info(self, what, index, ask, count):
        position = whole_number(index, f"{what} index", -(2**63))
        if not 0 <= position < count:
            raise ArgumentIndexError(f"Cannot get {what} tensor meta at {index}: index {index} out of range. "
                                     f"num_{what}s: {count}", method=self._name, argument=position)
        info = ffi.new("et_tensor_info *")
        status = ask(self._program.handle, self._c_name, position, info)
        if status:
            raise last_error(status)
        return info

    def _tensor(self, what, index, ask, count):
        info = self._info(what, index, ask, count)
        if info.kind != lib.ET_KIND_TENSOR:
            raise ArgumentIndexError(f"Cannot get {what} tensor meta at {index}: it is no tensor but {_kind_text(info)}",
                                     method=self._name, argument=index)
        return tensor_info(info, self._program)

    def __repr__(self):
        inputs = [self._describe("input", i, lib.et_program_input_info) for i in range(self._counts[0])]
        outputs = [self._describe("output", i, lib.et_program_output_info) for i in range(self._counts[1])]
        return (f"MethodMeta(name='{self._name}', num_inputs={len(inputs)}, input_tensor_meta={inputs}, "
                f"num_outputs={len(outputs)}, output_tensor_meta={outputs})")

    def _describe(self, what, index, ask):
        try:
            info = self._info(what, index, ask, index + 1)
            return repr(tensor_info(info, self._program)) if info.kind == lib.ET_KIND_TENSOR else _kind_text(info)
        except Exception as error:
            return f"? ({error})"


def fixed_value(info):
    kind, fixed = info.kind, info.fixed
    if kind == lib.ET_KIND_INT:
        return fixed.as_int
    if kind == lib.ET_KIND_DOUBLE:
        return fixed.as_double
    if kind == lib.ET_KIND_BOOL:
        return bool(fixed.as_bool)
    if kind == lib.ET_KIND_STRING:
        return text(fixed.as_string)
    return None


def _kind_text(info):
    value = fixed_value(info)
    name = KIND_NAMES.get(info.kind, "?")
    return name if value is None else f"{name} {value!r}"


def method_meta(program, name):
    """MethodMeta of a method of a program (a _program.Handle)."""
    made = object.__new__(MethodMeta)
    made._program, made._name, made._c_name = program, name, encoded(name, "a method's name")
    counts = []
    for ask in (lib.et_program_input_count, lib.et_program_output_count, lib.et_program_attribute_count):
        count = ffi.new("size_t *")
        status = ask(program.handle, made._c_name, count)
        if status:
            raise last_error(status, UnknownNameError if name not in program.method_names else ArgumentError)
        counts.append(count[0])
    made._counts = tuple(counts)
    return made
