"""Method: a loaded method, its inputs and its runs."""

import sys
from _thread import allocate_lock

from etrt import _dtypes, _tensor
from etrt._errors import ArgumentError, ArgumentTypeError, Error, INVALID_STATE, UnknownNameError, check, encoded, last_error
from etrt._inputs import UNSET, Place, as_list, bind, is_torch
from etrt._library import NULL, ffi, lib
from etrt._owned import free_method, free_value
from etrt._tensor import VALUE, Tensor, is_row_major, product, view_of

# Bound once: a run makes five of these calls and little else.
_set_inputs = lib.et_method_set_inputs
_execute = lib.et_method_execute
_get_outputs = lib.et_method_get_outputs
_clone = lib.et_value_clone
_hold = lib.et_value_hold
_new, _gc, _unpack = ffi.new, ffi.gc, ffi.unpack
_new_object = object.__new__
_TENSOR = lib.ET_KIND_TENSOR
_NOTHING = object()

# When tensors come out as torch tensors.
NEVER, WHEN_GIVEN, WHEN_IMPORTED = range(3)


def _flag(clone_outputs):
    """A number or NumPy bool as a bool. f(x, y) would drop y in silence, were every object taken for a flag."""
    if isinstance(clone_outputs, int) or type(clone_outputs).__name__ in ("bool_", "bool"):
        return bool(clone_outputs)
    raise ArgumentTypeError(
        f"clone_outputs is a bool, not {type(clone_outputs).__name__}; several inputs are passed as one list, f([x, y])")


class Runner:
    """A method of the C library with the inputs it was given. The public method classes are thin covers of it."""

    __slots__ = ("handle", "program", "name", "torch", "_acquire", "_release", "_places", "_bounds", "_values", "_outputs",
                 "_output", "_gave_torch", "_unsure")

    def __init__(self, program, name, options=NULL, torch=WHEN_GIVEN):
        made = _new("et_method **")
        status = lib.et_method_load(program.handle, encoded(name, "a method's name"), options, made)
        if status:
            raise last_error(status, UnknownNameError if name not in program.method_names else Error)
        self.handle = _gc(made[0], free_method)
        self.program, self.name, self.torch = program, name, torch
        lock = allocate_lock()
        self._acquire, self._release = lock.acquire, lock.release
        self._places = [Place(i, name, self._info(lib.et_method_input_info, i))
                        for i in range(lib.et_method_input_count(self.handle))]
        self._bounds = [UNSET] * len(self._places)
        self._values = _new("et_value[]", max(len(self._places), 1))
        count = lib.et_method_output_count(self.handle)
        self._outputs = _new("et_value[]", max(count, 1))
        self._output = [self._outputs + i for i in range(count)]
        self._gave_torch = False
        self._unsure = False  # an interrupt came between telling the C library of new inputs and noting them here

    def _info(self, ask, index):
        info = _new("et_tensor_info *")
        check(ask(self.handle, index, info))
        return info

    def busy(self):
        return Error(f"method {self.name} is in use: another call is running it, on another thread or around this one; give each "
                     "thread a method of its own (program.load_method)", INVALID_STATE, self.name)

    # ---- What callers do -----------------------------------------------------------------------------------

    def run(self, inputs, clone_outputs=True, partial=False):
        """Gives inputs, runs, and returns the outputs."""
        if clone_outputs is not True and clone_outputs is not False:
            clone_outputs = _flag(clone_outputs)
        if not self._acquire(False):
            raise self.busy()
        try:
            # The road of most calls: inputs of the same types, shapes and dtypes as last time. Everything else,
            # and every doubt, goes to _give.
            if self._unsure:
                self._settle()
            bounds = self._bounds
            if type(inputs) in _SEQUENCES and len(inputs) == len(bounds):
                pointers, moved = [], False
                self._unsure = True
                try:
                    for x, bound in zip(inputs, bounds):
                        if type(x) is bound.type and x.shape == bound.shape and x.dtype is bound.dtype:
                            pointer = bound.grab(x)
                            if pointer != bound.pointer:
                                if pointer is None:
                                    break
                                bound.view.data = pointer
                                moved = True
                            pointers.append(pointer)
                        elif bound.type is None and x is bound.object and type(x) in _PLAIN:
                            pointers.append(None)
                        else:
                            break
                except Exception:
                    pass
                if len(pointers) == len(bounds):
                    if moved:
                        status = _set_inputs(self.handle, self._values, len(bounds))
                        if status:
                            error = self._refused(status)
                            self._refill()
                            self._unsure = False
                            raise error
                    for x, bound, pointer in zip(inputs, bounds, pointers):
                        if pointer is not None:
                            bound.object = x
                            bound.pointer = pointer
                    self._unsure = False
                else:
                    self._refill()
                    self._unsure = False
                    self._give(as_list(inputs), partial)
            else:
                self._give(as_list(inputs), partial)
            status = _execute(self.handle)
            if status:
                raise self._failed(status)
            return self._take(clone_outputs)
        finally:
            self._release()

    def set_inputs(self, inputs):
        if not self._acquire(False):
            raise self.busy()
        try:
            self._give(as_list(inputs), False)
        finally:
            self._release()

    def execute(self):
        """Runs with the inputs given before."""
        if not self._acquire(False):
            raise self.busy()
        try:
            if self._unsure:
                self._settle()
            self._still_there(self._bounds, "")
            status = _execute(self.handle)
            if status:
                raise self._failed(status)
        finally:
            self._release()

    def rerun(self, clone_outputs=True):
        if clone_outputs is not True and clone_outputs is not False:
            clone_outputs = _flag(clone_outputs)
        if not self._acquire(False):
            raise self.busy()
        try:
            if self._unsure:
                self._settle()
            self._still_there(self._bounds, "")
            status = _execute(self.handle)
            if status:
                raise self._failed(status)
            return self._take(clone_outputs)
        finally:
            self._release()

    def get_outputs(self, clone_outputs=True):
        if clone_outputs is not True and clone_outputs is not False:
            clone_outputs = _flag(clone_outputs)
        if not self._acquire(False):
            raise self.busy()
        try:
            return self._take(clone_outputs)
        finally:
            self._release()

    def attribute(self, name):
        """A Tensor over the attribute's memory."""
        value = _new(VALUE)
        status = lib.et_method_attribute_get(self.handle, encoded(name, "an attribute's name"), value)
        if status:
            raise last_error(status, UnknownNameError)
        tensor = view_of(value.u.as_tensor, self)
        return self._as_torch_view(tensor) if self._wants_torch() else tensor

    # ---- Inputs --------------------------------------------------------------------------------------------

    def _give(self, inputs, partial):
        """Binds inputs one by one; keeps all the old ones when anything is refused."""
        places, given = self._places, len(inputs)
        if given != len(places) and not (partial and given < len(places)):
            raise ArgumentError(
                f"Invalid number of inputs provided. Expected {len(places)}, but got {given}: method {self.name} takes "
                f"{len(places)} inputs", method=self.name)
        kept = self._bounds[given:]
        if kept:
            for place, bound in zip(places[given:], kept):
                if bound is UNSET:
                    raise place.refuse("has not been set: the call gave "
                                       f"{given} of {len(places)} inputs, and no earlier call gave this one")
            self._still_there(kept, ", kept from an earlier call,", given)
        bounds = [bind(x, place) for x, place in zip(inputs, places)] + kept
        self._unsure = True
        try:
            for i, bound in enumerate(bounds):
                bound.fill(self._values[i])
            status = _set_inputs(self.handle, self._values, len(bounds))
            if status:
                raise self._refused(status)
        except Exception:
            self._refill()
            self._unsure = False
            raise
        self._bounds = bounds
        self._unsure = False
        self._gave_torch = any(is_torch(x) for x in inputs) or (bool(kept) and self._gave_torch)

    def _refill(self):
        """Makes the array of values say again what is bound."""
        for i, bound in enumerate(self._bounds):
            bound.fill(self._values[i])

    def _settle(self):
        """Binds again what is noted here: another call was interrupted on the way."""
        self._refill()
        if UNSET not in self._bounds:
            check(_set_inputs(self.handle, self._values, len(self._bounds)))
        elif self._bounds:
            self._bounds = [UNSET] * len(self._bounds)
            raise Error(f"setting the inputs of method {self.name} was interrupted; set them again", INVALID_STATE, self.name)
        self._unsure = False

    def _still_there(self, bounds, kept, first=0):
        for index, bound in enumerate(bounds, first):
            why = bound.changed()
            if why:
                raise ArgumentError(f"input {index}{kept} of method {self.name} changed since it was given: {why}; pass it again",
                                    method=self.name, argument=index)

    def _refused(self, status):
        return last_error(status, Error if status == lib.ET_INVALID_STATE else ArgumentError)

    def _failed(self, status):
        error = last_error(status)
        pending = take_pending()
        if pending is not None:
            if not isinstance(pending, Exception):
                raise pending  # KeyboardInterrupt in an operator written in Python
            error.__cause__ = pending
        return error

    # ---- Outputs -------------------------------------------------------------------------------------------

    def _take(self, clone_outputs):
        status = _get_outputs(self.handle, self._outputs, len(self._output))
        if status:
            raise last_error(status)
        torch = self.torch and self._wants_torch()
        taken = []
        for output in self._output:
            if output.kind != _TENSOR:
                taken.append(self._plain(output, clone_outputs, torch))
            elif clone_outputs and not torch:
                value = _new(VALUE)
                status = _clone(output, value)
                if status:
                    raise last_error(status)
                tensor = _new_object(Tensor)
                tensor._value = _gc(value, free_value)
                taken.append(tensor)
            else:
                taken.append(self._tensor(output, clone_outputs, torch))
        return taken

    def _wants_torch(self):
        torch = sys.modules.get("torch") if self.torch == WHEN_IMPORTED or (self.torch and self._gave_torch) else None
        return torch if torch is not None and hasattr(torch, "from_dlpack") else None

    def _plain(self, output, clone_outputs, torch):
        kind = output.kind
        if kind == lib.ET_KIND_LIST:
            items = output.u.as_list
            return [self._plain(items.items + i, True, torch) for i in range(items.count)]
        if kind == _TENSOR:
            return self._tensor(output, clone_outputs, torch)
        return plain_value(output)

    def _tensor(self, output, clone_outputs, torch):
        if torch and clone_outputs:
            copy = torch_copy(output, torch)
            if copy is not None:
                return copy
        value = _new(VALUE)
        if clone_outputs:
            status = _clone(output, value)
        else:
            value[0] = output[0]
            status = _hold(self.handle, value)
        if status:
            raise last_error(status)
        tensor = _tensor.adopt(value)
        return as_torch(tensor, torch) if torch else tensor

    def _as_torch_view(self, tensor):
        return as_torch(tensor, sys.modules["torch"])


_SEQUENCES = (list, tuple)
_PLAIN = (int, float, bool, str, type(None))


def plain_value(value):
    """A number, bool, str or None."""
    kind = value.kind
    if kind == lib.ET_KIND_NONE:
        return None
    if kind == lib.ET_KIND_INT:
        return value.u.as_int
    if kind == lib.ET_KIND_DOUBLE:
        return value.u.as_double
    if kind == lib.ET_KIND_BOOL:
        return bool(value.u.as_bool)
    if kind == lib.ET_KIND_STRING:
        string = value.u.as_string
        return bytes(ffi.buffer(string.data, string.size)).decode("utf-8", "replace") if string.size else ""
    raise Error(f"the library gave a value of unknown kind {kind}")


def torch_copy(output, torch):
    """A torch tensor with a copy of an output, of the same layout; None where that needs another way."""
    view = output.u.as_tensor
    dtype = _dtypes.BY_CODE[view.dtype]
    torch_dtype = None if dtype in _NOT_PLAIN_IN_TORCH else getattr(torch, dtype, None)
    if torch_dtype is None or view.device_type != lib.ET_DEVICE_CPU:
        return None
    rank = view.rank
    shape = _unpack(view.sizes, rank) if rank else []
    strides = None if view.strides == NULL or not rank else _unpack(view.strides, rank)
    if strides is None or is_row_major(shape, strides, 1):
        made = torch.empty(shape, dtype=torch_dtype)
    elif _dense(shape, strides):
        made = torch.empty_strided(shape, strides, dtype=torch_dtype)
    else:
        return None
    nbytes = product(shape) * dtype.itemsize
    if nbytes:
        ffi.memmove(ffi.cast("char *", made.data_ptr()), view.data, nbytes)
    return made


_NOT_PLAIN_IN_TORCH = frozenset(("qint8", "quint8", "qint32", "quint4x2", "quint2x4"))  # torch wants a scale with these


def _dense(shape, strides):
    """Whether the elements fill their memory exactly, in some order of the dimensions."""
    order = sorted(range(len(shape)), key=lambda d: strides[d], reverse=True)
    return is_row_major([shape[d] for d in order], [strides[d] for d in order], 1)


def as_torch(tensor, torch):
    """A torch tensor over the same memory; the Tensor itself for dtypes that torch can't show."""
    try:
        return torch.from_dlpack(tensor)
    except (RuntimeError, BufferError, TypeError, ValueError):
        pass
    torch_dtype = None if tensor.dtype in _NOT_PLAIN_IN_TORCH else getattr(torch, tensor.dtype, None)
    if torch_dtype is None:
        return tensor
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.itemsize]
    value = tensor._live()
    like = _tensor.over(value.u.as_tensor.data, _dtypes.find(words), tensor.shape,
                        [s // tensor.itemsize for s in tensor.strides], tensor)
    return torch.from_dlpack(like).view(torch_dtype)


# ---- An exception of a Python operator, on its way through the C library -----------------------------------

_pending = {}  # by thread


def set_pending(error):
    from _thread import get_ident

    _pending[get_ident()] = error


def take_pending():
    if not _pending:
        return None
    from _thread import get_ident

    return _pending.pop(get_ident(), None)


# ---- etrt.Method -------------------------------------------------------------------------------------------


class Method:
    """A method ready to run, with memory of its own. One thread at a time uses it."""

    __slots__ = ("_runner", "__weakref__")

    def __init__(self, *args, **kwargs):
        raise TypeError("Method: no constructor; program.load_method(name) makes one")

    @property
    def name(self):
        return self._runner.name

    @property
    def metadata(self):
        """MethodMeta of the method."""
        from etrt._meta import method_meta

        return method_meta(self._runner.program, self._runner.name)

    def __call__(self, inputs=_NOTHING, clone_outputs=True):
        """The same as execute."""
        if inputs is _NOTHING:
            return self._runner.rerun(clone_outputs)
        return self._runner.run(inputs, clone_outputs)

    def execute(self, inputs=_NOTHING, clone_outputs=True):
        """Runs the method and returns its outputs as a list.

        inputs         a sequence of arrays, buffers, tensors, numbers, …, or one alone; without it the inputs given
                       before are read again from where they are
        clone_outputs  False: outputs are views of the method's memory. They keep their numbers: the method takes
                       other memory for its next run while they are held.
        """
        if inputs is _NOTHING:
            return self._runner.rerun(clone_outputs)
        return self._runner.run(inputs, clone_outputs)

    def set_inputs(self, inputs):
        """Gives all inputs. Each run reads them from where they are; they are kept alive until replaced."""
        self._runner.set_inputs(inputs)

    def get_outputs(self, clone_outputs=True):
        """The outputs of the last run."""
        return self._runner.get_outputs(clone_outputs)

    def get_attribute(self, name):
        """A tensor over the memory of a named buffer."""
        return self._runner.attribute(name)

    @property
    def state(self):
        """The State that the method uses."""
        from etrt._state import state_of

        return state_of(self._runner)

    def cancel(self):
        """From another thread: makes the run in progress stop before its next step."""
        lib.et_method_cancel(self._runner.handle)

    def __repr__(self):
        return f"<etrt.Method {self.name}>"


def method(runner, kind=Method):
    made = _new_object(kind)
    made._runner = runner
    return made
