"""Estimates of a GEMM's time, by which a library chooses among its macro-tiles."""

import pytest

from sysmodel.config.system import load_system
from sysmodel.machine.tile_choice import gemm_estimate_ns
from sysmodel.machine.tiling import kernel_of
from t3.experiments.efficiency import gemm_alone

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
    narrow, wide = (kernel_of(with_port(width), m, n, k, 1).tiling for width in (128, 1024))
    loaded = wide.workgroups * 2 * (wide.tile_m + wide.tile_n) * k
    slices_ns = loaded / (SLICES * 128 / B200.cycle_ns)
    wide_ns = gemm_estimate_ns(with_port(1024), wide)
    assert slices_ns <= wide_ns <= gemm_estimate_ns(with_port(128), narrow)


def test_a_small_tile_loads_as_far_ahead_as_it_says():
    """128 x 64 tiles of a short output: one tile on each CU, so a step waits for its loads."""
    h200 = load_system("h200")
    times_ns = []
    for depth in (1, 3):
        tiles = [
            one.model_copy(update={"prefetch_depth": depth}) for one in h200.kernel.alternatives
        ]
        kernel = h200.kernel.model_copy(update={"alternatives": tuple(tiles)})
        system = h200.model_copy(update={"kernel": kernel})
        chosen = kernel_of(system, 1024, 1024, 2048, 1).tiling
        assert (chosen.tile_m, chosen.tile_n, chosen.prefetch_depth) == (128, 64, depth)
        times_ns.append(gemm_alone(system, 1024, 1024, 2048).time_ns)
    assert times_ns[1] < 0.8 * times_ns[0]
