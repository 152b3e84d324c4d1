"""Hypothesis over operators, shapes, dtypes and layouts: etrt against eager. Runs where PyTorch and ExecuTorch are installed."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("executorch.exir")
pytest.importorskip("hypothesis")

import torch  # noqa: E402
from hypothesis import HealthCheck, given, settings, strategies as st  # noqa: E402

import run_case  # noqa: E402
from case_files import Case, Corpus  # noqa: E402
from drawn import overload_of  # noqa: E402
from hand_programs import CallProgram, Layout, laid_out  # noqa: E402
from operators import evaluated, full_name, loose_tolerance, named_arguments, out_variant  # noqa: E402

DTYPES = [torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
UNARY = "abs neg sign sqrt exp tanh sigmoid relu floor logical_not isnan clone square".split()
BINARY = "add.Tensor sub.Tensor mul.Tensor div.Tensor maximum minimum eq.Tensor lt.Tensor logical_and fmod.Tensor remainder.Tensor".split()
REDUCING = "sum.dim_IntList mean.dim amax amin any.dims all.dims".split()

numbers = {"float": st.sampled_from([0.0, -0.0, 1.0, -1.5, 2.25, 0.1, 30.0, float("inf"), float("-inf"), float("nan")]),
           "int": st.integers(-9, 9), "unsigned": st.integers(0, 9), "bool": st.booleans()}
shapes = st.lists(st.sampled_from([0, 1, 1, 2, 3, 5]), max_size=4)


def kind_of(dtype):
    return "float" if dtype.is_floating_point else "bool" if dtype == torch.bool else "unsigned" if dtype == torch.uint8 else "int"


@st.composite
def tensors(draw, shape, dtypes=tuple(DTYPES)):
    """A tensor of that shape: any dtype and any order of its dimensions in memory."""
    dtype = draw(st.sampled_from(dtypes))
    count = torch.Size(shape).numel()
    values = draw(st.lists(numbers[kind_of(dtype)], min_size=count, max_size=count))
    return laid_out(torch.tensor(values, dtype=dtype).reshape(shape), draw(st.permutations(range(len(shape)))))


@st.composite
def broadcastable(draw, shape):
    """A shape that broadcasts to `shape`."""
    sizes = [draw(st.sampled_from([1, size])) for size in shape]
    return sizes[draw(st.integers(0, len(sizes))):]


def difference(folder, name, arguments, order):
    """What etrt gives otherwise than eager, its output laid out in `order`; None also where eager refuses the call."""
    overload = overload_of(name)
    out = out_variant(overload)
    named = named_arguments(overload._schema, arguments, {})
    try:
        results = evaluated(overload, named)
    except (RuntimeError, IndexError):
        return None
    order = list(order)[:results[0].dim()] if sorted(list(order)[:results[0].dim()]) == list(range(results[0].dim())) else None
    made = CallProgram(out._schema, named, results, {}, {0: Layout(dim_order=order)})
    orders = {0: order} if order and order != sorted(order) else {}
    tolerance = loose_tolerance(out._schema.name.partition("::")[2], made.inputs + made.outputs)
    Corpus(folder).add(Case("drawn", "hypothesis", made.bytes(), [full_name(out)], made.inputs, made.outputs, orders, tolerance=tolerance))
    return run_case.Case(folder, "drawn").run()


quickly = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("drawn")


@quickly
@given(st.data())
def test_one_tensor(folder, data):
    shape = data.draw(shapes)
    name, tensor = data.draw(st.sampled_from(UNARY)), data.draw(tensors(shape))
    assert difference(folder, name, [tensor], data.draw(st.permutations(range(len(shape))))) is None


@quickly
@given(st.data())
def test_two_tensors(folder, data):
    shape = data.draw(shapes)
    first, second = shape, data.draw(broadcastable(shape))
    if data.draw(st.booleans()):
        first, second = second, first
    name, arguments = data.draw(st.sampled_from(BINARY)), [data.draw(tensors(first)), data.draw(tensors(second))]
    assert difference(folder, name, arguments, data.draw(st.permutations(range(len(shape))))) is None


@quickly
@given(st.data())
def test_reductions(folder, data):
    shape = data.draw(shapes)
    dims = data.draw(st.lists(st.integers(0, max(len(shape) - 1, 0)), max_size=len(shape), unique=True)) if shape else []
    keepdim = data.draw(st.booleans())
    rank = len(shape) if keepdim else len(shape) - len(dims or shape)
    name, tensor = data.draw(st.sampled_from(REDUCING)), data.draw(tensors(shape))
    assert difference(folder, name, [tensor, dims, keepdim], data.draw(st.permutations(range(rank)))) is None
