"""T3's all-reduce in one launch, and in one launch for each half of the output."""

import pytest

from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import small_system, workload

ONE, TWO, HALVES = "t3-one-launch", "t3-critical", "t3-halves"


@pytest.fixture(scope="module")
def result():
    names = ("sequential", TWO, ONE, HALVES, "ideal")
    options = RunOptions(engine="golden", configurations=names, channels="all")
    return simulate(Plan(workload(1024, 768, 1024, 4), small_system(), options))


def test_the_all_gather_begins_before_the_reduce_scatter_ends(result):
    """So the sublayer takes less time, but at least the bound's."""
    ns = {name: one.total_ns for name, one in result.configurations.items()}
    assert ns["ideal"] < ns[ONE] < ns[TWO]
    assert ns["ideal"] < ns[HALVES]


@pytest.mark.parametrize("name", [ONE, HALVES])
def test_launches_move_the_bytes_of_two_collectives(name, result):
    one, two = result.configurations[name], result.configurations[TWO]
    for kind in ("gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"):
        assert one.dram_bytes.as_dict()[kind] == two.dram_bytes.as_dict()[kind], kind
    assert one.link_bytes.payload == two.link_bytes.payload


@pytest.mark.parametrize("name", [ONE, HALVES])
def test_both_collectives_share_the_time(name, result):
    """Their times are not known apart; together they end with the sublayer."""
    ns = result.configurations[name].ns
    assert ns["rs"] == pytest.approx(ns["ag"], abs=2 * result.system.cycle_ns)
    assert ns["rs"] + ns["ag"] <= result.configurations[name].total_ns


def test_the_all_gather_of_the_first_half_hides_behind_the_gemm_of_the_second_one():
    """With a GEMM as long as the communication, and packets of eight atoms whose headers the two
    contexts of the halves must not multiply."""
    system = load_system("h200")
    names = ("sequential", ONE, HALVES)
    options = RunOptions(engine="golden", configurations=names)
    found = simulate(Plan(workload(2048, 2048, 4096, 8), system, options)).configurations
    overhead = {name: sum(found[name].link_bytes.overhead.values()) for name in (ONE, HALVES)}
    assert overhead[HALVES] < 1.2 * overhead[ONE]
    assert found[HALVES].total_ns < found[ONE].total_ns


def test_an_output_that_cannot_be_halved_is_refused():
    options = RunOptions(engine="golden", configurations=("sequential", HALVES))
    with pytest.raises(InputError, match="t3-halves cuts the 1023 columns .* into 2 equal parts"):
        Plan(workload(768, 1023, 256, 4), small_system(), options)
