"""Plans: the simulated GEMMs of a run, and the extrapolation from them."""

from fractions import Fraction

import pytest

from sysmodel.config.model import workload_of
from sysmodel.config.system import load_system
from sysmodel.gpu.geometry.chunks import Chunks
from sysmodel.gpu.geometry.output_layout import OutputLayout
from sysmodel.gpu.geometry.tiling import Tiling
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError
from sysmodel.runs import plan
from sysmodel.runs.configurations.registry import BASE
from sysmodel.runs.extrapolation import ExtrapolatedKernel
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

T3 = ("t3", "t3-mca", "t3-critical")
GOLDEN = RunOptions(engine="golden", channels="all")
SAMPLED = RunOptions(engine="golden", configurations=("sequential", "t3"))


def kernel(m, n=768, k=512):
    tiling = Tiling(
        m=m, n=n, k=k, tile_m=128, tile_n=96, depth_u=64, waves_m=4, waves_n=1, prefetch_depth=2
    )  # fmt: skip
    chunks = Chunks(tiling=tiling, owners=4, workgroup_mapping=8)
    return Kernel(OutputLayout(tiling, column_major=True), chunks)


def test_channels_that_are_chosen_must_be_buildable(monkeypatch):
    monkeypatch.setattr(plan, "samples", lambda system: (256,))
    with pytest.raises(InputError, match="256 are not allowed with the RTL engine"):
        Plan(workload(4096, 4096, 1024, 4), load_system("h200"), RunOptions())


@pytest.mark.parametrize(
    ("name", "rows", "channels"),
    [
        ("asplos24", 128, 32),
        ("asplos24", 512, 16),
        ("h100", 128, 160),
        ("h200", 512, 32),
        ("b200", 2048, 16),
        ("mi300x", 8192, 8),
    ],
)
def test_as_many_channels_as_are_little_work(name, rows, channels):
    system, work = load_system(name), workload(rows, 8192, 448, 8)
    made = Plan(work, system, RunOptions(engine="golden"))
    band = 0 if channels == system.dram.channels else 0.03
    assert (made.channels, made.sampling_band) == (channels, band)


@pytest.mark.parametrize(("name", "channels"), [("asplos24", 1), ("h200", 16), ("mi300x", 4)])
def test_the_fewest_channels_for_the_rtl(name, channels):
    """The RTL is built for each number of channels, which takes longer than a small simulation."""
    made = Plan(workload(512, 8192, 448, 8), load_system(name), RunOptions(engine="rtl"))
    assert (made.channels, made.sampling_band) == (channels, 0.03)


@pytest.mark.parametrize(
    ("model", "layer", "tp"), [("t-nlg", "fc2", 8), ("t-nlg", "op", 16), ("gpt-3", "op", 32)]
)
def test_one_channel_stands_for_all_in_sublayers_of_the_evaluation(model, layer, tp):
    made = Plan(workload_of(model, layer, tp), load_system(), RunOptions(engine="golden"))
    assert (made.channels, made.sampling_band) == (1, 0.03)


def test_a_small_run_is_simulated_whole():
    made = Plan(workload(1024, 768, 512, 4), small_system(), GOLDEN)
    ((one, times),) = made.parts[0].whole.items()
    assert times == 1 and one.kernel == one.base and not one.smaller
    assert made.parts[0].launches == made.parts[0].whole
    assert not made.is_extrapolated


@pytest.mark.parametrize("a,b,c,d", [(0, 1, 0, 0), (7, 3, 0, 0), (0, 0, 0, 5), (0, 2, 3, 6)])
def test_estimate_is_exact_if_linear_in_rows_and_depth(a, b, c, d):
    """``a + b m`` of the rows alone, or the product of that and ``c + d k``."""

    def value(one):
        m, k = one.tiling.m, one.tiling.k
        rows = a + b * m if (a, b) != (0, 0) else m
        return rows * (c + d * k if (c, d) != (0, 0) else 1)

    whole, base = kernel(8192, k=4096), kernel(1024, k=512)
    smaller = kernel(512, k=512), kernel(1024, k=256)
    assert ExtrapolatedKernel(whole, base, smaller).value(value) == value(whole)


def test_values_independent_of_depth_are_not_extrapolated_in_depth():
    whole, base, less = kernel(1024, k=4096), kernel(1024, k=512), kernel(1024, k=256)
    one = ExtrapolatedKernel(whole, base, (less,))
    assert one.value(lambda of: of.tiling.k, deepens=False) == 512
    assert one.value(lambda of: 0) == Fraction(0)


@pytest.mark.parametrize(
    ("name", "m", "n", "k"),
    [("h200", 4096, 13312, 16384), ("h100", 32768, 8192, 3584), ("mi300x", 65536, 16384, 2048)],
)
def test_extrapolated_rounds_of_workgroups_are_within_5_percent_of_the_whole(name, m, n, k):
    system = load_system(name)
    workgroups_per_round = system.gpu.compute_units * system.gpu.workgroups_per_cu
    made = Plan(workload(m, n, k, 8), system, RunOptions(engine="golden", configurations=(BASE,)))
    ((one, _),) = made.parts[0].whole.items()
    assert one.smaller

    def rounds(kernel):
        return -(-kernel.workgroups // workgroups_per_round)

    assert float(one.value(rounds)) == pytest.approx(rounds(one.kernel), rel=0.05)


def test_extrapolated_from_rows_that_divide_the_whole_where_channels_are_many():
    made = Plan(workload(16384, 16384, 2048, 8), load_system("mi300x"), SAMPLED)
    (*_, (one, _)) = made.parts[0].whole.items()
    rows = [kernel.tiling.m for kernel in one.simulated]
    assert len(rows) > 1 and not any(16384 % m for m in rows)


@pytest.fixture(
    scope="module",
    params=[
        ("asplos24", 16384, 12288, 1024, 8_000_000),
        pytest.param(("asplos24", 8192, 12288, 6144, 8_000_000), marks=pytest.mark.verify),
        # Many channels, over which sizes that do not divide the whole spread unevenly.
        pytest.param(("mi300x", 8192, 2048, 1024, 7_500_000), marks=pytest.mark.verify),
        # Few rounds of workgroups, which sizes with few rows round up.
        pytest.param(("h200", 4096, 13312, 2048, 24_000_000), marks=pytest.mark.verify),
    ],
)
def small_and_whole(request):
    """A GEMM simulated whole, and from smaller ones: with fewer rows; with less depth as well."""
    name, m, n, k, most_work = request.param
    system, work = load_system(name), workload(m, n, k, 8)
    whole = simulate(Plan(work, system, SAMPLED))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan, "_MOST_WORK", most_work)
        small = simulate(Plan(work, system, SAMPLED))
    assert small.extrapolated and not whole.extrapolated
    assert small.simulated_share < 0.9
    return small, whole


def test_extrapolated_times_are_within_8_percent_of_the_whole(small_and_whole):
    small, whole = small_and_whole
    for name in ("sequential", "t3"):
        one, other = small.configurations[name], whole.configurations[name]
        assert one.ns["gemm"] == pytest.approx(other.ns["gemm"], rel=0.08), name
        assert one.ns["ag"] == pytest.approx(other.ns["ag"], rel=0.05), name
        assert one.total_ns == pytest.approx(other.total_ns, rel=0.08), name


@pytest.mark.parametrize(
    ("n", "configurations"),
    [
        (1536, SAMPLED.configurations),
        pytest.param(1536, GOLDEN.configurations, marks=pytest.mark.verify),
        pytest.param(1500, GOLDEN.configurations, marks=pytest.mark.verify),
    ],
)
def test_extrapolated_bytes_are_those_of_the_whole(n, configurations, monkeypatch):
    system, work = small_system(), workload(6144, n, 1024, 4)
    options = RunOptions(engine="golden", channels="all", configurations=configurations)
    whole = simulate(Plan(work, system, options))
    monkeypatch.setattr(plan, "_MOST_WORK", 1_200_000)
    small = simulate(Plan(work, system, options))
    assert small.extrapolated and small.simulated_share < 0.6
    for name, one in small.configurations.items():
        other = whole.configurations[name]
        for kind in ("gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"):
            assert one.dram_bytes.as_dict()[kind] == other.dram_bytes.as_dict()[kind], (name, kind)
        assert one.link_bytes == other.link_bytes, name


def test_deep_sums_are_extrapolated_from_less_depth_while_they_hide_the_reduce_scatter(monkeypatch):
    monkeypatch.setattr(plan, "_MOST_WORK", 30_000_000)
    system = small_system()
    made = Plan(workload(2048, 768, 65536, 4), system, GOLDEN)
    ((one, _),) = made.parts[0].whole.items()
    tilings = [each.tiling for each in one.simulated]
    assert [(each.m, each.n) for each in tilings] == [(2048, 768)] * 2
    deep, less = (each.k for each in tilings)
    assert deep == 2 * less <= 65536 // 2
    gemm_ns = 2 * 2048 * 768 * less / system.peak_flops_per_ns
    link_ns = 2048 * 768 * 2 * 3 / 4 / system.link.bandwidth_gb_per_s
    assert gemm_ns >= 2 * link_ns


@pytest.fixture(
    scope="module", params=["column-major", pytest.param("row-major", marks=pytest.mark.verify)]
)
def sliced(request):
    """A GEMM that T3 tracks in several launches."""
    system = scaled(
        small_system(),
        t3={"credit_window_workgroups": 16},
        kernel={"output_layout": request.param},
    )
    result = simulate(Plan(workload(2048, 1536, 512, 4), system, GOLDEN))
    assert result.launches == 4 and not result.extrapolated
    return result


def test_slices_move_the_bytes_of_the_closed_form(sliced):
    output, gpus = 2048 * 1536 * 2, 4
    chunk = output // gpus
    for name in T3:
        one = sliced.configurations[name]
        moved = one.dram_bytes
        assert moved.write["gemm"] == moved.write["rs"] == (gpus - 1) * chunk
        assert moved.read["rs"] == (gpus - 2) * chunk
        assert moved.read["ag"] == moved.write["ag"] == (gpus - 1) * chunk
        assert one.link_bytes.payload["rs"] == one.link_bytes.payload["ag"] == (gpus - 1) * chunk


def test_slices_cost_their_launches_and_tails(sliced):
    launch_ns = load_system().gpu.kernel_launch_ns
    for name in T3:
        one = sliced.configurations[name]
        factors = one.gemms["gemm"].waiting * one.gemms["gemm"].link * one.gemms["gemm"].contention
        assert factors == pytest.approx(one.gemms["gemm"].slowdown)
        assert one.ns["gemm"] > sliced.configurations["sequential"].ns["gemm"] + 2 * launch_ns


@pytest.mark.parametrize("rows,tp,gpus", [(1024, 4, "mirror"), (1024, 7, "all"), (1000, 5, "all")])
def test_every_gpu_is_simulated_where_one_cannot_represent_all(rows, tp, gpus):
    assert Plan(workload(rows, 768, 96, tp), small_system(), GOLDEN).gpus == gpus


@pytest.mark.parametrize("tp", [3, 5, 6, 7, 12, 72])
@pytest.mark.parametrize("name", ["asplos24", "h200"])
@pytest.mark.parametrize("size", [4096, 8192])
def test_any_number_of_gpus_has_a_plan(name, tp, size):
    plan = Plan(workload(size, size, 256, tp), load_system(name), SAMPLED)
    for kernel in plan.kernels:
        sizes = kernel.chunks.sizes
        assert len(sizes) == tp
        assert max(sizes) - min(sizes) <= 1


def test_more_gpus_than_workgroups_are_refused_with_the_most_that_work():
    with pytest.raises(InputError, match="allowed: tp up to 4, or a larger matrix"):
        Plan(workload(256, 192, 96, 5), small_system(), GOLDEN)


@pytest.mark.parametrize(
    "group", [32, *(pytest.param(size, marks=pytest.mark.verify) for size in (2, 16, 128))]
)
def test_a_group_larger_than_a_chunk_ends_with_the_chunk(group):
    """Chunks of 16 workgroups: all larger groups are groups of 16."""
    times = []
    for size in (group, min(group, 16)):
        system = scaled(small_system(), t3={"group_workgroups": size})
        result = simulate(Plan(workload(1024, 768, 128, 4), system, SAMPLED))
        times.append(result.configurations["t3"].total_ns)
    assert times[0] == times[1]


@pytest.mark.parametrize(
    "names,size,message",
    [
        (("cu-split-8",), (1024, 768, 128, 4), "configurations: cu-split-8 gives 8 CUs to"),
    ],
)
def test_what_a_configuration_lacks_is_refused_before_the_run(names, size, message):
    options = RunOptions(engine="golden", configurations=names, gpus="all")
    with pytest.raises(InputError, match=message):
        Plan(workload(*size), small_system(), options)
