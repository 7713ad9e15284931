"""The functional form of ops that write, found from schemas."""

import pytest
import torch
from calls import call_of

from torch_neuronx.eager.functional import form_for, form_of

aten = torch.ops.aten


@pytest.mark.parametrize(
    ("op", "form"),
    [
        (aten.add_.Tensor, aten.add.Tensor),
        (aten.add.out, aten.add.Tensor),
        (aten.mm.out, aten.mm.default),
        (aten.max.dim_max, aten.max.dim),
        (aten.div_.Tensor_mode, aten.div.Tensor_mode),
        (aten.copy_.default, aten.copy.default),
        (aten.fill_.Scalar, aten.fill.Scalar),
        (aten._index_put_impl_.default, aten._index_put_impl.default),
        (aten.__ilshift__.Scalar, aten.__lshift__.Scalar),
        (aten.normal_.default, aten.normal_functional.default),
        (aten.bernoulli_.float, aten.bernoulli.p),
        (aten.random_.default, aten.random.default),
        (aten.polygamma_.default, aten.polygamma.default),
        (aten._foreach_add_.Scalar, aten._foreach_add.Scalar),
        (aten._fused_adamw_.default, aten._fused_adamw.default),
        (aten.zeros.out, aten.zeros.default),
        (aten.arange.start_out, aten.arange.start_step),
        (aten._to_copy.out, aten._to_copy.default),
        (aten.rrelu_with_noise.default, aten.rrelu_with_noise_functional.default),
        (aten.native_batch_norm.default, aten._native_batch_norm_legit_functional.default),
    ],
)
def test_form(op, form):
    assert form_of(op).op is form


def test_an_op_that_writes_nothing_is_its_own_form():
    form = form_of(aten.sort.default)
    assert form.op is aten.sort.default
    assert (form.written, form.fresh) == ((), 2)


def test_results_are_the_fresh_ones_then_the_written_arguments():
    form = form_of(aten.rrelu_with_noise.default)
    assert (form.fresh, form.written) == (1, (1,))
    fused = form_of(aten._fused_adamw_.default)
    assert fused.fresh == 0
    assert len(fused.written) == len(fused.op._schema.returns)


def test_out_tensors_come_before_what_is_updated_in_place():
    form = form_of(aten._native_batch_norm_legit.out)
    assert (form.fresh, form.written) == (0, (8, 9, 10, 3, 4))
    assert form_of(aten.native_batch_norm.out).written == form.written


def test_the_out_tensor_decides_the_dtype_of_a_factory():
    call = call_of(aten.zeros.out, [3], out=torch.empty(3, dtype=torch.int16))
    form = form_for(call)
    assert form.arguments(call) == [[3], torch.int16, None, None, None]


def test_batch_norm_depends_on_its_statistics():
    x, stats = torch.zeros(2, 3), torch.zeros(3)

    def form(mean, var, training):
        op = aten.native_batch_norm.default
        return form_for(call_of(op, x, None, None, mean, var, training, 0.1, 1e-5))

    assert form(stats, stats, True).written == (3, 4)
    assert form(stats, stats, False).written == ()
    assert form(None, None, True).op is aten._native_batch_norm_legit.no_stats


def test_every_writing_op_of_the_device_has_a_form():
    """All overloads that a backend must provide; the exceptions are helpers of other backends."""
    without = set()
    for name in torch._C._dispatch_get_all_op_names():
        base, _, overload = name.partition(".")
        op = getattr(getattr(aten, base.removeprefix("aten::"), None), overload or "default", None)
        if base.startswith("aten::") and op is not None and op._schema.is_mutable:
            composite = torch._C._dispatch_has_kernel_for_dispatch_key(
                op.name(), "CompositeImplicitAutograd"
            )
            if not composite and form_of(op) is None:
                without.add(str(op))
    assert without <= {
        "aten._cummax_helper.default",
        "aten._cummin_helper.default",
        "aten._fill_mem_eff_dropout_mask_.default",
        "aten._flash_attention_forward_no_dropout_inplace.default",
        "aten._slow_conv2d_backward.grad_input",
        "aten.adaptive_avg_pool3d_backward.grad_input",
        "aten.record_stream.default",
        "aten.shallow_copy_data_.default",  # from torch 2.14: `x.data = y`, which moves no data
    }
