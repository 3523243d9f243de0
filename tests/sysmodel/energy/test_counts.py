"""Counted events of simulated runs, compared with the chunks of the ring."""

import dataclasses

import pytest
from amaranth.hdl import Fragment

from rtl.top import T3
from sysmodel.engine.gated_blocks import gated_blocks_within
from sysmodel.engine.hardware import hardware_parameters
from sysmodel.runs.configurations.sequential import sequential
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import context_of, scaled, small_system, workload

_GPUS = 4
_WORK = workload(1024, 768, 64, _GPUS)
_ATOMS = _WORK.output_bytes // _GPUS // 32  # atoms of a chunk
_NAMES = ("sequential", "t3", "t3-mca", "ideal-overlap", "ideal-rs-nmc", "cu-split-8")


def _run(system=None, **options):
    given = {"engine": "golden", "channels": "all", "configurations": _NAMES, **options}
    return simulate(Plan(_WORK, system or small_system(compute_units=16), RunOptions(**given)))


@pytest.fixture(scope="module")
def result():
    return _run()


@pytest.mark.parametrize("name", ["sequential", "ideal-overlap", "cu-split-8"])
def test_the_collectives_on_the_cus(result, name):
    """The reduce-scatter loads 2N - 1 chunks and stores N; the all-gather N - 1 each."""
    counted = result.configurations[name].events
    assert counted.cu_loads == (3 * _GPUS - 2) * _ATOMS
    assert counted.cu_stores == (2 * _GPUS - 1) * _ATOMS
    assert counted.cu_additions == (_GPUS - 1) * _ATOMS
    assert (
        counted.updates["gemm"] == counted.updates["rs"] == counted.dma_reads == counted.tiles == 0
    )


@pytest.mark.parametrize("name", ["t3", "t3-mca"])
def test_t3_leaves_the_cus_alone(result, name):
    counted = result.configurations[name].events
    assert counted.cu_loads == counted.cu_stores == counted.cu_additions == 0
    assert counted.updates["gemm"] == counted.updates["rs"] == (_GPUS - 1) * _ATOMS
    assert counted.dma_reads == (2 * _GPUS - 3) * _ATOMS
    # All tiles but those of the first chunk, which leaves at once: 128 x 96 in 4 wavefronts.
    assert counted.tiles == 4 * (1024 // 128) * (768 // 96) * (_GPUS - 1) // _GPUS


def test_the_ideal_with_nmc_takes_its_reduce_scatter_from_the_hardware(result):
    """The CUs run the all-gather; of the reduce-scatter they load and store the first chunk."""
    counted = result.configurations["ideal-rs-nmc"].events
    assert counted.cu_loads == counted.cu_stores == (_GPUS - 1 + 1) * _ATOMS
    assert counted.cu_additions == counted.updates["gemm"] == 0
    assert counted.updates["rs"] == (_GPUS - 1) * _ATOMS
    assert counted.dma_reads == (_GPUS - 2) * _ATOMS


def test_rows_are_opened(result):
    for name, one in result.configurations.items():
        accesses = one.dram_bytes.total // 32
        # A row has 64 atoms; nearly all that is opened is used.
        assert accesses / 64 < one.events.activates < 1.01 * accesses, name


def test_rows_opened_by_phase_are_those_that_the_memory_counts():
    """Without the collectives' phases the GEMM's rows remain."""
    system = small_system()
    options = RunOptions(engine="golden", channels="all", configurations=("sequential",))
    phases = sequential(context_of(_WORK, system, options))
    slower = scaled(system, link={"latency_ns": 5_000.0})
    late = sequential(context_of(_WORK, slower, options))
    assert (phases.counts["activates"][:3] > 0).all()
    assert late.counts["activates"][0] == phases.counts["activates"][0]


def test_ideal_overlap_costs_as_much_as_sequential(result):
    one, base = (result.configurations[name] for name in ("ideal-overlap", "sequential"))
    assert one.energy_j == base.energy_j
    assert one.energy_reduction == base.energy_reduction == 0


def test_t3_saves_energy_and_a_part_is_no_more_than_the_whole(result):
    base = result.configurations["sequential"].energy_total_j
    for name in ("t3", "t3-mca"):
        one = result.configurations[name]
        assert one.energy_total_j == pytest.approx(sum(dataclasses.astuple(one.energy_j)))
        assert one.energy_reduction == pytest.approx(1 - one.energy_total_j / base)
        assert one.energy_reduction > 0


@pytest.mark.parametrize(
    ("walkers", "within"), [(1, 0.1), pytest.param(4, 0.45, marks=pytest.mark.verify)]
)
def test_a_channel_stands_for_all(walkers, within):
    """All counts are exact but two.

    The number of opened rows depends on the order in which the DMA engine reads. Its walkers follow
    different rows of a tile; where one channel is simulated, all of them fill the same lane, and
    their rows alternate more often than with the lanes of all channels.
    """
    system = scaled(small_system(compute_units=16), t3={"dma_walkers": walkers})
    names = ("sequential", "t3")
    sampled, whole = (
        _run(system=system, channels=channels, configurations=names).configurations
        for channels in (1, "all")
    )
    for name in names:
        counts = whole[name].events.as_dict()
        for event, count in sampled[name].events.as_dict().items():
            # A block that all channels share has a clock as long as any channel uses it.
            bounds = {"activates": within, "flip_flop_clocks": 0.1}
            expected = pytest.approx(counts[event], rel=bounds.get(event, 0))
            assert count == expected, (name, event)


def test_every_gpu_counts_the_same(result):
    names = ("sequential", "t3")
    every = _run(gpus="all", configurations=names).configurations
    for name in names:
        mirrored = result.configurations[name].events.as_dict()
        for event, count in every[name].events.as_dict().items():
            within = 0.1 if event in ("activates", "flip_flop_clocks") else 0
            assert count == pytest.approx(mirrored[event], rel=within), (name, event)


def test_flip_flops_have_a_clock_where_something_happens(result):
    """An access passes some queues of a hundred flip-flops each; T3 has the tracker beside them.

    Most blocks are clock-gated at most times.
    """
    system = small_system(compute_units=16)
    hardware = T3(hardware_parameters(system, channels=system.dram.channels, contexts=1))
    blocks = gated_blocks_within(Fragment.get(hardware, None))
    all_of_them = sum(block.flip_flops for _, block in blocks)
    for name in ("sequential", "t3"):
        one = result.configurations[name]
        clocks, accesses = one.events.flip_flop_clocks, one.dram_bytes.total // 32
        assert 100 * accesses < clocks < 0.5 * all_of_them * one.total_ns / system.cycle_ns, name
    base, t3 = (result.configurations[name].events for name in ("sequential", "t3"))
    assert t3.flip_flop_clocks > base.flip_flop_clocks
