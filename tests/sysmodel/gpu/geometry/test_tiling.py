import pytest

from tests.support.small_kernel import small_kernel


def test_steps_and_tiles_round_up_and_flops_and_bytes_do_not():
    tiling = small_kernel(m=250, k=50).tiling
    assert tiling.steps == 4
    assert (tiling.grid_m, tiling.grid_n, tiling.workgroups) == (4, 4, 16)
    assert tiling.step_flops == 2 * 64 * 8 * 16
    assert tiling.flops == 2 * 250 * 32 * 50
    assert tiling.output_bytes == 250 * 32 * 2


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"tile_m": 48, "waves_m": 3}, "kernel.waves_m must be 1, 2 or 4, not 3"),
        ({"waves_n": 8}, "kernel.waves_n must be 1, 2 or 4, not 8"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small_kernel(**changes)
