"""Runs one case of a corpus on etrt and says what differs. Needs etrt and NumPy only."""

import json
import pathlib
import struct

import numpy as np

# Dtype tag in the file -> (dtype name, NumPy's dtype of the stored words).
TAGS = {
    "F64": ("float64", "<f8"), "F32": ("float32", "<f4"), "F16": ("float16", "<f2"), "BF16": ("bfloat16", "<u2"),
    "I64": ("int64", "<i8"), "I32": ("int32", "<i4"), "I16": ("int16", "<i2"), "I8": ("int8", "i1"),
    "U64": ("uint64", "<u8"), "U32": ("uint32", "<u4"), "U16": ("uint16", "<u2"), "U8": ("uint8", "u1"),
    "BOOL": ("bool", "?"), "C64": ("complex64", "<c8"), "F8_E4M3": ("float8_e4m3fn", "u1"), "F8_E5M2": ("float8_e5m2", "u1"),
}


def head_and_body(path):
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    return json.loads(data[8:8 + size]), memoryview(data)[8 + size:]


def read_safetensors(path):
    """The tensors of the file as {key: (dtype name, array of words)}, and its metadata."""
    head, body = head_and_body(path)
    metadata, tensors = head.pop("__metadata__", {}), {}
    for key, entry in head.items():
        name, words = TAGS[entry["dtype"]]
        begin, end = entry["data_offsets"]
        tensors[key] = name, np.frombuffer(body[begin:end], words).reshape(entry["shape"]).copy()
    return tensors, metadata


def values_of(name, words):
    """Numbers to compare. Elements of eight bits are exact or wrong, so their words do."""
    return np.left_shift(words.astype(np.uint32), np.uint32(16)).view(np.float32) if name == "bfloat16" else words


class Case:
    """A case of the folder `corpus`: cases/NAME.safetensors and the program it names."""

    def __init__(self, corpus, name):
        self.folder = pathlib.Path(corpus) / "cases"
        self.tensors, metadata = read_safetensors(self.folder / f"{name}.safetensors")
        self.text = json.loads(metadata["case"])
        self.close = {"rtol": self.text.get("rtol", 1e-5), "atol": self.text.get("atol", 1e-6), "equal_nan": True}

    def run(self):
        """None, or what differs. Every call of the case is made on one loaded program."""
        import etrt

        files = [self.folder / f for f in self.text.get("data_files", ())]
        program, methods = etrt.load(self.folder / self.text["pte"], data=files), {}
        for call in self.text.get("calls") or [self.text]:
            name = call.get("method", self.text.get("method", "forward"))
            why = self.run_call(program, methods, name, call)
            if why:
                return f"{name}: {why}"
        return None

    def run_call(self, program, methods, name, call):
        from etrt import Error

        inputs = [self.input(v) for v in call["inputs"]]
        expected = self.text.get("expect")
        try:
            if name not in methods:
                methods[name] = program.load_method(name)
            outputs = methods[name].execute(inputs)
        except Error as e:
            return None if expected else f"{type(e).__name__}: {str(e).splitlines()[0]}"
        if expected:
            return "wasn't refused" if expected == "error" else None
        if len(outputs) != len(call["outputs"]):
            return f"{len(outputs)} outputs, expected {len(call['outputs'])}"
        for i, (got, want) in enumerate(zip(outputs, call["outputs"])):
            why = self.compare(got, want)
            if why:
                return f"output {i}: {why}"
        return self.compare_inputs(methods[name].metadata, call, inputs)

    def input(self, described):
        import etrt

        if described["kind"] != "tensor":
            value = described.get("value")
            return float(value) if described["kind"] == "double" else value
        name, words = self.tensors[described["key"]]
        order = described.get("dim_order")
        if order:
            words = np.ascontiguousarray(words.transpose(order)).transpose(np.argsort(order))
        return etrt.tensor(words, dtype=name)

    def compare_inputs(self, metadata, call, inputs):
        """A planned input that the program writes is a copy; the caller's own shows the write otherwise."""
        for want in self.text.get("inputs_after", ()):
            i = want["index"]
            unchanged = dict(want, key=call["inputs"][i]["key"])
            planned = metadata.input_tensor_meta(i).is_memory_planned()
            why = self.compare(inputs[i], unchanged if planned else want)
            if why:
                return f"input {i} afterwards: {why}"
        return None

    def compare(self, got, want):
        if want["kind"] == "none":
            return None if got is None else f"{got!r}, expected None"
        if want["kind"] != "tensor":
            return self.compare_number(got, want)
        if not hasattr(got, "shape"):
            return f"{got!r}, expected a tensor"
        name, words = self.tensors[want["key"]]
        if (str(got.dtype), tuple(got.shape)) != (name, words.shape):
            return f"{got.dtype} {tuple(got.shape)}, expected {name} {words.shape}"
        if want.get("compare") == "shape":
            return None
        return self.compare_values(values_of(name, np.asarray(got)), values_of(name, words), want)

    def compare_number(self, got, want):
        value = float(want["value"]) if want["kind"] == "double" else want["value"]
        same = type(got) is type(value) and (np.isclose(got, value, **self.close) if want["kind"] == "double" else got == value)
        return None if same else f"{got!r}, expected {value!r}"

    def compare_values(self, got, want, described):
        tolerance = described.get("int_tol", self.text.get("int_tol", 0))
        with np.errstate(invalid="ignore"):
            if got.dtype.kind in "fc":
                wrong = ~np.isclose(got, want, **self.close)
            elif tolerance:
                wrong = np.maximum(got, want) - np.minimum(got, want) > tolerance
            else:
                wrong = got != want
        if not wrong.any():
            return None
        at = tuple(map(int, np.argwhere(wrong)[0]))
        return f"{wrong.sum()} of {wrong.size} values differ, first at {at}: {got[at]!r}, expected {want[at]!r}"


def names(corpus):
    """Names of the cases, in order."""
    return [c["name"] for c in index(corpus)]


def index(corpus):
    return json.loads((pathlib.Path(corpus) / "index.json").read_text(encoding="utf-8"))["cases"]
