"""Operators written in Python."""

import inspect

from etrt import _dtypes, _method, _tensor
from etrt._errors import INVALID_STATE, ArgumentError, ArgumentTypeError, Error, check, encoded
from etrt._library import NULL, ffi, lib
from etrt._tensor import Tensor

_uncleared = ffi.new_allocator(should_clear_after_alloc=False)


class OperatorTensor(Tensor):
    """A tensor argument of an operator. Its numbers are copied when they are first looked at, so that an array over them
    may be kept; those of an output go back when the operator returns."""

    # _place: the argument in the method's memory, an et_tensor_view, until the operator returns.
    __slots__ = ("_call", "_index", "_place")

    def resize(self, shape):
        """Gives an output another shape, and perhaps other memory: ask for its array afterwards."""
        if self._place is None:
            raise Error("a tensor argument of an operator was resized after the operator returned", INVALID_STATE)
        if self._index is None:
            raise ArgumentError("a tensor in a list of arguments can't be resized")
        sizes = ffi.new("int64_t[]", list(shape))
        check(lib.et_call_resize(self._call[0], self._index, sizes, len(sizes)))
        self._value = self._layout = None
        _describe(self, self._call[1][self._index].u.as_tensor)

    def _live(self):
        if self._value is None:
            if self._place is None:
                raise Error("a tensor argument of an operator was first looked at after the operator returned; look at it, or "
                            "copy it, before", INVALID_STATE)
            self._copy_in()
        return self._value

    def _copy_in(self):
        memory = _uncleared("char[]", max(self.nbytes, 1))
        if self.nbytes:
            ffi.memmove(memory, self._place.data, self.nbytes)
        place = self._place
        strides = None if place.strides == NULL or not place.rank else ffi.unpack(place.strides, place.rank)
        copy = _tensor.over(memory, self._dtype, self._shape, strides, memory, self._readonly)
        self._value, self._layout, self._owner = copy._value, copy._layout, memory

    def _end(self):
        """The operator has returned: what was written goes to the method's memory."""
        if self._value is not None and self._place is not None and not self._readonly and self.nbytes:
            ffi.memmove(self._place.data, self._owner, self.nbytes)

    def _forget_call(self):
        self._call = self._place = None


def _describe(tensor, view):
    tensor._place = view
    tensor._dtype = dtype = _dtypes.BY_CODE[view.dtype]
    tensor._shape = shape = tuple(ffi.unpack(view.sizes, view.rank)) if view.rank else ()
    if view.strides == NULL or not view.rank:
        tensor._strides = _tensor.row_major(shape, dtype.itemsize)
    else:
        tensor._strides = tuple([s * dtype.itemsize for s in ffi.unpack(view.strides, view.rank)])


class _Operator:
    """A registered operator: the function, and what its schema says."""

    def __init__(self, name, function):
        self.name, _, arguments = name.partition("(")
        self.function = function
        self.count = None if not arguments else len(_split("(" + arguments))
        self.returns = name.rpartition("->")[2].strip() if arguments else None

    def check_function(self):
        """Refuses a function that can't be called with as many arguments as the schema has."""
        if self.count is None:
            return
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):
            return  # written in C, say: the call will tell
        try:
            signature.bind(*[None] * self.count)
        except TypeError as error:
            raise ArgumentTypeError(
                f"the function given for {self.name} can't take the {self.count} arguments of its schema, outputs included: {error}"
            ) from None

    def run(self, call, args, count):
        made = []
        given = count - 1 if self.count is None else self.count
        try:
            values = [_argument(args[i], (call, args), i, made) for i in range(given)]
            if self.count is None:
                returned = _addresses(args[count - 1])
                for tensor in made:
                    tensor._readonly = tensor._place.data not in returned
            self._take_result(call, args, count, made, self.function(*values))
            for tensor in made:
                tensor._end()
        finally:
            for tensor in made:
                tensor._forget_call()

    def _take_result(self, call, args, count, made, result):
        slot = args[count - 1].kind if count else lib.ET_KIND_NONE
        if slot in (lib.ET_KIND_TENSOR, lib.ET_KIND_LIST) or self.returns == "()":
            outputs = result if isinstance(result, (tuple, list)) else [result]
            if result is not None and not all(any(x is tensor for tensor in made) for x in outputs):
                raise ArgumentTypeError(
                    f"the function given for {self.name} returned {type(result).__name__}; it writes its outputs in place, such as "
                    "np.asarray(out)[...] = values, and returns None or them"
                )
        elif result is not None:
            _set(call, count - 1, result)
        elif self.returns in ("int", "SymInt", "float", "bool", "Scalar"):
            raise ArgumentTypeError(f"the function given for {self.name} returned None, its schema says {self.returns}")


def _addresses(value):
    """Where the tensors of a return slot are."""
    if value.kind == lib.ET_KIND_TENSOR:
        return [value.u.as_tensor.data]
    items = value.u.as_list
    return [items.items[i].u.as_tensor.data for i in range(items.count)] if value.kind == lib.ET_KIND_LIST else []


_registered = {}  # by the number that C gets as user_data


def _split(schema):
    """The arguments of a schema, without the `*`."""
    depth, pieces = 0, [""]
    for c in schema:
        depth += (c in "([") - (c in ")]")
        if not depth:
            break
        if c == "," and depth == 1:
            pieces.append("")
        elif not (c == "(" and depth == 1):
            pieces[-1] += c
    return [piece for piece in pieces if piece.strip() not in ("", "*")]


def _argument(value, call, index, made):
    if value.kind == lib.ET_KIND_TENSOR:
        tensor = object.__new__(OperatorTensor)
        tensor._call, tensor._index, tensor._value = call, index, None
        tensor._readonly = bool(value.flags & lib.ET_VALUE_READ_ONLY)
        _describe(tensor, value.u.as_tensor)
        made.append(tensor)
        return tensor
    if value.kind == lib.ET_KIND_LIST:
        items = value.u.as_list
        return [_argument(items.items[i], call, None, made) for i in range(items.count)]
    return _method.plain_value(value)


@ffi.callback("et_operator_fn")
def _run(call, args, count, user_data):
    try:
        _registered[int(ffi.cast("uintptr_t", user_data))].run(call, args, count)
    except BaseException as error:
        _method.set_pending(error)
        return lib.et_call_fail(call, lib.ET_INTERNAL, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
    return lib.ET_OK


def _set(call, index, result):
    value = ffi.new("et_value *")
    if isinstance(result, bool):
        value.kind, value.u.as_bool = lib.ET_KIND_BOOL, result
    elif isinstance(result, int):
        value.kind, value.u.as_int = lib.ET_KIND_INT, result
    elif isinstance(result, float):
        value.kind, value.u.as_double = lib.ET_KIND_DOUBLE, result
    else:
        raise ArgumentTypeError(f"an operator's result is a number or None, not {type(result).__name__}; write tensors to `out`")
    check(lib.et_call_set(call, index, value))


def register_operator(name, function):
    """Makes `function` the implementation of an operator, for programs loaded from now on, for good.

    name      a schema "my::op.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", or only "my::op.out"
    function  gets the operator's arguments in order, outputs included: tensors as etrt.Tensor, numbers, lists, None. It
              writes its outputs in place, such as np.asarray(out)[...] = np.asarray(x) + 1, and returns None or them.
              out.resize(shape) gives an output another shape, before its array is asked for: outputs of dynamic size need
              it. Arrays over arguments are copies: they may be kept. Those that the schema doesn't mark with (a!) are
              read-only; without a schema, those that the program doesn't take as the result. An exception it raises becomes the error
              of the run, with the exception as its __cause__.
    """
    if not callable(function):
        raise ArgumentTypeError(f"an operator is a callable, not {type(function).__name__}")
    spelled = encoded(name, "an operator's name")
    operator = _Operator(name, function)
    number = len(_registered) + 1
    _registered[number] = operator
    try:
        operator.check_function()
        check(lib.et_register_operator(spelled, _run, ffi.cast("void *", number)), ArgumentError)
    except BaseException:
        del _registered[number]
        raise
