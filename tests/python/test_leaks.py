"""Memory: resident size after many calls of each kind, each in a process of its own."""

import importlib.util
import os
import sys

import pytest

from test_import import python

pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

COMMON = """
import gc, sys
sys.path.insert(0, {here!r})
import numpy as np
import etrt
from etrt import portable_lib
def rss():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096
x = np.ones((2, 3), np.float32)
def path(name):
    return {data!r} + name + ".pte"
load = lambda name: etrt.load(path(name)).load_method("forward")
m, module = load("mul_add_planned_reuse"), portable_lib._load_for_executorch(path("mul_add_unplanned_naive"))
data = open(path("add_one"), "rb").read()
{work}
for i in range({warm}): work(i)
before = rss()
for i in range({count}): work(i)
grown = rss() - before
print(grown)
"""

WORK = {
    "run": "def work(i): m([x, x])",
    "fresh arrays": "def work(i): m([np.full((2, 3), i, np.float32), x])",
    "borrow": "def work(i): np.asarray(m([x, x], clone_outputs=False)[0]).sum()",
    "hold": "held = []\ndef work(i):\n    held.append(module.forward([x, x], False)[0])\n    del held[:-4]",
    "kept": "def work(i): module.forward([x, x]); module.forward([x]); module.plan_execute('forward')",
    "layouts": "def work(i): m([x[::-1], np.asfortranarray(x)])",
    "dlpack in": "class P:\n    def __dlpack__(self, **k): return x.__dlpack__()\n    def __dlpack_device__(self): return 1, 0\np = P()\ndef work(i): m([p, p]); m.execute()",
    "dlpack out": "def work(i):\n    t = m([x, x])[0]\n    np.from_dlpack(t); t.__dlpack__(); t.__dlpack__(max_version=(1, 0)); etrt.tensor(x).__dlpack__()",
    "buffers": "b = x.tobytes()\ndef work(i): m([memoryview(b).cast('f', (2, 3)), etrt.tensor(b, dtype='float32', shape=(2, 3))])",
    "refused": "def work(i):\n    for bad in ([x], [x, None], [x, x.astype('f8')], [x, x.T], 5):\n        try: m(bad)\n        except etrt.Error: pass",
    "tensor": "def work(i):\n    t = etrt.tensor([[i, 2.5]], dtype='bfloat16'); t.tolist(); t.astype('float32'); repr(t); t.tobytes(); np.asarray(t)",
    "load": "def work(i):\n    f = etrt.load(data).load_method('forward'); f(x); f.metadata; repr(f.metadata.input_tensor_meta(0))",
    "load refused": "def work(i):\n    try: etrt.load(data[:i % len(data)])\n    except etrt.Error: pass",
    "state": "c = load('counter')\ndef work(i):\n    s = c.state; s['runs'] = s['runs']; s.clone(); c(x); s.reset(); repr(s)",
    "operator": "import scale_operator\nc, y = load('custom'), np.ones(3, np.float32)\ndef work(i): c([y])",
    "operator fails": "from scale_operator import behaviour\nc, y = load('custom'), np.ones(3, np.float32)\n"
                      "def fails(*_): raise ValueError('no')\ndef work(i):\n    behaviour.append(fails)\n    try: c([y])\n    except etrt.Error: pass\n"
                      "    behaviour.clear()",
    "metadata": "p = etrt.load(data)\ndef work(i):\n    repr(p.metadata('forward')); p.describe(); p.check()\n    try: p.metadata('x')\n    except etrt.Error: pass",
    "attribute": "c = load('counter')\ndef work(i): np.asarray(c.get_attribute('runs')).sum()",
    "pickle": "import pickle\nt = m([x, x])[0]\ndef work(i): pickle.loads(pickle.dumps(t)); t.astype('float64'); t.numpy(); np.asarray(t)[0]",
    "changed": "def work(i):\n    y = np.ones((2, 3), np.float32)\n    m.set_inputs([y, y[:]])\n    y.resize((20, 30), refcheck=False)\n    try: m.execute()\n    except etrt.Error: pass",
    "cycles": "class H: pass\ndef work(i):\n    h = H(); h.me, h.m = h, load('add_one'); h.out = h.m([memoryview(x)], clone_outputs=False)",
    "module": "def work(i): portable_lib._load_for_executorch(path('two_methods')).run_method('other', [x, x])",
}
if importlib.util.find_spec("torch") is not None:
    WORK["torch"] = ("import torch\nt = torch.ones(2, 3)\n"
                     "def work(i): m([t, t.t().contiguous().t()]); m([t, t], clone_outputs=False)[0].sum(); module.forward([t, t]); module.forward([t], False)")


@pytest.mark.parametrize("what", WORK)
def test_memory_does_not_grow(path, what):
    count = 20000
    data = path("add_one")[: -len("add_one.pte")]
    done = python(COMMON.format(here=os.path.dirname(__file__), data=data, work=WORK[what], warm=count // 4, count=count))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2 * 2**20, f"{int(done.stdout) / 2**20:.1f} MB"
