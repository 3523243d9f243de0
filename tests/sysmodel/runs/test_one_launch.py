"""T3's all-reduce in one launch."""

import pytest

from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import small_system, workload

ONE, TWO = "t3-one-launch", "t3-critical"


@pytest.fixture(scope="module")
def result():
    names = ("sequential", TWO, ONE, "ideal")
    options = RunOptions(engine="golden", configurations=names, channels="all")
    return simulate(Plan(workload(1024, 768, 1024, 4), small_system(), options))


def test_the_all_gather_begins_before_the_reduce_scatter_ends(result):
    """So the sublayer takes less time, but at least the bound's."""
    ns = {name: one.total_ns for name, one in result.configurations.items()}
    assert ns["ideal"] < ns[ONE] < ns[TWO]


def test_both_launches_move_the_same_bytes(result):
    one, two = result.configurations[ONE], result.configurations[TWO]
    for kind in ("gemm_write", "rs_read", "rs_write", "ag_read", "ag_write"):
        assert one.dram_bytes.as_dict()[kind] == two.dram_bytes.as_dict()[kind], kind
    assert one.link_bytes.payload == two.link_bytes.payload


def test_both_collectives_share_the_time(result):
    """Their times are not known apart; together they end with the sublayer."""
    ns = result.configurations[ONE].ns
    assert ns["rs"] == pytest.approx(ns["ag"], abs=2 * result.system.cycle_ns)
    assert ns["rs"] + ns["ag"] <= result.configurations[ONE].total_ns
