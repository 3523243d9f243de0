"""Runs of programs: times as sums of the activities', bytes by activity, the ideal overlap."""

import numpy as np
import pytest

from sysmodel.lib.errors import InputError
from sysmodel.runs.bounds import bounds
from sysmodel.runs.columns import catalogue, measured
from sysmodel.runs.configurations.ideal import ideal
from sysmodel.runs.cycle_result import CycleResult
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.program.activities import Collective, Gemm
from sysmodel.runs.program.files import load_program
from sysmodel.runs.program.program import Program
from sysmodel.runs.simulate import simulate
from tests.support.small_system import small_system, workload

GPUS = 4
WORK = workload(512, 384, 128, GPUS)
CHUNK = WORK.output_bytes // GPUS
SYSTEM = small_system(compute_units=16)
NEXT = (768, 192, 64)
PAIR = Program("mine", (*load_program("sublayer").activities, Gemm("next", "ag", NEXT)))


def run(program, work=WORK, **options):
    given = {"configurations": ("sequential", "t3", "ideal-overlap"), **options}
    options = RunOptions(engine="golden", channels="all", program=program, **given)
    return simulate(Plan(work, SYSTEM, options), counts_clocks=False)


@pytest.fixture(scope="module")
def pair():
    return run(PAIR)


@pytest.fixture(scope="module")
def sublayer():
    return run("sublayer")


def test_a_second_gemm_takes_the_time_of_a_run_of_its_own(pair, sublayer):
    """The other activities are those of the sublayer, to the digit."""
    alone = run("sublayer", workload(*NEXT, GPUS), configurations=("sequential",))
    next_ns = alone.configurations["sequential"].ns["gemm"]
    assert pair.efficiencies["next"] == alone.efficiencies["gemm"]
    for name, one in pair.configurations.items():
        before = sublayer.configurations[name]
        assert one.ns == {**before.ns, "next": next_ns}
        assert one.total_ns == pytest.approx(before.total_ns + next_ns, rel=1e-12)
        assert one.gemms["gemm"] == before.gemms["gemm"]
        assert one.gemms["next"].slowdown == 1
    sequential = pair.configurations["sequential"]
    assert sequential.total_ns == pytest.approx(sum(sequential.ns.values()), rel=1e-12)


def test_the_same_program_from_a_file(pair, tmp_path):
    (tmp_path / "mine.toml").write_text(
        'base = "sublayer"\ndescription = "with another GEMM"\n[activities.next]\n'
        f'kind = "gemm"\nneeds = ["ag"]\nsize = {{m = {NEXT[0]}, n = {NEXT[1]}, k = {NEXT[2]}}}\n'
    )
    found = run(tmp_path / "mine.toml", configurations=("sequential",))
    assert found.configurations["sequential"] == pair.configurations["sequential"]
    assert found.title.endswith("program mine")


def test_bytes_of_each_activity(pair, sublayer):
    output = NEXT[0] * NEXT[1] * 2
    operands = (NEXT[0] + NEXT[1]) * NEXT[2] * 2
    for name, one in pair.configurations.items():
        before = sublayer.configurations[name]
        assert one.link_bytes == before.link_bytes
        assert one.dram_bytes.read == {
            **before.dram_bytes.read,
            "next": one.dram_bytes.read["next"],
        }
        assert one.dram_bytes.write == {**before.dram_bytes.write, "next": output}
        assert operands <= one.dram_bytes.read["next"] <= 20 * operands
        assert one.events.updates == {**before.events.updates, "next": 0}
    assert pair.configurations["sequential"].dram_bytes.read["rs"] == (2 * GPUS - 1) * CHUNK


def test_a_timeline_of_all_chains(pair):
    """The sums of the samples are the bytes, and the second chain follows the first."""
    for name, timeline in pair.timelines.items():
        one = pair.configurations[name]
        spans = {span.activity: span for span in timeline.spans if span.activity}
        assert set(spans) == {"gemm", "rs", "ag", "next"}
        assert spans["ag"].end_ns <= spans["next"].start_ns <= one.total_ns - one.ns["next"] + 6000
        # The last stores reach the memory after the last stage.
        last_ns = max(span.end_ns for span in timeline.spans)
        assert one.total_ns - 6000 < last_ns <= one.total_ns
        # The samples count local stores of a collective's kernel as the GEMM's.
        for names in (("gemm", "rs", "ag"), ("next",)):
            series = [timeline.series[f"DRAM {activity} write (bytes/ns)"] for activity in names]
            moved = sum(one.dram_bytes.write[activity] for activity in names)
            assert np.sum(series) * timeline.bucket_ns == pytest.approx(moved, rel=0.08)
            assert len(series[0]) * timeline.bucket_ns >= one.total_ns
    found = {(one.configuration, one.phase): one for one in bounds(pair)}
    for part, share in found["sequential", "NEXT"].busy.items():
        assert found["t3", "NEXT"].busy[part] == pytest.approx(share, rel=0.02)
    assert found["t3", "AG"].end_ns <= found["t3", "NEXT"].start_ns


def test_columns_and_record_have_the_names(pair):
    rows = measured(pair)
    assert list(rows["t3"]) == list(catalogue(PAIR).by_key)
    assert rows["t3"]["next_ns"] == pair.configurations["t3"].ns["next"]
    assert rows["t3"]["dram_next_read_bytes"] > 0 and rows["t3"]["next_slot_pipes_ns"] > 0
    content = pair.as_dict()
    assert content["program"] == PAIR.as_dict()
    assert content["configurations"]["t3"]["next_ns"] == rows["t3"]["next_ns"]
    assert content["next_efficiency"] == pair.efficiencies["next"]
    assert content["simulated"]["whole"][1] == {"m": NEXT[0], "n": NEXT[1], "k": NEXT[2]}
    assert pair.simulated_share == 1


def test_a_gemm_alone():
    program = Program("alone", (Gemm("only"),))
    found = run(program)
    for one in found.configurations.values():
        assert one.total_ns == one.ns["only"] and one.speedup == 1
        assert one.exposed_communication_ns == 0 and one.link_bytes.total == 0
    assert found.cycles == pytest.approx(found.configurations["t3"].total_ns / SYSTEM.cycle_ns)


def test_an_all_reduce_by_one_kernel_saves_a_launch(sublayer):
    """One kernel moves the bytes of both halves; nothing else differs from two kernels."""
    found = run("all-reduce", configurations=("sequential",)).configurations["sequential"]
    two = sublayer.configurations["sequential"]
    assert found.ns["gemm"] == two.ns["gemm"]
    launch_ns = SYSTEM.gpu.kernel_launch_ns
    both_ns = two.ns["rs"] + two.ns["ag"]
    assert found.ns["ar"] == pytest.approx(both_ns - launch_ns, abs=2 * SYSTEM.cycle_ns)
    assert found.link_bytes.payload["ar"] == 2 * (GPUS - 1) * CHUNK
    assert found.dram_bytes.read["ar"] == two.dram_bytes.read["rs"] + two.dram_bytes.read["ag"]
    assert found.dram_bytes.write["ar"] == two.dram_bytes.write["rs"] + two.dram_bytes.write["ag"]


def test_other_algorithms_move_the_bytes_of_their_closed_forms():
    """A direct reduce-scatter reads and writes as much as the ring's, a direct all-gather reads its
    own chunk once for each peer."""
    activities = (
        Gemm("gemm"),
        Collective("rs", "reduce-scatter", "gemm", "direct"),
        Collective("ag", "all-gather", "rs", "direct"),
    )
    found = run(Program("direct", activities), configurations=("sequential", "cu-split-8"))
    assert found.gpus == "all"
    for one in found.configurations.values():
        assert one.link_bytes.payload == {"rs": 3 * CHUNK, "ag": 3 * CHUNK}
        assert one.dram_bytes.write["rs"] == GPUS * CHUNK
        assert one.dram_bytes.read["rs"] == (2 * GPUS - 1) * CHUNK
        assert one.dram_bytes.write["ag"] == 3 * CHUNK


@pytest.mark.parametrize(
    ("program", "name", "activity"),
    [("all-reduce", "t3", "ar"), ("all-reduce", "ideal-rs-nmc", "ar")],
)
def test_a_program_that_t3_does_not_run(program, name, activity):
    runs = "rs-nmc" if name.startswith("ideal") else name
    message = rf"program {program}: activities\.{activity}: {runs} does not run all-reduce;"
    with pytest.raises(InputError, match=message):
        run(program, configurations=("sequential", name))


CYCLES = {"a": 100, "rs": 60, "ag": 30, "b": 50, "rs2": 80, "c": 10}


@pytest.mark.parametrize(
    ("needs", "total"),
    [
        # b waits for the all-gather: max(100, 60) + 30, then b beside rs2, then c.
        ({"b": ("ag",), "c": ("rs2",)}, 100 + 30 + 80 + 10),
        # b waits for nothing: a, b; the links rs to 100, ag to 130, rs2 to 210.
        ({}, 210),
        ({"c": ("rs2",)}, 220),
        ({"ag": ("b",)}, 100 + 50 + 30 + 80),
    ],
)
def test_the_ideal_overlap_of_a_graph(needs, total):
    """Totals by hand: one GEMM at a time, one collective at a time, in the program's order."""
    program = Program(
        "graph",
        (
            Gemm("a"),
            Collective("rs", "reduce-scatter", "a"),
            Collective("ag", "all-gather", "rs", needs=needs.get("ag", ())),
            Gemm("b", needs.get("b", ())),
            Collective("rs2", "reduce-scatter", "b"),
            Gemm("c", needs.get("c", ())),
        ),
    )
    alone = CycleResult(cycles=dict(CYCLES), total_cycles=sum(CYCLES.values()))
    found = ideal(program, alone, alone)
    assert found.total_cycles == total
    assert found.cycles == CYCLES
    assert np.array_equal(found.counts, alone.counts)
