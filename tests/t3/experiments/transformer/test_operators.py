"""Operators against closed forms: flops, shapes, bytes."""

import math

import pytest

from sysmodel.config.model import known_models, workload_of
from sysmodel.lib.errors import InputError
from t3.experiments.transformer.layer import backward, forward
from t3.experiments.transformer.operators import FP32, MIXED, LayerShape
from t3.experiments.transformer.optimizer import adam, lamb

POINTS = [
    (model, tp)
    for model in known_models()
    if model.sublayers is None
    for tp in model.tensor_parallel
]
IDS = [f"{model.name}-{tp}" for model, tp in POINTS]


def flops(operators):
    return sum(one.flops for one in operators)


def named(operators, name):
    (found,) = (one for one in operators if one.name == name)
    return found


@pytest.mark.parametrize(("model", "tp"), POINTS, ids=IDS)
def test_flops_of_all_gpus_are_the_closed_form(model, tp):
    shape = LayerShape.of(model, tp, attention_tp=tp)
    head = model.head_dim or model.hidden // model.heads
    queries, keys = model.heads * head, (model.kv_heads or model.heads) * head
    into_ffn = 2 if model.gated else 1
    ffn = (into_ffn + 1) * (model.ffn or 4 * model.hidden) * model.experts_per_token
    matrices = model.hidden * (2 * queries + 2 * keys + ffn)
    # Every GPU computes the router.
    matrices += tp * model.hidden * (model.experts if model.experts > 1 else 0)
    attention = 4 * model.batch * model.sequence**2 * queries
    assert tp * flops(forward(shape, training=False)) == pytest.approx(
        2 * matrices * model.tokens + attention, rel=1e-12
    )
    assert tp * flops([*forward(shape), *backward(shape)]) == pytest.approx(
        6 * matrices * model.tokens + 3 * attention, rel=1e-12
    )


@pytest.mark.parametrize("kind", ["gemm", "attention gemm"])
def test_backward_gemms_do_twice_the_work_of_forward(kind):
    shape = LayerShape(hidden=768, heads=12, sequence=256, batch=3, tp=4, attention_tp=4)
    ahead, back = (
        [one for one in of if one.kind == kind] for of in (forward(shape), backward(shape))
    )
    assert flops(back) == 2 * flops(ahead) > 0
    assert len(back) == 2 * len(ahead)


@pytest.mark.parametrize(("model", "tp"), POINTS, ids=IDS)
def test_all_reduced_gemms_are_the_workloads(model, tp):
    shape = LayerShape.of(model, tp, attention_tp=tp)
    phases = {"forward": {"op", "fc2"}, "backward": {"fc1", "ip"}}
    for phase, operators in (("forward", forward(shape)), ("backward", backward(shape))):
        reduced = {one.sublayer: one for one in operators if one.sublayer}
        assert set(reduced) == phases[phase]
        for layer, one in reduced.items():
            work = workload_of(model.name, layer, tp)
            assert (one.gemm.m, one.gemm.n, one.gemm.k) == (work.m, work.n, work.k)
            assert one.written_bytes == work.output_bytes * one.gemm.count
            assert one.phase == phase


def test_only_sliced_operators_shrink():
    whole = LayerShape(hidden=1024, heads=16, sequence=128, batch=4)
    sliced = LayerShape(hidden=1024, heads=16, sequence=128, batch=4, tp=8, attention_tp=8)
    for one, eighth in zip(forward(whole), forward(sliced), strict=True):
        replicated = one.kind == "normalisation" or one.name.startswith("residual")
        expected = one.moved_bytes / (1 if replicated else 8)
        if one.gemm is None:
            assert eighth.moved_bytes == expected
        assert eighth.flops == one.flops / 8


def test_unsliced_attention_is_that_of_one_gpu():
    one_gpu = LayerShape(hidden=1024, heads=16, sequence=128, batch=4)
    unsliced = LayerShape(hidden=1024, heads=16, sequence=128, batch=4, tp=8, attention_tp=1)
    for of in (forward, backward):
        for ours, alone in zip(of(unsliced), of(one_gpu), strict=True):
            if ours.kind in ("attention", "attention gemm"):
                assert ours == alone
            elif ours.kind == "gemm":
                assert ours.flops == alone.flops / 8


def test_bytes_of_gated_experts():
    """Two of four experts for each token: 16 tokens make 32 rows, 8 for each expert."""
    shape = LayerShape(
        hidden=64, heads=4, sequence=8, batch=2, ffn=96, gated=True, experts=4, experts_per_token=2
    )
    ahead, back = forward(shape, training=False), backward(shape)
    whole, inside = 16 * 64, 32 * 96
    assert named(ahead, "dispatch").moved_bytes == whole * 2 * (1 + 2)
    assert named(ahead, "combine").moved_bytes == whole * 2 * (2 + 1)
    assert named(ahead, "gelu").moved_bytes == inside * 2 * 3
    assert named(back, "gelu").moved_bytes == inside * 2 * (3 + 2)
    fc2 = named(ahead, "fc-2").gemm
    assert (fc2.m, fc2.n, fc2.k, fc2.count) == (8, 64, 96, 4)
    fc1 = named(back, "fc-1 data").gemm
    assert (fc1.m, fc1.n, fc1.k, fc1.count) == (8, 64, 192, 4)


def test_parameters_of_known_models():
    """The counts leave out embeddings: Llama-3-70B has 128,256 words in and out, so 70.6 G less 2.1
    G."""
    for name, count in (("Llama-3-70B", 68.45e9), ("Mixtral-8x22B", 140.2e9), ("GPT-3", 174.0e9)):
        (model,) = (model for model in known_models() if model.name == name)
        layer = LayerShape.of(model, 1, attention_tp=1).parameters
        assert model.layers * layer == pytest.approx(count, rel=2e-3)


def test_bytes_of_memory_bound_operators():
    shape = LayerShape(hidden=64, heads=4, sequence=8, batch=2)
    whole, scores = 8 * 2 * 64, 2 * 4 * 8 * 8
    ahead, back = forward(shape), backward(shape)
    # Elements of two bytes, masks of one.
    assert named(ahead, "layer norm 1").moved_bytes == whole * 4
    assert named(ahead, "residual 1").moved_bytes == whole * (6 + 1)
    assert named(ahead, "gelu").moved_bytes == 4 * whole * 4
    assert named(ahead, "softmax").moved_bytes == scores * 4
    assert named(ahead, "attention dropout").moved_bytes == scores * (4 + 1)
    assert named(back, "layer norm 1").moved_bytes == whole * 10
    assert named(back, "residual 1").moved_bytes == whole * (10 + 1)
    assert named(back, "gelu").moved_bytes == 4 * whole * 6
    assert named(back, "softmax").moved_bytes == scores * 6


def test_a_prompt_has_no_dropout():
    shape = LayerShape(hidden=64, heads=4, sequence=8, batch=2)
    prompt = forward(shape, training=False)
    assert not [one for one in prompt if "dropout" in one.name]
    assert named(prompt, "residual 1").moved_bytes == 8 * 2 * 64 * 6


def test_accumulation_reads_every_weight_gradient_once_more():
    shape = LayerShape(hidden=256, heads=4, sequence=64, batch=2)
    once, again = backward(shape), backward(shape, accumulate=True)
    assert flops(once) == flops(again)
    extra = sum(one.read_bytes for one in again) - sum(one.read_bytes for one in once)
    assert extra == 12 * 256**2 * 2
    assert [one.written_bytes for one in once] == [one.written_bytes for one in again]


@pytest.mark.parametrize("precision", [MIXED, FP32], ids=lambda one: one.name)
@pytest.mark.parametrize("optimizer", [adam, lamb])
def test_bytes_of_an_optimizer(optimizer, precision):
    gradient = {"mixed": 2, "fp32": 4}[precision.name]
    weight = moment = 4
    copy = 2 if precision is MIXED else 0
    step = (gradient + weight + 2 * moment, 2 * moment)
    passes = {
        adam: [(step[0], step[1] + weight + copy)],
        lamb: [
            (gradient, 0),
            (weight, 0),
            (step[0], step[1] + gradient),
            (gradient, 0),
            (weight + gradient, weight + copy),
        ],
    }[optimizer]
    one = optimizer(1000, precision)
    assert one.read_bytes == 1000 * sum(read for read, _ in passes)
    assert one.written_bytes == 1000 * sum(written for _, written in passes)
    assert (one.kind, one.phase, one.flops) == ("optimizer", "update", 0)


def test_parameters_of_a_layer():
    assert LayerShape(hidden=512, heads=8, sequence=1, batch=1).parameters == 12 * 512**2 + 13 * 512
    sliced = LayerShape(hidden=512, heads=8, sequence=1, batch=1, tp=8)
    assert math.isclose(sliced.parameters, (12 * 512**2 + 7 * 512) / 8 + 6 * 512)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 7}, "heads: 7 is not allowed; allowed: a divisor of hidden = 512"),
        ({"tp": 3}, "tp: 3 is not allowed; allowed: a divisor of hidden = 512"),
    ],
)
def test_shapes_that_do_not_divide(change, message):
    with pytest.raises(InputError) as caught:
        LayerShape(**({"hidden": 512, "heads": 8, "sequence": 4, "batch": 1} | change))
    assert str(caught.value) == message
