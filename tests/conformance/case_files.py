"""The case format of a conformance corpus: cases/NAME.pte, cases/NAME.safetensors and index.json.

The keys are those that the corpora's own README explains. Needs torch, and nothing else.
"""

import dataclasses
import json
import math
import pathlib
import struct

import torch

# torch dtype -> (tag in the file, short name used in case names)
DTYPES = {
    torch.float64: ("F64", "f64"), torch.float32: ("F32", "f32"), torch.float16: ("F16", "f16"), torch.bfloat16: ("BF16", "bf16"),
    torch.int64: ("I64", "i64"), torch.int32: ("I32", "i32"), torch.int16: ("I16", "i16"), torch.int8: ("I8", "i8"),
    torch.uint64: ("U64", "u64"), torch.uint32: ("U32", "u32"), torch.uint16: ("U16", "u16"), torch.uint8: ("U8", "u8"),
    torch.bool: ("BOOL", "bool"), torch.complex64: ("C64", "c64"),
    torch.float8_e4m3fn: ("F8_E4M3", "f8e4m3"), torch.float8_e5m2: ("F8_E5M2", "f8e5m2"),
}

# (rtol, atol) by the least exact dtype that occurs; integers compare exactly.
TOLERANCES = {
    torch.bfloat16: (2e-2, 2e-2), torch.float16: (5e-3, 2e-3), torch.float32: (1e-4, 1e-5), torch.complex64: (1e-4, 1e-5), torch.float64: (1e-7, 1e-7),
}


class Unwritable(Exception):
    """The format has no place for this value."""


def dtype_name(dtype):
    return str(dtype).replace("torch.", "")


def dim_order_of(tensor):
    """Dimensions from the slowest to the fastest, as the exporter names them; None for row-major."""
    order = list(tensor.dim_order())
    return order if order != sorted(order) else None


def dense(tensor):
    """The same values in memory without gaps; keeps a permuted layout."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_sparse or tensor.dtype not in DTYPES:
        raise Unwritable(f"a tensor of dtype {tensor.dtype}, layout {tensor.layout}")
    return tensor.clone()


def raw_bytes(tensor):
    flat = tensor.reshape(-1).clone(memory_format=torch.contiguous_format)
    return bytes(flat.view(torch.uint8).numpy()) if tensor.numel() else b""


def write_safetensors(path, tensors, metadata):
    head, body, at = {"__metadata__": metadata}, [], 0
    for key, tensor in tensors.items():
        data = raw_bytes(tensor)
        head[key] = {"dtype": DTYPES[tensor.dtype][0], "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        body.append(data)
        at += len(data)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(body))


@dataclasses.dataclass
class Case:
    name: str
    group: str
    program: bytes
    ops: list
    inputs: list  # tensors, numbers, strings, None; a tensor's layout is its strides
    outputs: list
    output_orders: dict = dataclasses.field(default_factory=dict)  # output number -> dim_order, where not row-major
    shape_only: set = dataclasses.field(default_factory=set)  # numbers of the outputs whose contents are random or undefined
    after: dict = dataclasses.field(default_factory=dict)  # input number -> its contents after the call
    tolerance: tuple = None
    int_tolerance: int = 0
    extra: dict = dataclasses.field(default_factory=dict)  # further keys: note, expected_from, …
    pte: str = None  # the name of a program shared by several cases

    def main_dtype(self):
        for value in [*self.inputs, *self.outputs]:
            if isinstance(value, torch.Tensor):
                return DTYPES[value.dtype][1]
        return ""


def tolerance_of(values):
    """The tolerance of the least exact dtype among the tensors, whose results may be as inexact."""
    found = {v.dtype for v in values if isinstance(v, torch.Tensor)}
    return next((t for d, t in TOLERANCES.items() if d in found), (0.0, 0.0))


def describe(value, key, tensors):
    """The JSON of one input or output; a tensor goes to `tensors` under `key`."""
    if value is None:
        return {"kind": "none"}
    if isinstance(value, torch.Tensor):
        value = dense(value)
        tensors[key] = value
        text = {"kind": "tensor", "key": key, "dtype": dtype_name(value.dtype), "shape": list(value.shape)}
        order = dim_order_of(value)
        return dict(text, dim_order=order) if order else text
    if isinstance(value, bool):
        return {"kind": "bool", "value": value}
    if isinstance(value, int):
        return {"kind": "int", "value": value}
    if isinstance(value, float):
        return {"kind": "double", "value": value if math.isfinite(value) else str(value)}
    if isinstance(value, str):
        return {"kind": "string", "value": value}
    raise Unwritable(f"a value of type {type(value).__name__}")


class Corpus:
    """A folder of cases being written."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "cases").mkdir(parents=True, exist_ok=True)
        self.index = {}
        if (self.folder / "index.json").exists():
            self.index = {c["name"]: c for c in json.loads((self.folder / "index.json").read_text())["cases"]}

    def add(self, case):
        tensors = {}
        inputs = [describe(v, f"in.{i}", tensors) for i, v in enumerate(case.inputs)]
        outputs = []
        for i, value in enumerate(case.outputs):
            text = describe(value.contiguous() if isinstance(value, torch.Tensor) else value, f"out.{i}", tensors)
            if i in case.output_orders:
                text["dim_order"] = case.output_orders[i]
            if i in case.shape_only:
                text["compare"] = "shape"
            outputs.append(text)
        rtol, atol = case.tolerance or tolerance_of([*case.inputs, *case.outputs])
        pte = f"{case.pte or case.name}.pte"
        text = {"name": case.name, "pte": pte, "ops": case.ops, "group": case.group, "rtol": rtol, "atol": atol, "method": "forward", "inputs": inputs,
                "outputs": outputs, **case.extra}
        if case.int_tolerance:
            text["int_tol"] = case.int_tolerance
        if case.after:
            text["inputs_after"] = [dict(describe(v, f"after.{i}", tensors), index=i) for i, v in case.after.items()]
        (self.folder / "cases" / pte).write_bytes(case.program)
        write_safetensors(self.folder / "cases" / f"{case.name}.safetensors", tensors, {"case": json.dumps(text)})
        self.index[case.name] = {"name": case.name, "pte": pte, "case": f"{case.name}.safetensors", "ops": case.ops, "group": case.group,
                                 "dtype": case.main_dtype()}

    def save(self):
        lines = ",\n".join(json.dumps(self.index[name]) for name in sorted(self.index))
        (self.folder / "index.json").write_text('{"cases": [\n' + lines + "\n]}\n")
