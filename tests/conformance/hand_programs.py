"""Programs written value by value, without the exporter: every operator can be called by its name.

A program takes the tensors of the call as its inputs, in order, and returns what the operator writes.
"""

import dataclasses
import functools
import random

import torch
from executorch.exir import schema
from executorch.exir._serialize import _PTEFile, _serialize_pte_binary
from executorch.exir.scalar_type import ScalarType
from executorch.exir.tensor import layout_enum, memory_format_enum, scalar_type_enum

from case_files import Unwritable, dense

ALIGNMENT = 16


def scalar_type(dtype):
    """The file format's number of a dtype; the exporter's own table lacks uint64."""
    return ScalarType.UINT64 if dtype == torch.uint64 else scalar_type_enum(dtype)


@dataclasses.dataclass
class Layout:
    """How a program declares one tensor."""

    bounds: list = None  # upper bounds of its sizes, where they may change from run to run
    planned: bool = True  # lies in the program's own memory
    dim_order: list = None  # row-major if not given


class Builder:
    """Collects the values and instructions of a program with the one method `forward`."""

    def __init__(self):
        self.values, self.operators, self.instructions = [], [], []
        self.inputs, self.outputs = [], []
        self.used_bytes = 0

    def value(self, payload):
        self.values.append(schema.EValue(payload))
        return len(self.values) - 1

    def tensor(self, like, layout=None):
        """A tensor of the dtype and sizes of `like`."""
        layout = layout or Layout()
        sizes = list(layout.bounds if layout.bounds is not None else like.shape)
        allocation = None
        if layout.planned:
            count = functools.reduce(lambda a, b: a * b, sizes, 1)
            allocation = schema.AllocationDetails(memory_id=1, memory_offset_low=self.used_bytes, memory_offset_high=0)
            self.used_bytes += -(-max(count * like.element_size(), 1) // ALIGNMENT) * ALIGNMENT
        dynamic = schema.TensorShapeDynamism.STATIC if layout.bounds is None else schema.TensorShapeDynamism.DYNAMIC_BOUND
        return self.value(
            schema.Tensor(scalar_type=scalar_type(like.dtype), storage_offset=0, sizes=sizes,
                          dim_order=list(layout.dim_order or range(len(sizes))), requires_grad=False, layout=0, data_buffer_idx=0,
                          allocation_info=allocation, shape_dynamism=dynamic))

    def constant(self, value):
        """A number, string, dtype or None; a list of integers, floats or bools."""
        if value is None:
            return self.value(schema.Null())
        if isinstance(value, bool):
            return self.value(schema.Bool(value))
        if isinstance(value, int):
            return self.value(schema.Int(value))
        if isinstance(value, float):
            return self.value(schema.Double(value))
        if isinstance(value, str):
            return self.value(schema.String(value))
        if isinstance(value, torch.dtype):
            return self.value(schema.Int(scalar_type(value)))
        if isinstance(value, torch.layout):
            return self.value(schema.Int(layout_enum(value)))
        if isinstance(value, torch.memory_format):
            return self.value(schema.Int(memory_format_enum(value)))
        if isinstance(value, torch.device):
            return self.value(schema.Null())
        raise Unwritable(f"a constant of type {type(value).__name__}")

    def ints(self, values):
        return self.value(schema.IntList([self.constant(int(v)) for v in values]))

    def call(self, name, arguments):
        """Adds one call of the operator, e.g. "aten::add.out", on values by their numbers."""
        base, _, overload = name.partition(".")
        operator = schema.Operator(base, overload)
        if operator not in self.operators:
            self.operators.append(operator)
        self.instructions.append(schema.Instruction(schema.KernelCall(op_index=self.operators.index(operator), args=list(arguments))))

    def program(self):
        """The bytes of the .pte file."""
        chain = schema.Chain(inputs=[], outputs=[], instructions=self.instructions, stacktrace=None)
        plan = schema.ExecutionPlan(name="forward", container_meta_type=schema.ContainerMetadata("", ""), values=self.values, inputs=self.inputs,
                                    outputs=self.outputs, chains=[chain], operators=self.operators, delegates=[],
                                    non_const_buffer_sizes=[0, self.used_bytes])
        program = schema.Program(version=0, execution_plan=[plan], constant_buffer=[schema.Buffer(b"")], backend_delegate_data=[], segments=[],
                                 constant_segment=schema.SubsegmentOffsets(segment_index=0, offsets=[]))
        return bytes(_serialize_pte_binary(_PTEFile(program)))


def element_type(type_text):
    """"Tensor" of "Optional[List[Tensor]]", and whether it is a list."""
    if type_text.startswith("Optional["):
        return element_type(type_text[len("Optional["):-1])
    if type_text.startswith("List["):
        return element_type(type_text[len("List["):-1])[0], True
    return type_text, False


class CallProgram:
    """A program of one call: `operator_schema` is the out variant's, `arguments` its values by name, `results` the outputs in its order."""

    def __init__(self, operator_schema, arguments, results, input_layouts=None, output_layouts=None):
        self.builder = Builder()
        self.inputs, self.outputs = [], []  # the tensors
        self.input_ids, self.output_ids = [], []  # their numbers among the values
        self.input_of = {}  # argument name -> number of the input, of tensor arguments
        self.input_layouts, self.output_layouts = input_layouts or {}, output_layouts or {}
        ids, results = [], list(results)
        for argument in operator_schema.arguments:
            if argument.is_out:
                ids.append(self.output(results.pop(0)))
            else:
                ids.append(self.argument(argument, arguments.get(argument.name)))
        out_ids = [i for i, a in zip(ids, operator_schema.arguments) if a.is_out]
        self.add_return_slot(operator_schema, ids, out_ids)
        overload = operator_schema.overload_name
        self.name = operator_schema.name + (f".{overload}" if overload else "")
        self.builder.call(self.name, ids)
        self.builder.inputs, self.builder.outputs = self.input_ids, self.output_ids

    def add_return_slot(self, operator_schema, ids, out_ids):
        values = self.builder.values
        if len(out_ids) == 1 and isinstance(values[out_ids[0]].val, schema.TensorList):
            ids.append(self.builder.value(schema.TensorList(list(values[out_ids[0]].val.items))))
        elif len(out_ids) == 1:
            ids.append(out_ids[0])
        elif out_ids and len(operator_schema.returns):
            ids.append(self.builder.value(schema.TensorList(out_ids)))

    def input(self, tensor):
        tensor = dense(tensor)
        layout = self.input_layouts.get(len(self.inputs), Layout())
        order = list(tensor.dim_order())
        made = self.builder.tensor(tensor, dataclasses.replace(layout, dim_order=order))
        self.inputs.append(tensor)
        self.input_ids.append(made)
        return made

    def output(self, result):
        if isinstance(result, (list, tuple)):
            return self.builder.value(schema.TensorList([self.output(r) for r in result]))
        result = dense(result)
        made = self.builder.tensor(result, self.output_layouts.get(len(self.outputs)))
        self.outputs.append(result)
        self.output_ids.append(made)
        return made

    def argument(self, argument, value):
        kind, is_list = element_type(str(argument.type))
        if value is None:
            return self.builder.constant(None)
        if kind == "Tensor" and is_list:
            if any(v is None for v in value):
                return self.builder.value(schema.OptionalTensorList([-1 if v is None else self.input(v) for v in value]))
            ids = [self.input(v) for v in value]
            optional = "Optional[Tensor]" in str(argument.type)
            return self.builder.value((schema.OptionalTensorList if optional else schema.TensorList)(ids))
        if kind == "Tensor":
            self.input_of[argument.name] = len(self.inputs)
            return self.input(value if isinstance(value, torch.Tensor) else torch.tensor(value))
        if is_list:
            values = value if isinstance(value, (list, tuple)) else [value]
            if kind == "int" or kind == "SymInt":
                return self.builder.ints(values)
            if kind == "float":
                return self.builder.value(schema.DoubleList([float(v) for v in values]))
            if kind == "bool":
                return self.builder.value(schema.BoolList([bool(v) for v in values]))
            raise Unwritable(f"a list of {kind}")
        if kind == "float" and isinstance(value, int):
            value = float(value)
        return self.builder.constant(value)

    def bytes(self):
        return self.builder.program()


def random_order(rank, rng):
    """A dim_order of a tensor of that rank: mostly row-major or channels last."""
    if rank in (4, 5) and rng.random() < 0.6:
        return [0, *range(2, rank), 1]
    order = list(range(rank))
    rng.shuffle(order)
    return order


def laid_out(tensor, order):
    """The same values with the dimensions in memory in that order."""
    inverse = [order.index(i) for i in range(len(order))]
    return tensor.permute(order).contiguous().permute(inverse)


def seeded(*parts):
    """A random generator that depends on the parts only."""
    return random.Random(":".join(map(str, parts)))
