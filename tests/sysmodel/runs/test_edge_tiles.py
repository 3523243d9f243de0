"""Edge tiles of every number of wavefronts: T3 runs end, and move each byte."""

import pytest

from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

SYSTEM = small_system(compute_units=4)
TILE = 128


@pytest.mark.parametrize("granularity", ["workgroup", "wavefront"])
@pytest.mark.parametrize("rows", [TILE // 4, TILE // 2, 3 * TILE // 4])
@pytest.mark.parametrize("columns", [0, TILE // 4])
def test_an_edge_with_some_of_the_wavefronts(granularity, rows, columns):
    """With half of the rows, the first and the third wavefront have atoms. The bytes of each run
    are checked against their closed forms."""
    system = scaled(SYSTEM, t3={"granularity": granularity})
    options = RunOptions(
        engine="golden",
        configurations=("sequential", "t3", "t3-one-launch"),
        channels="all",
        gpus="all",
    )
    work = workload(2 * TILE + rows, 3 * TILE + columns, 64, 3)
    plan = Plan(work, system, options)
    tiling = plan.parts[0].kernel.tiling
    assert (tiling.tile_m, tiling.waves) == (TILE, 4)
    assert columns or tiling.waves_m == 2
    result = simulate(plan)
    assert all(one.total_ns > 0 for one in result.configurations.values())
