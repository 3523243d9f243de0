"""Lower bounds of a program's time: hand-computed, and never beaten by a configuration."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.lib.errors import InputError
from sysmodel.network.expansion import expand
from sysmodel.runs.options import CONFIGURATIONS, RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.activities import Gemm
from sysmodel.runs.program.files import load_program
from sysmodel.runs.program.program import Program
from sysmodel.runs.resource_bounds import resource_bounds
from sysmodel.runs.simulate import simulate
from tests.support.configurations import ON_A_RING
from tests.support.small_system import scaled, small_system, workload

WORK = workload(1024, 768, 512, 4)
OUTPUT = 1024 * 768 * 2
CHUNK = OUTPUT // 4
ASPLOS24 = load_system()


def bounds_of(program, system=ASPLOS24, topology="ring", work=WORK):
    loaded = load_topology(topology) if isinstance(topology, str) else topology
    return resource_bounds(
        load_program(program), work, system, expand(loaded, work.tp, system.link)
    )


def test_whole_tiles_on_whole_units():
    """80 CUs of 1024 flops a cycle at 1.4 GHz. Tiles of 128 x 96 make 64, one for a CU; those of
    128 x 128 would be 48, which take longer."""
    found = bounds_of("sublayer")
    assert found.gemm_ns["gemm"] == pytest.approx(2 * 128 * 96 * 512 / (1024 * 0.94) / 1.4)
    assert found.compute_ns == found.gemm_ns["gemm"]
    large = bounds_of("sublayer", work=replace(WORK, m=2048))  # 128 tiles, or 96: two for a CU
    assert large.compute_ns == pytest.approx(2 * found.compute_ns)


def test_several_gemms_share_the_units():
    """Four rounds of 0.8 waves each could fill 3.2 rounds."""
    gemms = Program("four", tuple(Gemm(f"gemm{i}") for i in range(4)))
    one = bounds_of("sublayer").compute_ns
    assert bounds_of(gemms).compute_ns == pytest.approx(4 * 0.8 * one, rel=1e-12)


SWITCH = load_topology("nvswitch-8")


@pytest.mark.parametrize(
    ("program", "switch", "chunks"),
    [
        ("sublayer", {}, 6),
        ("all-reduce", {}, 6),
        ("sublayer", {"multicasts": True}, 6),
        ("sublayer", {"reduces": True}, 6),
        ("sublayer", {"multicasts": True, "reduces": True}, 4),
        ("all-reduce", {"multicasts": True, "reduces": True}, 4),
    ],
)
def test_links_carry_the_least_bytes_at_the_best_share(program, switch, chunks):
    """Of a plain network each chunk of the others goes out for the sum, and comes back: 2(N - 1).
    Switches that reduce and multicast leave N of each direction for both. Of the packets, a copy
    engine's have the most payload."""
    system = scaled(load_system("h200"), copy_engine={"payload_share": 0.95})
    none = {"multicasts": False, "reduces": False}
    star = SWITCH.model_copy(update={"switch": SWITCH.switch.model_copy(update=none | switch)})
    found = bounds_of(program, system, star)
    assert found.link_ns == pytest.approx(chunks * CHUNK / (450 * 0.95))


def test_a_reduce_scatter_alone_needs_its_own_bytes():
    alone = Program("alone", load_program("sublayer").activities[:2])
    assert bounds_of(alone).link_ns == pytest.approx(3 * CHUNK / 150)


def test_the_memory_moves_operands_and_what_a_gpu_keeps():
    operands = (1024 + 768) * 512 * 2
    assert bounds_of("sublayer").memory_ns == pytest.approx(
        (operands + OUTPUT) / ASPLOS24.dram_bytes_per_ns
    )
    # The L2 of an H200 holds all, and keeps it after the end of a kernel.
    assert bounds_of("sublayer", load_system("h200")).memory_ns == 0


def random_case(random):
    """A small system, a workload and a program, at random."""
    pick = random.choice
    units, channels = int(pick([8, 16, 24])), int(pick([2, 4]))
    system = small_system(compute_units=units, channels=channels)
    system = scaled(
        system,
        link={
            "bandwidth_gb_per_s": float(random.uniform(5, 200)),
            "latency_ns": float(random.uniform(10, 1000)),
            "stores_payload_share": float(random.uniform(0.1, 1)),
            "t3_overhead_bytes": int(pick([0, 20])),
        },
        l2={"flush_at_kernel_end": bool(random.integers(2))},
        gpu={"kernel_launch_ns": float(pick([0, 1000]))},
        copy_engine={"payload_share": float(random.uniform(0.1, 1)), "copy_ns": 0.0},
        fused={"stores_payload_share": float(random.uniform(0.1, 1)), "flag_ns": 0.0},
        chunked={"piece_ns": 0.0},
        collective={"most_compute_units": int(pick([4, 1024]))},
    )
    topology = str(pick(["ring", "ring-both", "switch", "fully-connected"]))
    system = system.model_copy(update={"topology": load_topology(topology)})
    gpus = int(pick([2, 4]))
    sizes = 128 * gpus * int(pick([1, 2])), 96 * int(pick([2, 4])), 64 * int(pick([1, 4, 8]))
    return system, workload(*sizes, gpus), str(pick(["sublayer", "pair"]))


def beaten(seed):
    """Configurations that are faster than the bound."""
    system, work, program = random_case(np.random.default_rng(seed))
    direct = system.topology.name in ("switch", "fully-connected")
    allowed = CONFIGURATIONS if direct else ON_A_RING
    names = [one for one in allowed if "cu-split-16" != one or system.gpu.compute_units > 16]
    if system.gpu.compute_units == 8:
        names.remove("cu-split-8")
    options = RunOptions(
        engine="golden", channels="all", configurations=tuple(names), program=program
    )
    print(f"seed {seed}: {system.topology.name}, {work.title}, {program}")
    try:
        found = simulate(Plan(work, system, options), counts_clocks=False).configurations
    except InputError as error:
        pytest.fail(f"seed {seed}: {error}")
    return [name for name, one in found.items() if one.total_ns < found["ideal"].total_ns]


@pytest.mark.parametrize("seed", [3, 4])
def test_nothing_beats_the_bound(seed):
    assert beaten(seed) == []


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(100, 150))
def test_nothing_beats_the_bound_on_fifty_systems(seed):
    assert beaten(seed) == []
