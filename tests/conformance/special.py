"""Operators that neither PyTorch's samples nor plain eager calls reach: executorch's own, torchao's, and those that write in place."""

import math
import struct

import torch

from case_files import Case, DTYPES
from drawn import FLOATS, Draw
from executorch.exir import schema
from hand_programs import Builder, CallProgram, Layout, laid_out, random_order, seeded
from operators import as_list, call_case, full_name

MAKERS = []


def makes(function):
    """Registers a generator function of cases; it takes a `Maker`."""
    MAKERS.append(function)
    return function


class OutSchema:
    """Stands for the out variant of an operator that PyTorch does not register."""

    def __init__(self, text):
        self._schema = torch._C.parse_schema(text)


class Maker:
    """Names and builds the cases of one generator function."""

    def __init__(self, seed):
        self.seed, self.counts = seed, {}

    def draw(self, *key, dtype=torch.float32):
        return Draw(seeded(self.seed, *key), dtype)

    def name(self, operator, tag=""):
        plain = operator.replace("::", "_").replace(".", "_") + (f"__{tag}" if tag else "")
        self.counts[plain] = self.counts.get(plain, -1) + 1
        return f"x{self.seed}_{plain}__{self.counts[plain]}"

    def call(self, out, results, arguments, **more):
        """The case of a call of `out`; `arguments` are positional, up to the outs."""
        given = [a for a in out._schema.arguments if not a.is_out]
        named = {a.name: (arguments[i] if i < len(arguments) else a.default_value) for i, a in enumerate(given)}
        tensors = [v for v in arguments if isinstance(v, torch.Tensor)]
        tag = DTYPES[tensors[0].dtype][1] if tensors else ""
        vary, undefined = more.pop("vary_layout", False), more.pop("shape_only_outputs", False)
        case = call_case(self.name(full_name(out), tag), "special", out, named, as_list(results), self.seed, vary, **more)
        case.shape_only |= set(range(len(case.outputs))) if undefined else set()
        return case


def out_text(functional, overload_name="out", outs=("out",)):
    """Schema text of the out variant of a functional overload."""
    text = str(functional._schema)
    head, _, tail = text.partition("(")
    arguments = ("(" + tail).rpartition(" -> ")[0].rstrip()[1:-1]
    base = head.partition(".")[0]
    star = ", " if " *," in arguments else ", *, "
    written = ", ".join(f"Tensor({'abc'[i]}!) {o}" for i, o in enumerate(outs))
    returns = ", ".join(f"Tensor({'abc'[i]}!)" for i in range(len(outs)))
    return f"{base}.{overload_name}({arguments}{star}{written}) -> {returns if len(outs) == 1 else '(' + returns + ')'}"


def with_out(functional, overload_name="out", outs=("out",)):
    """The out variant, registered or not."""
    packet = getattr(getattr(torch.ops, functional._schema.name.partition("::")[0]), functional._schema.name.partition("::")[2])
    if overload_name in packet.overloads():
        return getattr(packet, overload_name)
    return OutSchema(out_text(functional, overload_name, outs))


# --- numbers -----------------------------------------------------------------------------------------------------


NUMBER_PAIRS = [(7, 3), (-7, 3), (7, -3), (0, 5), (2.5, 2), (-7.5, 2.0), (True, 2), (2**40, 3), (6, 6)]
NUMBERS = [0, 3, -4, 2.5, -2.5, 3.5, 0.49999, -0.5, 7.0]
INTEGERS = [(a, b) for a, b in NUMBER_PAIRS if isinstance(a, int) and isinstance(b, int)]
PRIMS = {
    "executorch_prim::add.Scalar": (lambda a, b: a + b, NUMBER_PAIRS), "executorch_prim::sub.Scalar": (lambda a, b: a - b, NUMBER_PAIRS),
    "executorch_prim::mul.Scalar": (lambda a, b: a * b, NUMBER_PAIRS), "executorch_prim::floordiv.Scalar": (lambda a, b: a // b, NUMBER_PAIRS),
    "executorch_prim::floordiv.int": (lambda a, b: a // b, INTEGERS), "executorch_prim::mod.Scalar": (lambda a, b: a % b, INTEGERS),
    "executorch_prim::mod.int": (lambda a, b: a % b, INTEGERS), "executorch_prim::truediv.Scalar": (lambda a, b: a / b, NUMBER_PAIRS),
    "executorch_prim::eq.Scalar": (lambda a, b: a == b, NUMBER_PAIRS), "executorch_prim::ne.Scalar": (lambda a, b: a != b, NUMBER_PAIRS),
    "executorch_prim::lt.Scalar": (lambda a, b: a < b, NUMBER_PAIRS), "executorch_prim::le.Scalar": (lambda a, b: a <= b, NUMBER_PAIRS),
    "executorch_prim::gt.Scalar": (lambda a, b: a > b, NUMBER_PAIRS), "executorch_prim::ge.Scalar": (lambda a, b: a >= b, NUMBER_PAIRS),
    "executorch_prim::sym_max.Scalar": (max, [(7, 3), (-7, 3), (2.5, 2.0), (-7.5, -8.0)]),
    "executorch_prim::sym_min.Scalar": (min, [(7, 3), (-7, 3), (2.5, 2.0), (-7.5, -8.0)]),
    "executorch_prim::neg.Scalar": (lambda a: -a, [(n,) for n in NUMBERS]), "executorch_prim::sym_float.Scalar": (float, [(n,) for n in NUMBERS]),
    "executorch_prim::sym_int.Scalar": (int, [(n,) for n in NUMBERS]), "executorch_prim::trunc.Scalar": (math.trunc, [(n,) for n in NUMBERS]),
    "executorch_prim::ceil.Scalar": (math.ceil, [(n,) for n in NUMBERS]), "executorch_prim::floor.Scalar": (math.floor, [(n,) for n in NUMBERS]),
    "executorch_prim::round.Scalar": (round, [(n,) for n in NUMBERS]), "executorch_prim::sym_not.Scalar": (lambda a: not a, [(True,), (False,)]),
    "executorch_prim::sym_ite.Scalar": (lambda c, t, f: t if c else f, [(True, 2, 3), (False, 2, 3), (True, 0.5, 1.5), (False, 0.5, 1.5)]),
}


def number_slot(builder, like):
    return builder.constant(type(like)(0))


@makes
def numbers(m):
    """Arithmetic on numbers: one program an operator, one output a call."""
    for name, (function, argument_lists) in PRIMS.items():
        builder, results = Builder(), [function(*arguments) for arguments in argument_lists]
        for arguments, result in zip(argument_lists, results):
            slot = number_slot(builder, result)
            builder.call(name, [*[builder.constant(a) for a in arguments], slot])
            builder.outputs.append(slot)
        yield Case(m.name(name), "special", builder.program(), [name], [], results, tolerance=(1e-7, 1e-7))


def on_one_tensor(m, name, tensor, more, result):
    """A call that takes a tensor and numbers, and gives a number."""
    builder = Builder()
    at = builder.tensor(tensor, Layout(dim_order=list(tensor.dim_order())))
    slot = number_slot(builder, result)
    builder.call(name, [at, *[builder.constant(a) for a in more], slot])
    builder.inputs, builder.outputs = [at], [slot]
    return Case(m.name(name, DTYPES[tensor.dtype][1]), "special", builder.program(), [name], [tensor], [result])


@makes
def sizes(m):
    for i, shape in enumerate([[], [3], [2, 0, 4], [2, 3, 4], [2, 3, 4, 5], [1, 2, 1, 3, 2]]):
        d = m.draw("sizes", i)
        tensor = d.tensor(shape)
        yield on_one_tensor(m, "aten::sym_numel", tensor, [], tensor.numel())
        yield on_one_tensor(m, "aten::sym_storage_offset", tensor, [], 0)
        for dim in range(-len(shape), len(shape)):
            yield on_one_tensor(m, "aten::sym_size.int", tensor, [dim], tensor.size(dim))
            if tensor.numel():
                other = laid_out(tensor, random_order(len(shape), d.rng))
                yield on_one_tensor(m, "aten::sym_stride.int", other, [dim], other.stride(dim))


@makes
def single_values(m):
    for dtype in DTYPES:
        if dtype.is_complex or "float8" in str(dtype):
            continue
        for shape in ([], [1], [1, 1]):
            tensor = m.draw("item", dtype, shape, dtype=dtype).tensor(shape)
            yield on_one_tensor(m, "aten::_local_scalar_dense", tensor, [], tensor.item())


# --- writing in place --------------------------------------------------------------------------------------------


def in_place_case(m, name, tensors, call, result, planned):
    """A call that writes its first tensor and returns it. `call(builder, ids)` gives the argument list."""
    builder = Builder()
    ids = [builder.tensor(t, Layout(planned=planned, dim_order=list(t.dim_order()))) for t in tensors]
    builder.call(name, [*call(builder, ids), ids[0]])
    builder.inputs, builder.outputs = ids, [ids[0]]
    order = list(tensors[0].dim_order())
    return Case(m.name(name, DTYPES[tensors[0].dtype][1]), "special", builder.program(), [name], tensors, [result], after={0: result},
                output_orders={0: order} if order != sorted(order) else {})


@makes
def copy_in_place(m):
    for i, dtype in enumerate([torch.float32, torch.float16, torch.int64, torch.bool, torch.float64, torch.int8]):
        d = m.draw("copy_", i, dtype=dtype)
        shape = d.shape(1, 4)
        to, source = d.tensor(shape), d.tensor(d.narrowed(shape), d.pick(dtype, torch.float32, torch.int64))
        yield in_place_case(m, "aten::copy_", [to, source], lambda b, ids: [*ids, b.constant(False)], to.clone().copy_(source), i % 2 == 0)


@makes
def index_put_in_place(m):
    for i in range(8):
        d = m.draw("index_put_", i, dtype=[torch.float32, torch.int64, torch.float16, torch.bool][i % 4])
        shape = d.shape(2, 3, empty=0)
        to, accumulate = d.tensor(shape), i % 3 == 0
        where = d.indices([d.rng.randint(1, 4)], shape[0]) if i % 2 else d.tensor(shape[:1], torch.bool)
        values = d.tensor([])
        result = to.clone().index_put_((where,), values, accumulate)

        def call(b, ids, accumulate=accumulate):
            return [ids[0], b.value(schema.OptionalTensorList([ids[1]])), ids[2], b.constant(accumulate)]

        yield in_place_case(m, "aten::index_put_", [to, where, values], call, result, i >= 4)


@makes
def batch_norm_with_running_stats(m):
    out = torch.ops.aten._native_batch_norm_legit.out
    for i, dtype in enumerate(FLOATS * 2):
        d = m.draw("batch_norm", i, dtype=dtype)
        c, training = d.rng.randint(1, 4), i % 3 != 2
        x = d.tensor([d.rng.randint(2, 3), c, *d.shape(0, 3, empty=0)])
        affine = d.chance(0.7)
        weight, bias = (d.tensor([c]), d.tensor([c])) if affine else (None, None)
        mean, var = d.tensor([c]), d.tensor([c]).abs() + 0.5
        new_mean, new_var = mean.clone(), var.clone()
        results = torch.ops.aten._native_batch_norm_legit(x, weight, bias, new_mean, new_var, training, 0.1, 1e-5)
        yield m.call(out, results, [x, weight, bias, mean, var, training, 0.1, 1e-5], written={"running_mean": new_mean, "running_var": new_var})


# --- layouts and devices -----------------------------------------------------------------------------------------


@makes
def dim_orders(m):
    import executorch.exir.passes.dim_order_ops_registry  # noqa: F401

    ops = torch.ops.dim_order_ops
    for i, dtype in enumerate([d for d in DTYPES if "uint64" not in str(d)] * 2):
        d = m.draw("dim_order", i, dtype=dtype)
        rank = d.pick(0, 1, 2, 3, 4, 5)
        plain = dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
        shape = [d.rng.randint(1, 4) for _ in range(rank)]
        source = d.tensor(shape, torch.float32).to(dtype) if "float8" in str(dtype) else d.tensor(shape)
        if rank > 1 and not plain and d.chance(0.5):
            source = laid_out(source, random_order(rank, d.rng))
        order = random_order(rank, d.rng) if d.chance(0.6) else list(range(rank))
        target = d.pick(torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.bool, torch.float64, torch.int8)
        if dtype.is_complex:
            target = dtype
        for operator, result in ((ops._to_dim_order_copy.out, source.to(target)), (ops._clone_dim_order.out, source)):
            case = m.call(operator, result, [source, False, order])
            yield declared_output(case, operator, [source, False, order], result, order)
        yield declared_output(None, ops._empty_dim_order.out, [shape, order], torch.zeros(shape, dtype=dtype), order, m)


def declared_output(case, operator, arguments, result, order, m=None):
    """The same call with the output declared in that dim_order."""
    given = [a for a in operator._schema.arguments if not a.is_out]
    named = {a.name: arguments[i] for i, a in enumerate(given)}
    made = CallProgram(operator._schema, named, [result], {}, {0: Layout(dim_order=order)})
    name = case.name if case else m.name(full_name(operator), DTYPES[result.dtype][1])
    orders = {0: order} if order != sorted(order) else {}
    return Case(name, "special", made.bytes(), [full_name(operator)], made.inputs, made.outputs, orders, set() if case else {0})


@makes
def device_copies(m):
    import executorch.exir.passes._device_copy_ops_registry  # noqa: F401

    for operator in (torch.ops.et_copy._h2d_copy.out, torch.ops.et_copy._d2h_copy.out):
        for i, dtype in enumerate([torch.float32, torch.float16, torch.int64, torch.bool, torch.bfloat16]):
            d = m.draw("device", i, dtype=dtype)
            tensor = d.tensor(d.shape())
            yield m.call(operator, tensor, [tensor], vary_layout=False)


# --- quantization ------------------------------------------------------------------------------------------------

BOUNDS = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-32768, 32767), torch.int32: (-2**31, 2**31 - 1), torch.uint16: (0, 65535)}


def load_quantized():
    import executorch.kernels.quantized  # noqa: F401
    import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401

    return torch.ops.quantized_decomposed


@makes
def quantize_per_tensor(m):
    q = load_quantized()
    for i, dtype in enumerate([torch.int8, torch.uint8, torch.int16, torch.int32, torch.uint16] * 2):
        d = m.draw("per_tensor", i)
        low, high = BOUNDS[dtype] if i % 3 else (BOUNDS[dtype][0] + 1, BOUNDS[dtype][0] + 100)
        x = d.tensor(d.shape(), d.pick(torch.float32, torch.float32, torch.float16, torch.bfloat16))
        scale, zero = d.pick(0.05, 0.11, 1.7), d.pick(0, 3) + max(low, 0)
        rest = [low, high, dtype]
        codes = q.quantize_per_tensor(x.float(), scale, zero, *rest)
        if x.dtype == torch.float32:
            yield m.call(q.quantize_per_tensor.out, codes, [x, scale, zero, *rest])
            tensors = [x, torch.tensor([scale], dtype=torch.float64), torch.tensor([zero]), *rest]
            yield m.call(q.quantize_per_tensor.Tensor_out, q.quantize_per_tensor.tensor(*tensors), tensors)
            yield m.call(with_out(q.quantize_per_tensor.tensor, "tensor_out"), q.quantize_per_tensor.tensor(*tensors), tensors)
            bounds = [*tensors[:3], torch.tensor(low), torch.tensor(high), dtype]
            yield m.call(with_out(q.quantize_per_tensor.tensor2, "tensor2_out"), q.quantize_per_tensor.tensor2(*bounds), bounds)
        for out_dtype in (None, torch.float16 if i % 2 else torch.float32):
            yield m.call(q.dequantize_per_tensor.out, q.dequantize_per_tensor(codes, scale, zero, *rest, out_dtype=out_dtype), [codes, scale, zero, *rest, out_dtype])
        tensors = [codes, torch.tensor([scale], dtype=torch.float64), torch.tensor([zero]), *rest]
        yield m.call(q.dequantize_per_tensor.Tensor_out, q.dequantize_per_tensor.tensor(*tensors), tensors)
        yield m.call(with_out(q.dequantize_per_tensor.tensor, "tensor_out"), q.dequantize_per_tensor.tensor(*tensors), tensors)
        bounds = [*tensors[:3], torch.tensor(low), torch.tensor(high), dtype]
        yield m.call(with_out(q.dequantize_per_tensor.tensor2, "tensor2_out"), q.dequantize_per_tensor.tensor2(*bounds), bounds)


@makes
def quantize_per_channel(m):
    q = load_quantized()
    for i, dtype in enumerate([torch.int8, torch.uint8, torch.int16, torch.int32] * 2):
        d = m.draw("per_channel", i)
        x = d.tensor(d.shape(1, 4, empty=0))
        axis = d.upto(x.dim() - 1)
        low, high = BOUNDS[dtype]
        scales = torch.rand(x.shape[axis], generator=d.generator, dtype=torch.float64 if i % 2 else torch.float32) + 0.05
        zeros = torch.randint(max(low, 0), max(low, 0) + 4, (x.shape[axis],), generator=d.generator)
        rest = [axis, low, high, dtype]
        codes = q.quantize_per_channel(x, scales, zeros, *rest)
        yield m.call(q.quantize_per_channel.out, codes, [x, scales, zeros, *rest])
        zeros = zeros if i % 3 else None
        yield m.call(q.dequantize_per_channel.out, q.dequantize_per_channel(codes, scales, zeros, *rest), [codes, scales, zeros, *rest])


@makes
def quantize_per_group(m):
    q = load_quantized()
    for i in range(4):
        d = m.draw("per_group", i)
        rows, group, groups = d.rng.randint(1, 4), d.pick(2, 4, 8), d.rng.randint(1, 3)
        x = d.tensor([rows, group * groups])
        scales, zeros = torch.rand(rows, groups, generator=d.generator) + 0.05, torch.randint(-3, 4, (rows, groups), generator=d.generator, dtype=torch.int32)
        args = [x, scales, zeros, -8, 7, torch.int8, group]
        codes = q.quantize_per_channel_group(*args)
        yield m.call(with_out(q.quantize_per_channel_group.default), codes, args)
        args = [codes, scales, zeros, -8, 7, torch.int8, group, torch.float32]
        yield m.call(with_out(q.dequantize_per_channel_group.default), q.dequantize_per_channel_group(*args), args)


@makes
def quantize_per_token(m):
    q = load_quantized()
    for i in range(5):
        d = m.draw("per_token", i)
        x = d.tensor(d.shape(1, 4, empty=0))
        outs = ("scale_out", "zero_point_out")
        for functional, operator in (
                (q.choose_qparams_per_token_asymmetric, q.choose_qparams_per_token_asymmetric.out),
                (q._choose_qparams_per_token_asymmetric_impl, with_out(q._choose_qparams_per_token_asymmetric_impl.default, outs=outs)),
                (q.choose_qparams_per_token, with_out(q.choose_qparams_per_token.default, outs=outs))):
            scale, zero = functional(x, torch.int8)
            yield m.call(operator, (scale, zero), [x, torch.int8], int_tolerance=1)
        args = [x, scale, zero, -128, 127, torch.int8]
        codes = q.quantize_per_token(*args)
        yield m.call(q.quantize_per_token.out, codes, args, int_tolerance=1)
        args = [codes, scale, zero, -128, 127, torch.int8, d.pick(torch.float32, torch.float16)]
        yield m.call(q.dequantize_per_token.out, q.dequantize_per_token(*args), args)


@makes
def choose_qparams(m):
    q = load_quantized()
    outs = ("scale_out", "zero_point_out")
    for i, dtype in enumerate([torch.int8, torch.uint8, torch.int16, torch.int8, torch.uint8, torch.int32]):
        d = m.draw("choose", i)
        low, high = BOUNDS[dtype] if dtype != torch.int32 else (-2**30, 2**30)
        args = [d.tensor(d.shape(empty=0)) + d.pick(0, 5, -5), low, high, d.pick(1e-5, 1e-3), dtype]
        for packet in (q.choose_qparams, q.choose_qparams_symmetric):
            for overload in ("Tensor_out", "tensor_out"):
                yield m.call(with_out(packet.tensor, overload, outs), packet.tensor(*args), args, int_tolerance=1)


def real_values(codes, scale, zero_point, low, high):
    return (codes.float() - zero_point) * scale


def codes_of(values, dtype, scale, zero_point, low, high):
    return (torch.round(values / scale) + zero_point).clamp(low, high).to(dtype)


@makes
def quantized_arithmetic(m):
    q = load_quantized()
    for i in range(6):
        d = m.draw("quantized_add", i, dtype=torch.int8 if i % 2 else torch.uint8)
        low, high = BOUNDS[d.dtype]
        shape = d.shape()
        one, two = ([d.tensor(shape), d.pick(0.1, 0.37), max(low, 0) + d.upto(4), low, high] for _ in range(2))
        total = [d.pick(0.2, 0.5), max(low, 0) + 2, low, high]
        sum_of_two = real_values(*one) + real_values(*two)
        yield m.call(q.add.out, codes_of(sum_of_two, d.dtype, *total), [*one, *two, *total], int_tolerance=1)
        yield m.call(with_out(q.add_relu.default), codes_of(sum_of_two.relu(), d.dtype, *total), [*one, *two, *total], int_tolerance=1)
        number = d.pick(1.5, 2)
        yield m.call(with_out(q.add.scalar, "scalar_out"), codes_of(real_values(*one) + number, d.dtype, *total), [*one, d.dtype, number, *total, d.dtype],
                     int_tolerance=1)
        x = d.tensor(d.shape(), d.pick(torch.float32, torch.int32))
        target = d.pick(torch.float16, torch.bfloat16, torch.float32)
        yield m.call(with_out(q.convert_element_type.no_fuse, "no_fuse_out"), q.convert_element_type.no_fuse(x, target), [x, target])
        x = d.tensor(d.shape(1, 3, empty=0), torch.float32)
        axis = d.upto(x.dim() - 1)
        args = [x, torch.rand(x.shape[axis], generator=d.generator) + 0.05, torch.randint(-3, 4, (x.shape[axis],), generator=d.generator, dtype=torch.int32), axis, -128, 127]
        yield m.call(with_out(q.fake_quant_per_channel.default), q.fake_quant_per_channel(*args), args)


@makes
def mixed_products(m):
    q = load_quantized()
    for i in range(5):
        d = m.draw("mixed", i, dtype=[torch.float32, torch.float16, torch.float32][i % 3])
        n, k, width = d.rng.randint(1, 5), d.rng.randint(1, 9), d.rng.randint(1, 6)
        x = d.tensor([n, k], scale=1)
        weight = torch.randint(-128, 128, (k, width), generator=d.generator, dtype=torch.int8)
        scales = (torch.rand(k, generator=d.generator) / 50).to(d.dtype)
        expected = x.double() @ (weight.double() * scales.double()[:, None])
        yield m.call(q.mixed_mm.out, expected.to(d.dtype), [x, weight, scales, None])
        weight, scales = weight.t().contiguous(), (torch.rand(width, generator=d.generator) / 50).to(d.dtype)
        expected = x.double() @ (weight.double() * scales.double()[:, None]).t()
        out_dtype = d.pick(None, torch.float32)
        yield m.call(q.mixed_linear.out, expected.to(out_dtype or d.dtype), [x, weight, scales, None, out_dtype])


def unpacked(rows, bits):
    """Codes of a table packed several to a byte, lowest bits last; 4-bit codes are stored with 8 added, 2-bit ones with 2."""
    per_byte = 8 // bits
    parts = [(rows.int() >> (bits * k if bits == 2 else bits * (per_byte - 1 - k))) & (2**bits - 1) for k in range(per_byte)]
    return torch.stack(parts, -1).flatten(-2) - 2 ** (bits - 1)


@makes
def quantized_embeddings(m):
    q = load_quantized()
    for i in range(4):
        d = m.draw("quantized_embedding", i)
        rows, groups = d.rng.randint(2, 6), d.pick(1, 2)
        scale_dtype = torch.float16 if i == 3 else torch.float32
        where = d.indices(d.shape(1, 2, empty=0), rows, d.pick(torch.int64, torch.int32), negative=False)
        for bits, packet, low, high in ((8, q.embedding_byte, -128, 127), (4, q.embedding_4bit, -8, 7), (2, q.embedding_2bit, -2, 1)):
            width = 8 * groups
            if bits == 8:
                weight = torch.randint(low, high + 1, (rows, width), generator=d.generator, dtype=torch.int8)
                codes = weight.int()
            else:
                weight = torch.randint(0, 256, (rows, width * bits // 8), generator=d.generator, dtype=torch.uint8)
                codes = unpacked(weight, bits)
            scales = (torch.rand(rows, groups, generator=d.generator) + 0.05).to(scale_dtype)
            zeros = torch.randint(-2, 2, (rows, groups), generator=d.generator).to(scale_dtype) if i % 2 else None
            values = codes.float().reshape(rows, groups, -1)
            table = ((values - (zeros.float()[..., None] if zeros is not None else 0)) * scales.float()[..., None]).reshape(rows, width)
            args = [weight, scales, zeros, low, high, where]
            yield m.call(packet.out, table[where.long()].to(scale_dtype), args)
            dtype = d.pick(torch.float32, torch.float16)
            yield m.call(packet.dtype_out, table[where.long()].to(dtype), [*args, dtype])


# --- torchao -----------------------------------------------------------------------------------------------------


@makes
def torchao_affine(m):
    import torchao.quantization.quant_primitives as p

    ao = torch.ops.torchao
    for i in range(8):
        d = m.draw("affine", i)
        rows, width = d.rng.randint(1, 4), 8
        x = d.tensor([rows, width], d.pick(torch.float32, torch.float32, torch.float16))
        block = d.pick([1, 8], [1, 4], [rows, 8], [1, 2])
        target, low, high = d.pick((torch.int8, None, None), (torch.int8, -8, 7), (torch.uint8, None, None), (torch.int8, -2, 1))
        kind = d.pick("SYMMETRIC", "ASYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR") if target != torch.uint8 else "ASYMMETRIC"
        chosen = [x, kind, block, target, low, high, d.pick(None, 1e-5), None, torch.int32, d.chance(0.5)]
        try:
            scale, zero = ao.choose_qparams_affine(*chosen)
        except Exception:
            continue
        outs = torch_out(ao.choose_qparams_affine.default, ("out0", "out1"))
        yield m.call(outs, (scale, zero), chosen, int_tolerance=1)
        codes = ao.quantize_affine(x, block, scale, zero, target, low, high)
        quantize = [x, block, scale, zero, target, low, high]
        yield m.call(torch_out(ao.quantize_affine.default), codes, quantize, int_tolerance=1)
        dequantize = [codes, block, scale, zero, target, low, high, d.pick(torch.float32, torch.float16)]
        result = ao.dequantize_affine(*dequantize)
        yield m.call(torch_out(ao.dequantize_affine.default), result, dequantize)
        yield unresolved(m, ao.choose_qparams_affine.default, chosen, [scale, zero], int_tolerance=1)
        yield unresolved(m, ao.quantize_affine.default, quantize, [codes], int_tolerance=1)
        yield unresolved(m, ao.dequantize_affine.default, dequantize, [result])


def torch_out(overload, outs=("out",)):
    return with_out(overload, "out", outs)


def unresolved(m, overload, arguments, results, **more):
    """The call under its functional name: its results stand after the arguments."""
    name = overload._schema.name
    base = OutSchema(out_text(overload, "out", tuple(f"out{i}" for i in range(len(results)))))
    given = [a for a in base._schema.arguments if not a.is_out]
    named = {a.name: (arguments[i] if i < len(arguments) else a.default_value) for i, a in enumerate(given)}
    made = CallProgram(base._schema, named, results)
    builder = made.builder
    call = builder.instructions[0].instr_args
    count = len(given)
    call.args = call.args[:count] + made.output_ids
    builder.operators[0] = schema.Operator(name, "")
    return Case(m.name(name, DTYPES[made.inputs[0].dtype][1]), "special", made.bytes(), [name], made.inputs, made.outputs, **more)


@makes
def torchao_float8(m):
    import torchao.quantization.quant_primitives  # noqa: F401

    ao = torch.ops.torchao
    for i in range(4):
        d = m.draw("float8", i)
        x = d.tensor([d.rng.randint(1, 4), 8])
        block = d.pick([1, 8], [x.shape[0], 8], [1, 4])
        args = [x, block, torch.float8_e4m3fn, torch.float32]
        scale = ao.choose_scale_float8(*args)
        yield m.call(torch_out(ao.choose_scale_float8.default), scale, args)
        codes = ao.quantize_affine_float8_non_decomposed(x, scale, torch.float8_e4m3fn)
        yield m.call(torch_out(ao.quantize_affine_float8_non_decomposed.default), codes, [x, scale, torch.float8_e4m3fn])
        result = ao.dequantize_affine_float8_non_decomposed(codes, scale, torch.float32)
        yield m.call(torch_out(ao.dequantize_affine_float8_non_decomposed.default), result, [codes, scale, torch.float32])


@makes
def torchao_int_products(m):
    import torchao.kernel.intmm  # noqa: F401

    ao = torch.ops.torchao
    for i in range(3):
        d = m.draw("int_matmul", i)
        n, k, width = (d.rng.randint(1, 9) for _ in range(3))
        a, b = (torch.randint(-128, 128, s, generator=d.generator, dtype=torch.int8) for s in ((n, k), (k, width)))
        product = a.int() @ b.int()
        yield m.call(torch_out(ao.int_matmul.default), product, [a, b])
        scales = torch.rand(n, 1, generator=d.generator)
        yield m.call(torch_out(ao.int_scaled_matmul.default), product * scales, [a, b, scales])


# --- language models ---------------------------------------------------------------------------------------------


def load_llama():
    from executorch.extension.llm.custom_ops import custom_ops, op_tile_crop_aot  # noqa: F401

    return torch.ops.llama


def attention(query, key, value, start, mask, causal, scale):
    """Attention of [batch, sequence, heads, width] queries, in double: over the first `start + sequence` keys, with a mask over all."""
    length = query.shape[1]
    keys = start + length if mask is None else key.shape[1]
    q, k, v = (t.double().transpose(1, 2) for t in (query, key[:, :keys], value[:, :keys]))
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
    if causal:
        allowed = torch.arange(start + length)[None] <= torch.arange(start, start + length)[:, None]
        scores = scores.masked_fill(~allowed, -math.inf)
    if mask is not None:
        scores = scores + mask.double()
    return (torch.softmax(scores, -1) @ v).transpose(1, 2).contiguous()


@makes
def attention_over_a_cache(m):
    llama = load_llama()
    for i in range(10):
        d = m.draw("sdpa", i, dtype=[torch.float32, torch.float32, torch.float16, torch.bfloat16][i % 4])
        batch, kv_heads, width, most = d.rng.randint(1, 2), d.rng.randint(1, 2), d.pick(4, 8, 16), d.rng.randint(6, 12)
        heads, length = kv_heads * d.pick(1, 2), d.rng.randint(1, 4)
        start = d.upto(most - length)
        query = d.tensor([batch, length, heads, width], scale=1)
        keys, values = (d.tensor([batch, most, kv_heads, width], scale=1) for _ in range(2))
        how = d.pick("causal", "mask", "all")
        mask = d.tensor([length, most], torch.float32, scale=1) if how == "mask" else None
        scale = d.pick(None, 0.3)
        rest = [mask, 0.0, how == "causal", scale]
        expected = attention(query, keys, values, start, *rest[:1], rest[2], scale).to(d.dtype)
        yield m.call(llama.custom_sdpa.out, expected, [query, keys, values, start, *rest])
        new_k, new_v = (d.tensor([batch, length, kv_heads, width], scale=1) for _ in range(2))
        after_k, after_v = keys.clone(), values.clone()
        after_k[:, start:start + length], after_v[:, start:start + length] = new_k, new_v
        expected = attention(query, after_k, after_v, start, *rest[:1], rest[2], scale).to(d.dtype)
        yield m.call(llama.sdpa_with_kv_cache.out, expected, [query, new_k, new_v, keys, values, start, length, *rest],
                     written={"key_cache": after_k, "value_cache": after_v})


@makes
def quantized_attention(m):
    llama = load_llama()
    q = load_quantized()
    for i in range(5):
        d = m.draw("quantized_sdpa", i)
        batch, kv_heads, width, most = 1, d.rng.randint(1, 2), d.pick(8, 16), d.rng.randint(6, 12)
        heads, length = kv_heads * d.pick(1, 2), d.rng.randint(1, 4)
        start, second = d.upto(most - length), d.chance(0.5)

        def quantized(shape):
            codes = torch.randint(-100, 100, shape, generator=d.generator, dtype=torch.int8)
            scales = torch.rand([*shape[:-1], 1], generator=d.generator) / 50 + 0.005
            zeros = torch.randint(-5, 6, [*shape[:-1], 1], generator=d.generator, dtype=torch.int8)
            return codes, scales, zeros

        def shape(n, h):
            return [batch, h, n, width] if second else [batch, n, h, width]

        (qc, qs, qz), (kc, ks, kz), (vc, vs, vz) = quantized(shape(length, heads)), quantized(shape(most, kv_heads)), quantized(shape(most, kv_heads))
        real = [(c.double() - z) * s for c, s, z in ((qc, qs, qz), (kc, ks, kz), (vc, vs, vz))]
        real = [t.transpose(1, 2) for t in real] if second else real
        causal = d.chance(0.5)
        expected = attention(*real, start, None, causal, None)
        expected = (expected.transpose(1, 2) if second else expected).float().contiguous()
        yield m.call(llama.custom_quantized_sdpa.out, expected, [qc, kc, vc, start, None, 0.0, causal, None, qz, qs, kz, ks, vz, vs, second])


@makes
def caches(m):
    llama = load_llama()
    for i, dtype in enumerate([torch.float32, torch.float16, torch.int8, torch.bfloat16]):
        d = m.draw("cache", i, dtype=dtype)
        batch, heads, width, most, length = d.rng.randint(1, 2), d.rng.randint(1, 3), 4, 7, d.rng.randint(1, 3)
        value, cache = d.tensor([batch, length, heads, width]), d.tensor([batch, most, heads, width])
        start = d.upto(most - length)
        after = cache.clone()
        after[:, start:start + length] = value
        empty = torch.zeros(1, dtype=dtype)
        yield m.call(llama.update_cache.out, empty, [value, cache, start], written={"cache": after}, shape_only_outputs=True)
        where = torch.stack([torch.randperm(most, generator=d.generator)[:length] for _ in range(batch)])
        after = cache.clone()
        for b in range(batch):
            after[b, where[b]] = value[b]
        yield m.call(llama.update_cache_with_indices.out, empty, [value, cache, 0, where], written={"cache": after}, shape_only_outputs=True)


@makes
def delta_rules(m):
    llama = load_llama()
    for i in range(4):
        d = m.draw("delta", i)
        batch, state_heads, length, k, v = d.rng.randint(1, 2), d.rng.randint(1, 2), d.pick(1, 3, 7), d.rng.randint(2, 5), d.rng.randint(2, 5)
        heads = state_heads * d.pick(1, 2)
        query, key, value = d.tensor([batch, heads, length, k], scale=1), d.tensor([batch, state_heads, length, k], scale=1), d.tensor([batch, state_heads, length, v], scale=1)
        decay = torch.rand([batch, state_heads, length] + ([k] if i % 2 else []), generator=d.generator)
        beta = torch.rand([batch, state_heads, length], generator=d.generator)
        state = d.tensor([batch, state_heads, k, v], scale=1)
        args = [query, key, value, decay, beta, state]
        results = delta_rule(*args)
        yield m.call(llama.gated_delta_rule.out, results, args, tolerance=(1e-3, 1e-4))
        yield m.call(llama.channelwise_gated_delta_rule.out, results, args, tolerance=(1e-3, 1e-4))


def delta_rule(query, key, value, decay, beta, state):
    """The recurrence token by token, in double: decay the state, correct what it predicts for the key, read it with the query."""
    query, key, value, decay, beta, state = (t.double() for t in (query, key, value, decay, beta, state))
    reads = []
    for t in range(query.shape[2]):
        gate = decay[:, :, t]
        state = state * (gate[..., None] if gate.dim() == 3 else gate[..., None, None])
        error = value[:, :, t] - torch.einsum("bhkv,bhk->bhv", state, key[:, :, t])
        state = state + torch.einsum("bhk,bhv->bhkv", key[:, :, t], error * beta[:, :, t, None])
        shared = state.repeat_interleave(query.shape[1] // state.shape[1], 1)
        reads.append(torch.einsum("bhkv,bhk->bhv", shared, query[:, :, t]))
    return torch.stack(reads, 2).float(), state.float()


@makes
def small_llama_operators(m):
    llama = load_llama()
    import executorch.extension.llm.custom_ops.op_fallback  # noqa: F401

    for i, width in enumerate([1, 2, 8, 64, 128, 28 * 2]):
        d = m.draw("hadamard", i, dtype=[torch.float32, torch.float32, torch.float16][i % 3])
        x = d.tensor([*d.shape(0, 2, empty=0), width], scale=1)
        try:
            expected = torch.zeros_like(x)
            llama.fast_hadamard_transform.out(x, out=expected)
        except Exception:
            continue
        half = (1e-2, 1e-2) if x.dtype == torch.float16 else None  # the kernel rounds each stage
        yield m.call(llama.fast_hadamard_transform.out, expected, [x], extra={"expected_from": "stock kernel"}, tolerance=half)
        tensor = d.tensor(d.shape())
        yield m.call(llama.fallback.out, tensor, [tensor])


@makes
def tiles(m):
    load_llama()
    for i, (channels, height, width, tile) in enumerate([(3, 4, 6, 2), (1, 4, 4, 4), (2, 6, 3, 3)]):
        x = m.draw("tiles", i).tensor([channels, height, width])
        expected = x.reshape(channels, height // tile, tile, width // tile, tile).permute(1, 3, 0, 2, 4).reshape(-1, channels, tile, tile).contiguous()
        yield m.call(torch.ops.preprocess.tile_crop.out, expected, [x, tile])


def packed_experts(codes, scales, group, bits):
    """torchao's universal packing of each expert's matrix: tiles of 8 rows by 16 columns in two halves, then the group's 8 scales and sums."""
    blobs = []
    for expert, expert_scales in zip(codes, scales):
        rows, columns = expert.shape
        blob = struct.pack("<8i", 6712, 1, bits, 0, 0, 8, 16, 2) + bytes(32)
        for row in range(0, rows, 8):
            for first in range(0, columns, group):
                for column in range(first, first + group, 16):
                    tile = expert[row:row + 8, column:column + 16].reshape(8, 2, 8).transpose(0, 1).reshape(-1)
                    if bits == 4:
                        low, high = (tile + 8).reshape(-1, 2, 16).unbind(1)
                        tile = low + 16 * high
                    blob += bytes((tile % 256).to(torch.uint8).flatten().tolist())
                blob += struct.pack("<8f", *expert_scales[row:row + 8, first // group].tolist()) + bytes(32)
        blobs.append(torch.tensor(list(blob), dtype=torch.uint8).view(torch.int8))
    return torch.stack(blobs)


@makes
def experts(m):
    out = OutSchema("llama::quantized_moe_ffn.out(Tensor x, Tensor gate_weight, Tensor expert_bias, Tensor packed_w13, Tensor packed_w2, "
                    "int num_activated_experts, int num_experts, int hidden_dim, int dim, int group_size, int weight_nbit, str score_func, "
                    "float route_scale, *, Tensor(a!) out) -> Tensor(a!)")
    for i, (bits, by) in enumerate([(8, "sigmoid"), (4, "softmax"), (4, "sigmoid"), (8, "softmax")]):
        d = m.draw("moe", i)
        tokens, dim, hidden, count, chosen, group = 3, 32, 16, 4, 2, 16

        def quantized(rows, columns):
            codes = torch.randint(-2 ** (bits - 1), 2 ** (bits - 1), (count, rows, columns), generator=d.generator)
            scales = torch.rand([count, rows, columns // group], generator=d.generator) / 2 ** bits + 0.01
            return packed_experts(codes, scales, group, bits), codes.double() * scales.double().repeat_interleave(group, -1)

        x, gate = d.tensor([tokens, dim], scale=1), d.tensor([count, dim], scale=1)
        bias = d.tensor([count], scale=0.1) if by == "sigmoid" else torch.zeros([0])
        (w13_blob, w13), (w2_blob, w2) = quantized(2 * hidden, dim), quantized(dim, hidden)
        scores = x.double() @ gate.double().t()
        scores = scores.sigmoid() if by == "sigmoid" else scores
        best = (scores + bias.double() if by == "sigmoid" else scores).topk(chosen)[1]
        weights = scores.gather(1, best)
        weights = 1.5 * weights / weights.sum(1, True) if by == "sigmoid" else weights.softmax(1)
        result = torch.zeros([tokens, dim], dtype=torch.float64)
        for token in range(tokens):
            for weight, expert in zip(weights[token], best[token]):
                up, through = (w13[expert] @ x[token].double()).split(hidden)
                result[token] += weight * (w2[expert] @ (torch.nn.functional.silu(up) * through))
        yield m.call(out, result.float(), [x, gate, bias, w13_blob, w2_blob, chosen, count, hidden, dim, group, bits, by, 1.5], tolerance=(1e-3, 1e-3))


# --- operators that PyTorch's own dispatch doesn't reach on the CPU, or that return no tensor -----------------------


@makes
def products_of_another_dtype(m):
    aten = torch.ops.aten
    for i, dtype in enumerate([torch.float16, torch.bfloat16] * 3):
        d = m.draw("dtype_out", i, dtype=dtype)
        n, k, width = (d.rng.randint(1, 6) for _ in range(3))
        a, b, c = d.tensor([n, k], scale=1), d.tensor([k, width], scale=1), d.tensor([n, width], scale=1)
        wide = torch.float32
        product = (a.double() @ b.double()).to(wide)
        yield m.call(aten.mm.dtype_out, product, [a, b, wide])
        yield m.call(aten.addmm.dtype_out, (c.double() + a.double() @ b.double()).to(wide), [c.to(wide), a, b, wide, 1, 1])
        a, b, c = a[None].repeat(2, 1, 1), b[None].repeat(2, 1, 1), c[None].repeat(2, 1, 1)
        yield m.call(aten.bmm.dtype_out, product[None].repeat(2, 1, 1), [a, b, wide])
        yield m.call(aten.baddbmm.dtype_out, (c.double() + a.double() @ b.double()).to(wide), [c.to(wide), a, b, wide, 1, 1])


SPECIALS = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -3.0]


@makes
def powers_of_specials(m):
    """The short cuts that eager takes for some exponents, and what half numbers round on the way."""
    aten = torch.ops.aten
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64):
        numbers = [complex(a, b) for a in SPECIALS for b in SPECIALS] if dtype.is_complex else [*SPECIALS, 300.0, 9.3, -0.5, 6e-8, 65504.0]
        x = torch.tensor(numbers, dtype=dtype)
        for exponent in (0.5, -0.5, -1, -2, 2, 3, 0, 1, 1 / 3):
            yield m.call(aten.pow.Tensor_Scalar_out, torch.pow(x, exponent), [x, exponent])
        yield m.call(aten.pow.Scalar_out, torch.pow(1, x), [1, x])
        if not dtype.is_complex:
            yield m.call(aten.ldexp.out, torch.ldexp(x[:, None], x), [x[:, None], x])


@makes
def complex_arithmetic_of_specials(m):
    aten = torch.ops.aten
    parts = [0.0, 1.0, math.inf, math.nan, -2.0]
    x = torch.tensor([complex(a, b) for a in parts for b in parts], dtype=torch.complex64)
    y = x[:, None]
    yield m.call(aten.add.out, y + x, [y, x])
    yield m.call(aten.mul.out, y * x, [y, x])
    yield m.call(aten.div.out, y / x, [y, x])
    yield m.call(aten.reciprocal.out, x.reciprocal(), [x])
    yield m.call(aten.rsqrt.out, x.rsqrt(), [x])
    yield m.call(aten.sigmoid.out, x.sigmoid(), [x])
    yield m.call(aten.addcmul.out, torch.addcmul(x, y, x), [x, y, x, 1])
    yield m.call(aten.addcdiv.out, torch.addcdiv(x, y, x), [x, y, x, 1])
    yield m.call(aten.lerp.Scalar_out, torch.lerp(*torch.broadcast_tensors(y, x), 0.3), [*torch.broadcast_tensors(y, x), 0.3])


@makes
def without_an_out_variant(m):
    """Names that another release of PyTorch has, or that only eager's sparse code calls."""
    softmax = OutSchema("aten::_safe_softmax.out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)")
    cholesky = OutSchema("aten::cholesky.out(Tensor self, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)")
    relu6 = OutSchema("aten::relu6.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
    for i, dtype in enumerate([torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float32, torch.float64]):
        d = m.draw("unregistered", i, dtype=dtype)
        shape = d.shape(empty=0)
        x, dim = d.tensor(shape, scale=3), d.dim(shape)
        if i == 4:
            x = x.masked_fill(torch.ones(shape, dtype=torch.bool), -math.inf)
        yield m.call(softmax, torch.ops.aten._safe_softmax(x, dim), [x, dim, None])
        yield m.call(relu6, torch.nn.functional.relu6(x), [x])
        if dtype in (torch.float32, torch.float64):
            for upper in (False, True):
                a = d.tensor([3, 3], scale=1)
                a = a @ a.t() + torch.eye(3, dtype=dtype)
                yield m.call(cholesky, torch.linalg.cholesky(a, upper=upper), [a, upper])
            x = d.tensor([2, 3, 4])
            for p in (2, 1, 3.5):
                yield m.call(torch.ops.aten.native_norm.out, torch.ops.aten.norm.Scalar(x, p), [x, p])
                yield m.call(torch.ops.aten.native_norm.ScalarOpt_dim_dtype_out, torch.ops.aten.norm.ScalarOpt_dim(x, p, [1], True), [x, p, [1], True, None])
        x, grad = d.tensor([1, 2, 3, 5, 4]), d.tensor([1, 2, 2, 3, 2])
        yield m.call(torch.ops.aten.adaptive_avg_pool3d_backward.grad_input, torch.ops.aten._adaptive_avg_pool3d_backward(grad, x), [grad, x])


@makes
def checks(m):
    """Operators that only refuse; the program returns a number that it computes after them."""
    for name, argument_lists in {"aten::_assert_scalar": [[True, "no"], [1, "no"], [2.5, "no"], [True, ""], [-1, "negative is true"]],
                                 "aten::sym_constrain_range": [[3, None, None], [3, 0, 5], [3, 3, 3], [-2, -4, None], [9, None, 9]],
                                 "aten::sym_constrain_range_for_size": [[3, None, None], [3, 0, 5], [3, 3, 3], [7, 2, None], [9, None, 9]]}.items():
        for arguments in argument_lists:
            builder = Builder()
            builder.call(name, [builder.constant(a) for a in arguments])
            slot = builder.constant(0)
            builder.call("executorch_prim::add.Scalar", [builder.constant(2), builder.constant(3), slot])
            builder.outputs.append(slot)
            yield Case(m.name(name), "special", builder.program(), [name], [], [5])


@makes
def equality(m):
    for i, dtype in enumerate([torch.float32, torch.int64, torch.bool, torch.float16, torch.float32, torch.int8]):
        d = m.draw("equal", i, dtype=dtype)
        x = d.tensor(d.shape())
        y = x.clone() if i % 2 == 0 else d.tensor([*x.shape, 2])
        builder = Builder()
        ids = [builder.tensor(v) for v in (x, y)]
        slot = builder.constant(False)
        builder.call("aten::equal", [*ids, slot])
        builder.inputs, builder.outputs = ids, [slot]
        yield Case(m.name("aten::equal", DTYPES[dtype][1]), "special", builder.program(), ["aten::equal"], [x, y], [torch.equal(x, y)])


# -----------------------------------------------------------------------------------------------------------------


def cases(wanted, match=None, seed=1):
    for make in MAKERS:
        try:
            for case in make(Maker(seed)):
                if match and match not in case.name or (wanted is not None and not set(case.ops) <= wanted):
                    continue
                yield case
        except Exception as e:
            import traceback

            traceback.print_exc()
            print(f"{make.__name__}: {type(e).__name__}: {e}")
