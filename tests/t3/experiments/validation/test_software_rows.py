"""Software overlap on real GPUs: published times of GEMMs with a collective beside the model."""

import pytest

from t3.experiments.validation.software_comparison import (
    LEAST_AGREEMENT,
    agreement,
    compare_software,
)
from t3.experiments.validation.software_rows import software_rows

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def compared():
    return compare_software()


def of(compared, name, operation="gemm_rs"):
    return [
        one for one in compared if (one.row.kernel.name, one.row.operation) == (name, operation)
    ]


def test_losses_of_a_cut_gemm_come_out(compared):
    """A piece has 64 or 128 rows, and all weights are read again for each. Kraken's kernel is
    persistent; PyTorch launches pieces from the host, which takes about 40 us for each."""
    for kraken, late in zip(of(compared, "kraken"), of(compared, "async-TP"), strict=True):
        assert kraken.row.m == late.row.m
        assert kraken.holds and late.holds
        assert abs(kraken.torch_difference) < 0.2
        assert kraken.sequential_ns < kraken.kernel_ns < late.kernel_ns


def test_an_all_gather_before_a_cut_gemm(compared):
    """PyTorch's decomposition with 17 us between pieces; the sum of the library's parts."""
    (one,) = of(compared, "async-TP", "ag_gemm")
    assert abs(one.torch_difference) < 0.05
    assert abs(one.difference) < 0.05


def test_the_model_has_the_right_winner(compared):
    right, known = agreement(compared)
    assert known == sum(one.wins is not None for one in software_rows())
    assert right >= LEAST_AGREEMENT * known
