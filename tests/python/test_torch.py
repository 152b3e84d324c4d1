"""With torch: tensors in without a copy, tensors out."""

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

import etrt
from etrt import portable_lib

ones = torch.ones(2, 3)


def test_torch_in_torch_out(method, module):
    m = method("add_one")
    out = m([ones])[0]
    assert isinstance(out, torch.Tensor) and torch.equal(out, ones + 1)
    assert isinstance(m([ones.numpy()])[0], etrt.Tensor)
    assert isinstance(module("add_one")([ones.numpy()])[0], torch.Tensor)  # torch is imported: always
    out, none, three, same, half = method("outputs")(torch.ones(3))
    assert isinstance(out, torch.Tensor) and (none, three, half) == (None, 3, 2.5) and torch.equal(same, torch.ones(3))


@pytest.mark.parametrize("clone", [True, False])
def test_dtypes(method, clone):
    out = method("add_bf16")([torch.ones(2, 3, dtype=torch.bfloat16)], clone_outputs=clone)[0]
    assert out.dtype is torch.bfloat16 and torch.equal(out, torch.full((2, 3), 2.0, dtype=torch.bfloat16))
    out = method("add_int64")([torch.ones(2, 3, dtype=torch.int64)], clone_outputs=clone)[0]
    assert out.dtype is torch.int64 and out.sum() == 12


def test_every_torch_dtype_round_trips(path):
    from pte import with_dtype

    program = open(path("identity"), "rb").read()
    names = [str(d) for d in etrt._dtypes.BY_CODE]
    for name in names:
        dtype = getattr(torch, name, None)
        if dtype is None or name.startswith(("q", "bits")):
            continue
        x = torch.arange(6 * dtype.itemsize, dtype=torch.uint8).view(dtype).reshape(2, 3) if name != "bool" else ones.bool()
        m = etrt.load(with_dtype(program, names.index(name))).load_method("forward")
        for clone in (True, False):
            out = m([x], clone_outputs=clone)[0]
            assert out.dtype is dtype and out.contiguous().view(torch.uint8).tolist() == x.view(torch.uint8).tolist(), name


def test_reads_the_callers_memory(method):
    m, x = method("add_one"), torch.ones(2, 3)
    m.set_inputs([x])
    x.fill_(4)
    m.execute()
    assert torch.equal(m.get_outputs()[0], x + 1)
    for layout in (torch.ones(3, 2).t(), torch.ones(1, 3).expand(2, 3), torch.arange(12.0).reshape(2, 6)[:, ::2]):
        assert torch.equal(m([layout])[0], layout + 1)


@pytest.mark.parametrize("change, words", [
    (lambda x: x.t_(), "shape"),
    (lambda x: x.unsqueeze_(0), "shape"),
    (lambda x: x.untyped_storage().resize_(4000), "memory moved|storage"),
    (lambda x: x.set_(torch.zeros(2, 3)), "memory moved"),
    (lambda x: x.as_strided_((2, 3), (1, 2)), "strides"),
])
def test_a_changed_tensor_is_refused(method, change, words):
    m, x = method("add_one"), torch.ones(2, 3)
    m([x])
    keep = [torch.ones(2, 3) for _ in range(10)]
    change(x)
    if "memory" in words and x.data_ptr() == m._runner._bounds[0].pointer:
        pytest.skip("the memory did not move")
    with pytest.raises(etrt.ArgumentError, match=f"input 0 of method forward changed since it was given: .*({words}).*pass it again"):
        m.execute()
    assert torch.equal(m([keep[0]])[0], keep[0] + 1)


REFUSED = {
    "meta": (lambda: ones.to("meta"), r"Input 0 for method forward is on device meta, and only CPU and CUDA tensors can be passed to a method\."),
    "neg": (lambda: torch._neg_view(ones), "must be resolved before execution"),
    "conj": (lambda: torch.complex(ones, ones).conj(), "must be resolved before execution"),
    "sparse": (lambda: ones.to_sparse(), "to_dense"),
    "freed": (lambda: freed(torch.ones(2, 3)), "storage is not allocated"),
}


def freed(x):
    x.untyped_storage().resize_(0)
    return x


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(method, module, kind):
    make, words = REFUSED[kind]
    for m in (method("add_one"), module("add_one")):
        with pytest.raises(etrt.ArgumentError, match=words):
            m([make()])
        assert torch.equal(m([ones])[0], ones + 1)


def test_parameters_and_grad(method):
    m = method("add_one")
    p = torch.nn.Parameter(torch.ones(2, 3))
    assert torch.equal(m([p])[0], ones + 1) and not m([p])[0].requires_grad


def test_borrowed_and_shared(method):
    m = method("add_one")
    first = m([ones], clone_outputs=False)[0]
    second = m([ones * 5], clone_outputs=False)[0]
    assert first.sum() == 12 and second.sum() == 36
    m.set_inputs([first])
    for _ in range(3):
        assert torch.equal(m.execute(clone_outputs=False)[0], ones * 3)
    first.fill_(7)
    assert torch.equal(m.execute()[0], ones * 8)
    t = etrt.tensor(ones)
    assert torch.from_dlpack(t).data_ptr() == ones.data_ptr()
    assert etrt.tensor(torch.ones(2, dtype=torch.bfloat16)).dtype == "bfloat16"


def test_channels_last_results_keep_their_layout(method):
    x = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    want = torch.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
    for clone in (True, False):
        out = method("channels_last")([x], clone_outputs=clone)[0]
        assert torch.equal(out, want) and out.stride() == want.stride()


def test_attribute(path):
    m = portable_lib._load_program(path("counter")).load_method("forward")
    m([ones])
    assert torch.equal(m.get_attribute("runs"), ones)


class Liar(torch.Tensor):
    """Says of itself what isn't so."""

    shape = property(lambda self: torch.Size((2, 3)))

    def stride(self, *_):
        return 3, 1

    def data_ptr(self):
        return 16


def test_what_a_subclass_says_of_itself_is_not_believed(method):
    run = method("add_one")
    with pytest.raises(etrt.ArgumentError, match=r"float32\[1\]"):
        run([torch.ones(1).as_subclass(Liar)])
    liar = torch.ones(2, 3).as_subclass(Liar)
    assert (run([liar])[0] == 2).all()
    with torch._C.DisableTorchFunctionSubclass():
        torch.Tensor.t_(liar)
    with pytest.raises(etrt.ArgumentError, match="shape was"):
        run.execute()
