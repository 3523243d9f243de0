"""The model's value of a measurement."""

import pytest

from sysmodel.config.system import load_system
from t3.experiments.measured.comparison import Compared, compare, modelled
from t3.experiments.measured.measurement import Kind, Measurement
from t3.experiments.measured.tables import compared_table

SYSTEM = load_system("asplos24")


def collective(kind: Kind) -> float:
    return modelled(SYSTEM, Measurement(kind, 1.0, gpus=3, message_bytes=1 << 16))


def test_an_all_reduce_is_both_halves_with_one_launch():
    """Both halves of a ring of N GPUs send 2 (N - 1) / N of the message over each link."""
    halves_us = collective("reduce_scatter") + collective("all_gather")
    launch_us = SYSTEM.gpu.kernel_launch_ns / 1e3
    # The halves of one kernel meet other phases of the memory.
    assert collective("all_reduce") == pytest.approx(halves_us - launch_us, rel=0.01)
    rate = SYSTEM.link.bandwidth_gb_per_s * 1e3  # bytes per µs
    floor_us = launch_us + 4 * SYSTEM.link.latency_ns / 1e3 + 4 / 3 * (1 << 16) / rate
    assert floor_us < collective("all_reduce") < 2 * floor_us


@pytest.mark.parametrize("kind", ["reduce_scatter", "gemm", "gemm_rs", "read"])
def test_progress_names_what_is_compiled(kind):
    row = Measurement(kind, 1.0, gpus=2, message_bytes=1 << 12)
    if kind.startswith("gemm"):
        row = Measurement(kind, 1.0, gpus=2, m=256, n=256, k=64)
    shown = []
    compare(SYSTEM, [row, row], lambda task, share: shown.append((task, share)), "mine")
    assert (f"mine: {row.name}", 0.5) == shown[-1]
    assert {share for _, share in shown[:-1]} == {0.0}
    compiled = [task for task, _ in shown if "Compiling" in task]
    assert bool(compiled) is (kind != "read")
    assert all(one.startswith(f"mine: {row.name}: Compiling the ") for one in compiled)


@pytest.mark.parametrize(
    "value,shown",
    [(0.0421, "0.042"), (0.96, "0.96"), (4.2, "4.2"), (780, "780.0"), (1552, "1,552")],
)
def test_a_small_value_is_not_shown_as_zero(value, shown):
    table = compared_table([("", Compared(Measurement("gemm", value), value))])
    assert table.rows[0].count(shown) == 2
