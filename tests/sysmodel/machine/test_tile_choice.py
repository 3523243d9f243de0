"""Estimates of a GEMM's time, by which a library chooses among its macro-tiles."""

import pytest

from sysmodel.config.system import load_system
from sysmodel.machine.tile_choice import gemm_estimate_ns
from sysmodel.machine.tiling import kernel_of

B200 = load_system("b200")
SLICES = 128


def with_port(bytes_per_cycle: int):
    """A B200 with few slices, and with ports of another width."""
    gpu = B200.gpu.model_copy(update={"cu_bandwidth_bytes_per_cycle": bytes_per_cycle})
    l2 = B200.l2.model_copy(update={"slices": SLICES})
    return B200.model_copy(update={"gpu": gpu, "l2": l2})


@pytest.mark.parametrize("m,n,k", [(1024, 4096, 4096), (2048, 6144, 4096), (8192, 8192, 1024)])
def test_a_wider_port_takes_no_tile_that_loads_more_than_the_l2_gives(m, n, k):
    """Each workgroup loads a row of A and a row of B for each row and column of its tile."""
    narrow, wide = (kernel_of(with_port(width), m, n, k, 1) for width in (128, 1024))
    loaded = wide.workgroups * 2 * (wide.tile_m + wide.tile_n) * k
    slices_ns = loaded / (SLICES * 128 / B200.cycle_ns)
    wide_ns = gemm_estimate_ns(with_port(1024), wide)
    assert slices_ns <= wide_ns <= gemm_estimate_ns(with_port(128), narrow)
