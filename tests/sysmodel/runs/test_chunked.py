"""GEMMs in pieces with copy engines: bytes, times of the parts, programs and refusals."""

import pytest

from sysmodel.config.topology import load_topology
from sysmodel.lib.errors import InputError
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.activities import Collective, Gemm
from sysmodel.runs.program.files import load_program
from sysmodel.runs.program.program import Program
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

GPUS = 4
M, N, K = 512, 384, 128
OUTPUT = M * N * 2
CHUNK = OUTPUT // GPUS
SYSTEM = scaled(
    small_system(compute_units=16),
    copy_engine={"payload_share": 0.5, "copy_ns": 100.0},
    chunked={"piece_ns": 1000.0},
)
PAIR = Program("pair", (*load_program("sublayer").activities, Gemm("next", "ag", (M, 192, N))))


def run(program="sublayer", m=M, system=SYSTEM, names=("sequential", "chunked")):
    options = RunOptions(engine="golden", channels="all", configurations=names, program=program)
    plan = Plan(workload(m, N, K, GPUS), system, options)
    return simulate(plan, counts_clocks=False).configurations


@pytest.fixture(scope="module")
def sublayer():
    return run()


def test_the_bytes_of_the_collectives(sublayer):
    """All chunks but the own are read for the copies, and all parts of the own for the sum."""
    one = sublayer["chunked"]
    sent = (GPUS - 1) * CHUNK
    assert one.dram_bytes.read["rs"] == sent + GPUS * CHUNK
    assert one.dram_bytes.write["rs"] == sent + CHUNK
    assert one.dram_bytes.write["gemm"] == OUTPUT
    assert one.link_bytes.payload["rs"] == sent
    assert one.link_bytes.overhead["rs"] == sent
    assert one.events.cu_additions >= (GPUS - 1) * CHUNK // 32


def test_the_pieces_take_the_time_of_small_gemms(sublayer):
    """They are simulated: each takes what a GEMM of its rows takes alone, but for operands that it
    finds in the L2, and launches that are hidden."""
    launch = SYSTEM.gpu.kernel_launch_ns
    alone = run(m=M // GPUS, names=("sequential",))["sequential"].ns["gemm"]
    pieces = sublayer["chunked"].ns["gemm"] - (GPUS - 1) * 1000
    assert pieces <= launch + GPUS * (alone - launch) * 1.001
    assert pieces > launch + 0.5 * GPUS * (alone - launch)
    assert pieces > sublayer["sequential"].ns["gemm"]


def test_the_times_follow_the_event_model(sublayer):
    """The ring's links pass a chunk 1, 2 and 3 times; then the CUs add."""
    one = sublayer["chunked"]
    piece = one.ns["gemm"] / GPUS
    rate = SYSTEM.link.bandwidth_gb_per_s * 0.5
    free = arrived = 0.0
    for distance in (1, 2, 3):
        hops = GPUS - distance
        begin = max(free, distance * piece + 100)
        free = begin + hops * CHUNK / rate
        arrived = max(arrived, free + hops * SYSTEM.link.latency_ns)
    addition = SYSTEM.gpu.kernel_launch_ns + (GPUS + 1) * CHUNK / SYSTEM.dram_bytes_per_ns
    total = max(arrived, one.ns["gemm"]) + addition
    assert one.ns["rs"] == pytest.approx(total - piece, abs=3)
    assert one.total_ns == pytest.approx(total + one.ns["ag"], abs=3)


@pytest.mark.parametrize(("share", "by"), [(0.02, "by the library"), (1.0, "by copy engines")])
def test_the_faster_gathers(share, by):
    """On a switch, all bytes pass the port once."""
    system = scaled(SYSTEM, copy_engine={"payload_share": share})
    system = system.model_copy(update={"topology": load_topology("switch")})
    found = run(system=system)
    assert found["chunked"].chosen == {"ag": by}
    assert found["chunked"].ns["ag"] <= found["sequential"].ns["ag"]


def test_a_gemm_that_needs_the_output_hides_the_all_gather():
    found = run(PAIR)
    one, base = found["chunked"], found["sequential"]
    assert one.chosen == {"ag": "by copy engines"}
    assert one.ns["next"] >= one.ns["ag"]
    assert one.dram_bytes.write["next"] == M * 192 * 2
    reduced = one.total_ns - one.ns["next"]
    assert reduced == pytest.approx(run()["chunked"].total_ns - run()["chunked"].ns["ag"], abs=3)
    assert base.ns["next"] > 0


def test_other_programs():
    """An all-reduce has the bytes of both halves; a chain of sublayers runs as a whole."""
    both = run("all-reduce")["chunked"]
    assert both.link_bytes.payload["ar"] == 2 * (GPUS - 1) * CHUNK
    again = Program(
        "twice",
        (
            *PAIR.activities,
            Collective("rs2", "reduce-scatter", of="next"),
            Collective("ag2", "all-gather", of="rs2"),
        ),
    )
    found = run(again)["chunked"]
    assert set(found.ns) == {"gemm", "rs", "ag", "next", "rs2", "ag2"}
    assert found.link_bytes.payload["rs2"] == (GPUS - 1) * M * 192 * 2 // GPUS


def test_rows_that_do_not_divide_and_other_algorithms_are_refused():
    with pytest.raises(InputError, match="chunked cuts the 510 rows of gemm into 4 equal"):
        run(m=510)
    ring = Program("mine", (Gemm("gemm"), Collective("rs", "reduce-scatter", "gemm", "ring")))
    with pytest.raises(InputError, match="activities.rs: chunked does not run reduce-sc"):
        run(ring)
