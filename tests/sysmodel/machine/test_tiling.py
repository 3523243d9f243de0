"""How the driver cuts a GEMM into launches."""

import pytest

from sysmodel.config.model import load_model
from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from sysmodel.machine.credits import credit_windows
from sysmodel.machine.tiling import kernel_of, launches
from tests.support.small_system import scaled, small_system

LLAMA = ("llama-3-8b", "llama-3-70b", "llama-3-405b")
MODELS = ("gpt-3", *LLAMA, "mixtral-8x22b", "deepseek-v3")


def cut(system, m, n, k, gpus):
    return launches(system, m, n, k, gpus)


def test_an_output_that_fits_is_one_launch():
    system = small_system()
    assert cut(system, 1024, 768, 64, 4) == (kernel_of(system, 1024, 768, 64, 4),)


@pytest.mark.parametrize("layout", ["column-major", "row-major"])
@pytest.mark.parametrize(
    "m,n,gpus,fewest", [(2048, 1536, 2, 8), (2048, 1500, 4, 4), (4096, 768, 8, 2)]
)
def test_slices_are_few_and_alike_and_fit_the_window(layout, m, n, gpus, fewest):
    """Macro-tiles of 128 x 96, 16 x 16 or 32 x 8; a window of 16 tracks 16 tiles for each GPU."""
    system = scaled(
        small_system(), t3={"credit_window_workgroups": 16}, kernel={"output_layout": layout}
    )
    slices = cut(system, m, n, 64, gpus)
    assert len(slices) == fewest
    assert sum(one.workgroups for one in slices) == 256
    outer = [one.layout.outer_total for one in slices]
    assert sum(outer) == (n if layout == "column-major" else m)
    assert max(outer) - min(outer) <= slices[0].layout.outer_extent
    for one in slices:
        assert one.layout.stride == slices[0].layout.stride
        assert max(one.chunks.sizes) <= 16
        credit_windows(one.chunks, system)


def test_slices_keep_the_chunks_alike():
    system = scaled(small_system(), t3={"credit_window_workgroups": 16})
    for one in cut(system, 2048, 3072, 64, 8):
        assert one.uniform


def test_a_window_below_a_macro_tile_for_each_gpu_is_refused():
    system = scaled(small_system(), t3={"tracker_sets": 1, "tracker_ways": 1})
    with pytest.raises(InputError) as refused:
        cut(system, 2048, 1536, 64, 4)
    assert refused.value.field == "t3.credit_window_workgroups"


@pytest.mark.parametrize("name", ["asplos24", "h200", "mi300x", "b200"])
@pytest.mark.parametrize("model", MODELS)
def test_todays_models_can_all_be_launched(name, model):
    system, known = load_system(name), load_model(model)
    for layer in known.reduced:
        for tp in (2, 8, 64):
            for tokens in (2048, 65536):
                work = known.workload(layer, tp, tokens)
                slices = cut(system, work.m, work.n, work.k, tp)
                assert sum(one.tiling.m * one.tiling.n for one in slices) == work.m * work.n
                for one in set(slices):
                    assert one.uniform
                    credit_windows(one.chunks, system)


def test_a_library_takes_smaller_tiles_where_large_ones_do_not_fill_the_gpu():
    h200 = load_system("h200")
    tiles = {m: kernel_of(h200, m, 4096, 4096, 2).tiling for m in (50, 512, 4096)}
    assert [(one.tile_m, one.tile_n) for one in tiles.values()] == [
        (64, 32),
        (128, 128),
        (128, 256),
    ]
    first = scaled(h200, kernel={"tile_choice": "first"})
    assert kernel_of(first, 50, 4096, 4096, 2).tiling.tile_n == h200.kernel.tile_n


def test_equal_chunks_are_preferred_to_a_fast_tile():
    h200 = load_system("h200")
    for tp in (2, 4, 8, 16):
        kernel = kernel_of(h200, 512, 4096, 4096, tp)
        assert kernel.uniform
