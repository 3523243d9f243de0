"""Workloads: the shapes of the table, its names, and sizes out of bounds."""

import pytest

from sysmodel.config.model import workload_of
from sysmodel.config.workload import Workload
from sysmodel.lib.errors import InputError


@pytest.mark.parametrize(
    "model, layer, tp, shape",
    [
        ("t-nlg", "op", 8, (8192, 4256, 532)),
        ("t-nlg", "op", 16, (8192, 4256, 266)),
        ("t-nlg", "fc1", 16, (8192, 4256, 1064)),
        ("t-nlg", "fc2", 8, (8192, 4256, 2128)),
        ("t-nlg", "ip", 8, (8192, 4256, 1596)),
        ("mega-gpt-2", "op", 16, (16384, 3072, 192)),
        ("mega-gpt-2", "fc2", 8, (16384, 3072, 1536)),
        ("mega-gpt-2", "ip", 16, (16384, 3072, 576)),
        # The gradient of a gated feed-forward layer passes both projections; there are eight key
        # heads.
        ("llama-3-70b", "op", 8, (8192, 8192, 8192 // 8)),
        ("llama-3-70b", "fc2", 8, (8192, 8192, 28672 // 8)),
        ("llama-3-70b", "fc1", 8, (8192, 8192, 2 * 28672 // 8)),
        ("llama-3-70b", "ip", 8, (8192, 8192, (64 + 2 * 8) * 128 // 8)),
        ("llama-3-405b", "fc2", 64, (8192, 16384, 832)),
        # A quarter of the tokens goes to each of the experts.
        ("mixtral-8x22b", "fc2", 8, (2048, 6144, 2048)),
        ("mixtral-8x22b", "op", 8, (8192, 6144, 768)),
        ("deepseek-v3", "op", 8, (8192, 7168, 128 * 128 // 8)),
        ("deepseek-v3", "fc2", 8, (8192, 7168, 18432 // 8)),
    ],
)
def test_shapes(model, layer, tp, shape):
    work = workload_of(model, layer, tp)
    assert (work.m, work.n, work.k) == shape
    assert work.flops == 2 * shape[0] * shape[1] * shape[2]
    assert work.output_bytes == 2 * shape[0] * shape[1]


def test_the_paper_s_payloads():
    assert workload_of("t-nlg", "fc2", 8).output_bytes == pytest.approx(69.7e6, rel=1e-3)
    assert workload_of("mega-gpt-2", "fc2", 8).output_bytes == pytest.approx(100.7e6, rel=1e-3)


@pytest.mark.parametrize("layer", ["fc2", "FC2", "fc-2", "FC-2", "fc_2"])
@pytest.mark.parametrize("model", ["t-nlg", "T-NLG", "tnlg"])
def test_spellings(model, layer):
    assert workload_of(model, layer, 8).title == ("T-NLG fc2, TP 8 (8192 x 4256 x 2128)")


@pytest.mark.parametrize(
    "model, layer, tp, message",
    [
        ("gpt-9", "fc2", 8, "model: 'gpt-9' is not known; allowed: 10t, 1t, deepseek-v3"),
        ("", "fc2", 8, "model: '' is not known; allowed: 10t, 1t, deepseek-v3"),
        ("t-nlg", "fc3", 8, "layer: 'fc3' is not known; allowed: op, fc1, fc2, ip"),
        (
            "t-nlg",
            "fc2",
            5,
            "tp: 5 does not divide the 17024 products of T-NLG's fc2; allow",
        ),
        ("deepseek-v3", "ip", 8, "layer: 'ip' is not known; allowed: op, fc1, fc2"),
        ("t-nlg", "fc2", 1, "tp: 1 does not divide"),
        ("t-nlg", "fc2", 0, "tp: 0 does not divide"),
        ("t-nlg", "fc2", -8, "tp: -8 does not divide"),
        ("t-nlg", "fc2", 10**12, "tp: 1000000000000 does not divide"),
    ],
)
def test_names_and_degrees_that_are_not_known(model, layer, tp, message):
    with pytest.raises(InputError, match=message):
        workload_of(model, layer, tp)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"m": 0}, "m: 0 is not allowed; allowed: an integer from 1 to 1048576"),
        ({"m": 10**12}, "m: 1000000000000 is not allowed"),
        ({"n": -1}, "n: -1 is not allowed"),
        ({"k": 1 << 21}, "k: 2097152 is not allowed"),
        ({"tp": 73}, "tp: 73 is not allowed; allowed: an integer from 2 to 72"),
        ({"dtype": "fp8"}, "dtype: 'fp8' is not allowed; allowed: fp16, bf16"),
    ],
)
def test_sizes_out_of_bounds(change, message):
    sizes = {"model": "x", "layer": "y", "tp": 8, "m": 64, "n": 64, "k": 64}
    Workload(**sizes)
    with pytest.raises(InputError, match=message):
        Workload(**{**sizes, **change})


@pytest.mark.parametrize("tokens,rows", [(2048, 512), (65_536, 16_384), (3, 1)])
def test_tokens_that_are_asked_for(tokens, rows):
    assert workload_of("mixtral-8x22b", "fc2", 8, tokens).m == rows
    assert workload_of("mixtral-8x22b", "op", 8, tokens).m == tokens
