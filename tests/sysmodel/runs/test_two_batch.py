"""Two batches of half the rows, each of whose GEMMs runs beside the other's collectives."""

import pytest

from sysmodel.lib.errors import InputError
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

GPUS, M, N = 4, 2048, 768
SYSTEM = small_system(compute_units=32)


def run(m, k, *names, system=SYSTEM):
    options = RunOptions(engine="golden", configurations=names, channels="all")
    return simulate(Plan(workload(m, N, k, GPUS), system, options), counts_clocks=False)


@pytest.mark.parametrize("k", [256, 1024])
def test_the_sublayer_takes_twice_the_time_of_a_half(k):
    """A run of half the rows with a given split is simulated in the same way."""
    found = run(M, k, "two-batch").configurations["two-batch"]
    cus = int(found.chosen["gemm"].split()[0])
    assert found.chosen == {"gemm": f"{cus} of 32 CUs for the collectives"}
    halves = run(M // 2, k, "cu-split-8", "cu-split-16").configurations
    totals = {8: halves["cu-split-8"].total_ns, 16: halves["cu-split-16"].total_ns}
    if cus in totals:
        assert totals[cus] == min(totals.values())
        assert found.total_ns == pytest.approx(2 * totals[cus], rel=1e-12)
        half = halves[f"cu-split-{cus}"]
        assert found.ns == pytest.approx({name: 2 * ns for name, ns in half.ns.items()})
    else:
        assert cus == 4 and found.total_ns < 2 * min(totals.values())


def test_the_bytes_are_those_of_all_rows():
    found = run(M, 256, "two-batch").configurations["two-batch"]
    sent = (GPUS - 1) * M * N * 2 // GPUS
    assert found.link_bytes.payload == {"rs": sent, "ag": sent}
    assert found.dram_bytes.write["ag"] == sent


def test_the_fastest_split_is_taken():
    """A long GEMM leaves few CUs to the collectives, a short one leaves more."""
    fast = scaled(
        SYSTEM,
        link={"bandwidth_gb_per_s": 150.0},
        collective={"waves_per_cu": 1, "bytes_in_flight_per_wave": 1024},
    )
    few, more = (
        int(
            run(M, k, "two-batch", system=fast)
            .configurations["two-batch"]
            .chosen["gemm"]
            .split()[0]
        )
        for k in (2048, 128)
    )
    assert few < more


@pytest.mark.parametrize(
    ("system", "m", "problem"),
    [
        (SYSTEM, 2047, "two-batch cuts the 2047 rows of gemm into 2 equal parts"),
        (small_system(compute_units=1), M, "two-batch gives 1 CUs to the collectives"),
    ],
)
def test_what_cannot_be_split_is_refused(system, m, problem):
    with pytest.raises(InputError, match=f"configurations: {problem}"):
        run(m, 256, "two-batch", system=system)
