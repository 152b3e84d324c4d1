"""Operators written in Python."""

import sys

from etrt import _dtypes, _method, _tensor
from etrt._errors import ArgumentError, ArgumentTypeError, Error, INVALID_STATE, check, encoded
from etrt._library import NULL, ffi, lib
from etrt._tensor import Tensor

_registered = {}  # by the number that C gets as user_data


class OperatorTensor(Tensor):
    """A tensor argument of an operator: a view of the method's memory, valid until the operator returns."""

    __slots__ = ("_call", "_index", "_operator")

    def resize(self, shape):
        """Gives an output another shape, and perhaps other memory."""
        self._live()
        sizes = ffi.new("int64_t[]", list(shape))
        check(lib.et_call_resize(self._call[0], self._index, sizes, len(sizes)))
        view = self._call[1][self._index].u.as_tensor
        fresh = _view(view, self._call, self._index)
        self._value, self._layout, self._owner = fresh._value, fresh._layout, self._owner
        for slot in ("_shape", "_strides", "_dtype"):
            try:
                delattr(self, slot)
            except AttributeError:
                pass

    def _live(self):
        if self._value is None:
            raise Error("a tensor argument of an operator was used after the operator returned; copy what is to be kept",
                        INVALID_STATE)
        return self._value

    @property
    def __array_interface__(self):
        raise AttributeError("__array_interface__")  # NumPy then asks __array__, whose arrays keep the lease

    def __buffer__(self, flags):
        raise BufferError("an operator's argument is no buffer; use np.asarray(argument) or argument.tobytes()")

    def _lease(self):
        return self._owner


class _Lease:
    """Arrays over an argument keep this; whether any is left after the call can be seen by it."""

    __slots__ = ("__weakref__",)


def _view(view, call, index, lease=None):
    sizes = ffi.unpack(view.sizes, view.rank) if view.rank else []
    strides = None if view.strides == NULL or not view.rank else ffi.unpack(view.strides, view.rank)
    tensor = _tensor.over(view.data, _dtypes.BY_CODE[view.dtype], sizes, strides, lease, False, view.device_type,
                          view.device_index, OperatorTensor)
    tensor._call, tensor._index = call, index
    return tensor


def _argument(value, call, index, lease, made):
    if value.kind == lib.ET_KIND_TENSOR:
        tensor = _view(value.u.as_tensor, call, index, lease)
        made.append(tensor)
        return tensor
    if value.kind == lib.ET_KIND_LIST:
        items = value.u.as_list
        return [_argument(items.items + i, call, -1, lease, made) for i in range(items.count)]
    return _method.plain_value(value)


@ffi.callback("et_operator_fn")
def _run(call, args, count, user_data):
    name, function = _registered[int(ffi.cast("uintptr_t", user_data))]
    lease, made = _Lease(), []
    try:
        values = [_argument(args + i, (call, args), i, lease, made) for i in range(count)]
        result = function(*values[:-1])
        if result is not None and args[count - 1].kind not in (lib.ET_KIND_TENSOR, lib.ET_KIND_LIST):
            _set(call, count - 1, result)
        result = values = None
    except BaseException as error:
        _method.set_pending(error)
        return lib.et_call_fail(call, lib.ET_INTERNAL, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
    finally:
        for tensor in made:
            tensor._value = tensor._owner = None
        made = None
    if sys.getrefcount(lease) > 2:
        return lib.et_call_fail(call, lib.ET_INVALID_STATE, b"the operator kept an array over an argument's memory, which is "
                                b"valid during the call only; keep a copy")
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

    name      "my::op.out", or a whole schema "my::op.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
    function  gets the operator's arguments in order, outputs included: tensors as etrt.Tensor over the method's
              memory (valid until it returns), numbers, lists, None. It writes its outputs in place, such as
              np.asarray(out)[...] = np.asarray(x) + 1; out.resize(shape) gives one another shape. An exception it
              raises becomes the error of the run.
    """
    if not callable(function):
        raise ArgumentTypeError(f"an operator is a callable, not {type(function).__name__}")
    number = len(_registered) + 1
    _registered[number] = name, function
    status = lib.et_register_operator(encoded(name, "an operator's name"), _run, ffi.cast("void *", number))
    if status:
        del _registered[number]
        check(status, ArgumentError)
