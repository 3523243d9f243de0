"""GEMM and collectives at once, on CUs of their own."""

import pytest

from sysmodel.lib.errors import InputError
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import small_system, workload


def split(compute_units=32, k=1024, names=("sequential", "cu-split-8", "cu-split-16")):
    options = RunOptions(engine="golden", configurations=names, channels="all")
    system = small_system(compute_units=compute_units)
    return simulate(Plan(workload(2048, 768, k, 4), system, options)).configurations


@pytest.mark.parametrize("left,name", [(24, "cu-split-8"), (16, "cu-split-16")])
def test_the_gemm_is_slower_than_alone_on_the_cus_that_are_left(left, name):
    alone = split(compute_units=left, names=("sequential",))["sequential"]
    shared = split(names=(name,))[name]
    assert alone.ns["gemm"] < shared.ns["gemm"] < alone.total_ns


def test_neither_waits_for_the_other():
    for one in list(split().values())[1:]:
        # The later end, and the accesses in flight to the memory then.
        assert max(one.ns["gemm"], one.ns["rs"] + one.ns["ag"]) <= one.total_ns
        assert one.total_ns <= max(one.ns["gemm"], one.ns["rs"] + one.ns["ag"]) + 2000


def test_more_cus_do_not_slow_the_collectives():
    alone, eight, sixteen = split(k=256).values()
    assert alone.ns["rs"] + alone.ns["ag"] < sixteen.ns["rs"] + sixteen.ns["ag"]
    assert sixteen.ns["rs"] + sixteen.ns["ag"] <= 1.02 * (eight.ns["rs"] + eight.ns["ag"])


def test_a_gpu_without_cus_to_share_is_refused():
    with pytest.raises(
        InputError, match="configurations: cu-split-8 gives 8 CUs to the collectives"
    ):
        split(compute_units=8, names=("cu-split-8",))
