"""All-gathers behind a fused GEMM: under the next GEMM, or by the faster of two means."""

from functools import cache

import pytest

from sysmodel.config.system import system_on
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.activities import Collective, Gemm
from sysmodel.runs.program.files import load_program
from sysmodel.runs.program.program import Program
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

N, M, COLUMNS = 4, 512, 384
CHUNK = M * COLUMNS * 2 / N
SYSTEM = scaled(
    system_on(small_system(compute_units=16), "switch"),
    copy_engine={"payload_share": 0.5, "copy_ns": 100.0},
    fused={"flag_ns": 500.0, "gather_ns": 0.0},
)
SUBLAYER = load_program("sublayer")
PAIR = Program("pair", (*SUBLAYER.activities, Gemm("next", "ag", (M, 192, COLUMNS))))


@cache
def run(program=SUBLAYER, share=0.5, gather_ns=0.0):
    system = scaled(SYSTEM, copy_engine={"payload_share": share}, fused={"gather_ns": gather_ns})
    options = RunOptions(
        engine="golden",
        channels="all",
        configurations=("sequential", "fused"),
        program=program,
    )
    plan = Plan(workload(M, COLUMNS, 256, N), system, options)
    return simulate(plan, counts_clocks=False).configurations


def copied_ns(share):
    """On a switch, all chunks pass the port one after the other."""
    rate = SYSTEM.link.bandwidth_gb_per_s * share
    return 100.0 + (N - 1) * CHUNK / rate + SYSTEM.link.latency_ns


def test_without_a_consumer_the_faster_gathers():
    """The chunks are the same by both means; only packets have other headers."""
    slow, fast = run(share=0.02)["fused"], run(share=1.0)["fused"]
    assert slow.chosen == {"ag": "by the library"}
    assert fast.chosen == {"ag": "by copy engines"}
    assert fast.ns["ag"] == pytest.approx(copied_ns(1.0), abs=2)
    assert slow.total_ns - fast.total_ns == pytest.approx(slow.ns["ag"] - fast.ns["ag"], abs=3)
    assert slow.link_bytes.payload["ag"] == fast.link_bytes.payload["ag"] == (N - 1) * CHUNK
    assert fast.link_bytes.overhead["ag"] == 0


def test_the_next_gemm_hides_the_copies():
    """Its tiles follow the arrivals of their chunks, and it ends a flag after the last of them."""
    one, base = run(PAIR)["fused"], run(PAIR)["sequential"]
    assert one.chosen == {"ag": "by copy engines under the next GEMM"}
    chunk_ns = CHUNK / (SYSTEM.link.bandwidth_gb_per_s * 0.5)
    arrivals = [0.0, *(100 + place * chunk_ns + SYSTEM.link.latency_ns for place in (1, 2, 3))]
    gemm_ns = base.ns["next"]
    end_ns = 500 + max(at + (N - place) / N * gemm_ns for place, at in enumerate(arrivals))
    assert one.ns["next"] == pytest.approx(end_ns, abs=3)
    sums_ns = run()["fused"].total_ns - run()["fused"].ns["ag"]
    assert one.total_ns == pytest.approx(sums_ns + end_ns, abs=5)


def test_a_costly_overlap_is_left_to_the_library():
    one, base = run(PAIR, gather_ns=1e6)["fused"], run(PAIR)["sequential"]
    assert one.chosen == {"ag": "by the library"}
    assert one.ns["next"] == base.ns["next"]


def test_copy_engines_send_every_chunk_where_the_switch_would_copy():
    """A library that multicasts sends each chunk once; copy engines, which need no launch, send it
    to each other GPU."""
    star = SYSTEM.topology
    copying = star.switch.model_copy(update={"multicasts": True})
    slow = scaled(SYSTEM, copy_engine={"payload_share": 1.0}, gpu={"kernel_launch_ns": 20_000.0})
    system = slow.model_copy(update={"topology": star.model_copy(update={"switch": copying})})
    activities = (
        Gemm("gemm"),
        Collective("rs", "reduce-scatter", "gemm"),
        Collective("ag", "all-gather", "rs", "multicast"),
    )
    options = RunOptions(
        engine="golden",
        channels="all",
        configurations=("sequential", "fused", "ideal"),
        program=Program("multicast", activities),
    )
    plan = Plan(workload(M, COLUMNS, 256, N), system, options)
    found = simulate(plan, counts_clocks=False).configurations
    assert found["sequential"].link_bytes.payload["ag"] == CHUNK
    assert found["fused"].chosen == {"ag": "by copy engines"}
    assert found["fused"].link_bytes.payload["ag"] == (N - 1) * CHUNK
    assert found["fused"].total_ns >= found["ideal"].total_ns
