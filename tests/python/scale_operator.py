"""The operator of custom.pte, registered once for all tests of a process; `behaviour` is what it does besides."""

import numpy as np

import etrt

behaviour = []


def scale(x, by, out):
    for act in behaviour:
        act(x, by, out)
    np.asarray(out)[...] = np.asarray(x) * by


etrt.register_operator("testing::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)", scale)
