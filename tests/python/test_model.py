"""Random sequences of set, execute, edit, partial calls, borrow and free against a simple model of the rules."""

import gc
import os

import pytest

np = pytest.importorskip("numpy")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import etrt
from etrt import portable_lib
from conftest import DATA

EXAMPLES = int(os.environ.get("ETRT_MODEL_EXAMPLES", "40"))
STEPS = int(os.environ.get("ETRT_MODEL_STEPS", "50"))
PLANS = [f"mul_add_{p}_{r}" for p in ("planned", "unplanned") for r in ("reuse", "naive")]
VALUES = st.integers(-4, 4)


class Rules(RuleBasedStateMachine):
    """x * y + 1. An array is what it holds when a run happens; a result is what its run gave, until it is edited."""

    @initialize(name=st.sampled_from(PLANS), way=st.sampled_from(["method", "module"]))
    def load(self, name, way):
        path = str(DATA / f"{name}.pte")
        self.module = portable_lib._load_for_executorch(path) if way == "module" else None
        self.method = None if self.module else etrt.load(path).load_method("forward")
        self.kept = None  # arrays of the inputs bound
        self.held = []  # (array over a result, what it must hold)
        self.free = []

    def expected(self):
        return np.asarray(self.kept[0]) * np.asarray(self.kept[1]) + 1

    def note(self, outputs, clone, hold):
        (out,) = outputs
        array = np.asarray(out)
        assert (array == self.expected()).all(), (array, self.expected())
        if hold:
            self.held.append((array, array.copy()))

    def pick(self, what, value):
        """An array to pass: fresh, of an odd layout, one passed before, or a result held."""
        if what == "result" and self.held:
            return self.held[value % len(self.held)][0]
        if what == "again" and self.kept:
            return self.kept[value % 2]
        if what == "transposed":
            return np.full((3, 2), value, np.float32).T
        if what == "slice of a result" and self.held:
            return self.held[value % len(self.held)][0][::-1]
        if what == "tensor":
            return etrt.tensor(np.full((2, 3), value, np.float32))
        return np.full((2, 3), value, np.float32)

    KINDS = st.sampled_from(["fresh", "result", "again", "transposed", "slice of a result", "tensor"])

    @rule(a=KINDS, b=KINDS, u=VALUES, v=VALUES, clone=st.booleans(), hold=st.booleans())
    def run(self, a, b, u, v, clone, hold):
        x, y = self.pick(a, u), self.pick(b, v)
        call = self.module.forward if self.module else self.method
        before = self.kept
        self.kept = [x, y]
        self.note(call([x, y], clone), clone, hold)
        del before

    @rule(a=KINDS, u=VALUES, clone=st.booleans(), hold=st.booleans())
    def run_partly(self, a, u, clone, hold):
        if not self.kept:
            return
        x = self.pick(a, u)
        if self.module:
            self.kept = [x, self.kept[1]]
            self.note(self.module.forward([x], clone), clone, hold)
        else:
            with pytest.raises(etrt.ArgumentError):
                self.method([x])

    @rule(clone=st.booleans(), hold=st.booleans(), fetches=st.integers(1, 2))
    def run_again(self, clone, hold, fetches):
        if not self.kept:
            return
        if self.module:
            self.note(self.module.plan_execute("forward", clone), clone, hold)
        else:
            self.method.execute()
            for _ in range(fetches):
                self.note(self.method.get_outputs(clone), clone, hold)

    @rule(a=KINDS, b=KINDS, u=VALUES, v=VALUES)
    def set_inputs(self, a, b, u, v):
        if self.method:
            self.kept = [self.pick(a, u), self.pick(b, v)]
            self.method.set_inputs(self.kept)

    @rule(a=KINDS, u=VALUES, bad=st.sampled_from([None, np.zeros((2, 3)), np.zeros((2, 4), np.float32), "x", []]))
    def refused(self, a, u, bad):
        with pytest.raises(etrt.ArgumentError):
            (self.module.forward if self.module else self.method)([self.pick(a, u), bad])

    @rule(which=st.integers(0, 1), value=VALUES)
    def edit_input(self, which, value):
        if self.kept:
            self.edit(np.asarray(self.kept[which]), value)

    @rule(which=st.integers(0, 9), value=VALUES)
    def edit_result(self, which, value):
        if self.held:
            self.edit(self.held[which % len(self.held)][0], value)

    def edit(self, array, value):
        """Every array that shares the memory must then show it."""
        array[0, 1] = value
        self.held = [(a, a.copy() if np.shares_memory(a, array) else want) for a, want in self.held]

    @rule(which=st.integers(0, 9))
    def let_go(self, which):
        if self.held:
            self.held.pop(which % len(self.held))

    @rule()
    def collect(self):
        gc.collect(1)

    @invariant()
    def results_keep_their_numbers(self):
        for array, want in getattr(self, "held", ()):
            assert (array == want).all()

    def teardown(self):
        self.module = self.method = self.kept = None
        gc.collect(1)
        self.results_keep_their_numbers()


Rules.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck))
TestRules = Rules.TestCase
