"""Times against the roofline by hand."""

import pytest

from sysmodel.config.system import load_system
from t3.experiments.transformer.layer import forward
from t3.experiments.transformer.operators import FP32, MIXED, Gemm, LayerShape, Operator
from t3.experiments.transformer.timing import MEMORY_SHARE, operator_ns, time_by_kind

SYSTEM = load_system("asplos24")
PEAK = 80 * 1.4 * 1024  # FLOP/ns
BYTES = 32 * 32 * 1.0  # per ns


def product(m, n, k, element=2):
    gemm = Gemm(m, n, k)
    return Operator(
        name="product",
        kind="gemm",
        phase="forward",
        read_bytes=gemm.operands * element,
        written_bytes=gemm.outputs * element,
        gemm=gemm,
    )


def test_a_large_gemm_takes_the_library_s_time():
    expected = 2 * 8192 * 4096 * 2048 / (PEAK * 0.94 * 2048 / (2048 + 210))
    assert operator_ns(product(8192, 4096, 2048), SYSTEM) == pytest.approx(expected)


def test_a_gemm_is_no_faster_than_its_bytes():
    moved = 2 * (8192 + 4096 + 8192 * 4096)
    assert operator_ns(product(8192, 4096, 1), SYSTEM) == pytest.approx(
        max(moved / (BYTES * MEMORY_SHARE), 2 * 8192 * 4096 / (PEAK * 0.94 / 211))
    )
    thin = product(16, 8192, 8192)
    assert operator_ns(thin, SYSTEM) == pytest.approx(thin.moved_bytes / (BYTES * MEMORY_SHARE))


def test_fp32_is_an_eighth_of_the_rate_with_the_same_fixed_costs():
    half, full = product(8192, 4096, 1024), product(8192, 4096, 1024, element=4)
    products = 2 * 8192 * 4096 * 1024 / (PEAK * 0.94)
    fixed = products * 210 / 1024
    assert operator_ns(half, SYSTEM, MIXED) == pytest.approx(products + fixed)
    assert operator_ns(full, SYSTEM, FP32) == pytest.approx(8 * products + fixed)


def test_a_stream_takes_its_bytes_time():
    norm = forward(LayerShape(hidden=1024, heads=16, sequence=512, batch=8))[0]
    assert operator_ns(norm, SYSTEM) == pytest.approx(4 * 1024 * 4096 / (BYTES * MEMORY_SHARE))


def test_kinds_sum_to_the_whole():
    operators = forward(LayerShape(hidden=1024, heads=16, sequence=512, batch=8))
    times = time_by_kind(operators, SYSTEM)
    assert set(times) == {"gemm", "attention gemm", "attention", "normalisation", "activation"}
    assert sum(times.values()) == pytest.approx(sum(operator_ns(one, SYSTEM) for one in operators))
