"""Makes the programs in tests/data/python. Needs torch and executorch; the tests themselves need neither.

    python make_programs.py
"""

import pathlib

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy, naive
from executorch.exir.passes import MemoryPlanningPass
from torch.export import Dim, export
from torch.library import Library, impl

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "python"


def module(function):
    class Made(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    return Made()


def fixed(count, function):
    """A module whose forward has `count` named parameters."""
    names = ", ".join("xyzuvw"[i] for i in range(count))
    scope = {"f": function, "torch": torch}
    exec(f"class Made(torch.nn.Module):\n  def forward(self, {names}): return f({names})", scope)
    return scope["Made"]()


def save(name, methods, inputs=True, outputs=True, algorithm=None, dynamic=None, **config):
    """`methods`: {name: (module, example inputs)}, or one such pair for forward."""
    if isinstance(methods, tuple):
        methods = {"forward": methods}
    # An example given twice would be taken for one input.
    examples = {n: tuple(x.clone() if isinstance(x, torch.Tensor) else x for x in a) for n, (m, a) in methods.items()}
    programs = {n: export(m, examples[n], dynamic_shapes=dynamic, strict=True) for n, (m, a) in methods.items()}
    edge = to_edge(programs, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    planning = MemoryPlanningPass(memory_planning_algo=MemoryPlanningAlgorithmSuite(algo_list=[algorithm or greedy]), alloc_graph_input=inputs, alloc_graph_output=outputs,
                                  **config.pop("planning", {}))
    made = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning, **config))
    (OUT / f"{name}.pte").write_bytes(made.buffer)
    return made


def reuses_input_bytes(made):
    """Whether some later value of the plan lies where an input does."""
    plan = made.executorch_program.execution_plan[0]

    def place(i):
        val = plan.values[i].val
        info = getattr(val, "allocation_info", None)
        return None if info is None else (info.memory_id, info.memory_offset_low)

    inputs = {place(i) for i in plan.inputs} - {None}
    return any(place(i) in inputs for i in range(len(plan.values)) if i not in plan.inputs)


class Counter(torch.nn.Module):
    """Returns x plus the number of runs."""

    def __init__(self):
        super().__init__()
        self.register_buffer("runs", torch.zeros(2, 3))

    def forward(self, x):
        self.runs.add_(1)
        return x + self.runs


class Shared(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total.add_(x)
        return self.total.clone()

    def peek(self, x):
        self.total.mul_(1)  # a buffer that a method doesn't write is a constant there
        return self.total + x


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    f32 = torch.ones(2, 3)
    mul_add = fixed(2, lambda x, y: x * y + 1)
    for planned in (False, True):
        for reuse in (False, True):
            made = save(f"mul_add_{'planned' if planned else 'unplanned'}_{'reuse' if reuse else 'naive'}", (mul_add, (f32, f32)),
                        inputs=planned, outputs=planned, algorithm=greedy if reuse else naive)
            assert reuses_input_bytes(made) == (planned and reuse)
    save("add_one", (fixed(1, lambda x: x + 1), (f32,)))
    save("add_one_unplanned", (fixed(1, lambda x: x + 1), (f32,)), inputs=False, outputs=False)
    save("add_int64", (fixed(1, lambda x: x + 1), (torch.ones(2, 3, dtype=torch.int64),)))
    save("add_bf16", (fixed(1, lambda x: x + 1), (torch.ones(2, 3, dtype=torch.bfloat16),)))
    save("identity", (fixed(1, lambda x: x), (torch.ones(2, 3, dtype=torch.float64),)), inputs=False, outputs=False)
    save("scalar_0d", (fixed(1, lambda x: x + 1), (torch.tensor(1.0),)))
    save("empty", (fixed(1, lambda x: x + 1), (torch.ones(0, 3),)))

    class Write(torch.nn.Module):
        def forward(self, x, y):
            x.add_(y)
            return x.sum()

    save("write_planned", (Write(), (torch.ones(3), torch.ones(3))))
    save("write_unplanned", (Write(), (torch.ones(3), torch.ones(3))), inputs=False, outputs=False)

    save("dynamic", (fixed(1, lambda x: x + 1), (torch.ones(2, 3),)), dynamic=({0: Dim("n", min=1, max=8)},))
    save("scalars", (fixed(4, lambda x, y, z, u: x + y * z if u else x - y), (torch.ones(3), 2, 0.5, True)))
    save("string", (fixed(2, lambda x, y: x + 1 if y == "one" else x), (torch.ones(3), "one")))
    save("outputs", (fixed(1, lambda x: (x + 1, None, 3, x, 2.5)), (torch.ones(3),)))
    save("gather", (fixed(2, lambda x, y: torch.gather(x, 0, y)), (torch.ones(4), torch.zeros(2, dtype=torch.int64))))
    save("constant", (module_constant(), (torch.ones(2),)))
    save("two_methods", {"forward": (fixed(2, lambda x, y: x + y), (f32, f32)), "other": (fixed(2, lambda x, y: x + y + 1), (f32, f32))})
    save("counter", (Counter(), (f32,)), emit_mutable_buffer_names=True)
    shared = Shared()
    peek = Shared()
    peek.forward = peek.peek
    save("shared_state", {"forward": (shared, (torch.ones(3),)), "peek": (peek, (torch.ones(3),))}, emit_mutable_buffer_names=True)
    image = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
    save("channels_last", (fixed(1, lambda x: torch.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")), (image,)))

    linear = torch.nn.Linear(3, 2)
    with torch.no_grad():
        linear.weight.copy_(torch.arange(6.0).reshape(2, 3)), linear.bias.fill_(0.5)
    made = save("external", (linear, (torch.ones(3),)), external_constants=True)
    (OUT / "external.ptd").write_bytes(bytes(next(iter(made._tensor_data.values()))))

    library = Library("testing", "DEF")
    library.define("scale(Tensor x, float by) -> Tensor")
    library.define("scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)")

    @impl(library, "scale", "CompositeExplicitAutograd")
    def scale(x, by):
        return x * by

    @impl(library, "scale.out", "CompositeExplicitAutograd")
    def scale_out(x, by, *, out):
        return out.copy_(x * by)

    save("custom", (fixed(1, lambda x: torch.ops.testing.scale(x + 1, 3.0)), (torch.ones(3),)))
    made = save("custom_reuse", (fixed(1, lambda x: torch.ops.testing.scale(x, 3.0) + 1), (f32,)))
    assert reuses_input_bytes(made)


def module_constant():
    class Constant(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.tensor([3.0, 4.0]))

        def forward(self, x):
            return x + self.table, self.table

    return Constant()


if __name__ == "__main__":
    main()
