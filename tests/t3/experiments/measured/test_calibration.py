"""Fit of a system to measurements: the values are recovered, and rows that decide none refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from sysmodel.config.system import load_system
from sysmodel.lib.errors import InputError
from t3.experiments.measured import calibration
from t3.experiments.measured.calibration import calibrate, held_back
from t3.experiments.measured.comparison import modelled
from t3.experiments.measured.measurement import Measurement
from t3.experiments.measured.nccl_tests import LeftOut
from t3.experiments.measured.parameters import FITTED, changed, value_of
from t3.experiments.measured.system_file import system_text

BASE = load_system("asplos24")
SHARE, LATENCY, CLOCK = "link.stores_payload_share", "link.latency_ns", "gpu.clock_mhz"
COST = "collective.reduce_scatter_ns"
TRUE = {SHARE: 0.7, LATENCY: 2000.0, COST: 5000.0, CLOCK: 1200.0}


def scatter(message_bytes, gpus=4, kind="reduce_scatter"):
    return Measurement(kind, 1.0, gpus, message_bytes)


GEMM = Measurement("gemm", 1.0, m=1024, n=1024, k=512)
SIZES = [1 << 16, 1 << 18, 1 << 20, 1 << 22]


LOW = {"collective.low_latency.payload_share": 0.5, "collective.all_gather_ns": 900.0}
ROWS = [scatter(size, gpus) for gpus in (2, 8) for size in SIZES]


def closed_form(system, row, report=None):
    """Times of a machine without contention, in µs."""
    if row.kind == "gemm":
        return 3 + 2e-3 * row.m * row.n * row.k / system.peak_flops_per_ns
    rate = system.link.stores_gb_per_s
    steps, cost_us = row.gpus - 1, value_of(system, COST) / 1e3
    if row.kind == "all_gather":
        cost_us = system.collective.all_gather_ns / 1e3
    return (
        3 + cost_us + steps * (row.message_bytes / row.gpus / rate + system.link.latency_ns) / 1e3
    )


def measured(rows, times=modelled, true=TRUE):
    """Give rows the times of a machine with other values than the base's."""
    system = changed(BASE, true)
    return [replace(one, value=times(system, one)) for one in rows]


@pytest.fixture
def fast(monkeypatch):
    """Replace the simulation by a closed form."""
    monkeypatch.setattr(calibration, "modelled", closed_form)


def test_the_simulated_values_of_a_known_machine_are_recovered():
    true = {SHARE: 0.7, LATENCY: 2000.0, COST: 5000.0}
    sizes = [(SIZES[0], 2), (SIZES[0], 8), (SIZES[2], 2), (SIZES[2], 8), (SIZES[3], 8)]
    rows = measured([scatter(*one) for one in sizes], true=true)
    fit = calibrate(BASE, rows)
    assert fit.after == pytest.approx(true, rel=0.05)
    assert {CLOCK} <= {one.key for one in fit.refused}
    assert len(fit.fitted) == 4 and len(fit.held) == 1
    assert all(abs(one.difference) < 0.02 for one in [*fit.fitted, *fit.held])


def test_the_clock_needs_a_gemm(fast):
    rows = measured([*ROWS, GEMM], closed_form)
    fit = calibrate(BASE, rows)
    assert fit.after == pytest.approx(TRUE, rel=0.01)
    fit = calibrate(BASE, measured([GEMM], closed_form))
    assert set(fit.after) == {CLOCK}
    reasons = {one.key: one.reason for one in fit.refused}
    assert reasons[SHARE] == "no row of reduce_scatter, all_gather or all_reduce"
    assert reasons[COST] == "no row of reduce_scatter"


@pytest.mark.parametrize(
    "size,kept,reason",
    [
        (1 << 12, COST, "changes no time by 5 %"),
        (1 << 18, COST, f"as {COST} does"),
        (1 << 24, SHARE, f"as {SHARE} does"),
        (1 << 29, SHARE, "changes no time by 5 %"),
    ],
)
def test_one_size_decides_either_the_cost_or_the_rate(fast, size, kept, reason):
    fit = calibrate(BASE, measured([scatter(size)], closed_form))
    assert list(fit.after) == [kept]
    refused = {one.key: one.reason for one in fit.refused}
    assert {SHARE, LATENCY, COST, CLOCK} - {kept} <= set(refused)
    assert any(reason in one for one in refused.values())


def test_a_fit_that_ends_at_its_limit_says_so(fast, monkeypatch):
    rows = measured([*ROWS, GEMM], closed_form)
    done = calibrate(BASE, rows)
    assert done.converged and done.residuals[-1] < 1e-3
    assert "converge" not in system_text(done, "asplos24", [], Path())
    monkeypatch.setattr(calibration, "MOST_ITERATIONS", 2)
    cut = calibrate(BASE, rows)
    first, last = cut.residuals
    assert not cut.converged and first == done.residuals[0] > last > done.residuals[-1]
    text = system_text(cut, "asplos24", [], Path())
    assert f"measured) went from {first:.3g} to {last:.3g} in the last step; to go on, " in text
    monkeypatch.setattr(calibration, "MOST_ITERATIONS", 1)
    text = system_text(calibrate(BASE, rows), "asplos24", [], Path())
    assert f"measured) stayed at {first:.3g} in the last step; to go on, calibrate" in text


def test_rows_that_decide_nothing_are_refused(fast):
    with pytest.raises(InputError, match="the rows decide no parameter .*no row of gemm"):
        calibrate(BASE, [Measurement("read", 3000.0)])


def test_a_value_beyond_the_bounds_ends_at_the_bound(fast):
    rows = [replace(one, value=closed_form(BASE, one) * 0.5) for one in map(scatter, SIZES[-2:])]
    fit = calibrate(BASE, rows)
    assert fit.after[SHARE] == pytest.approx(1.0, abs=1e-3)
    assert fit.after[COST] == pytest.approx(0.0, abs=10)
    least, largest = "its least allowed value is 0", "its largest allowed value is 1"
    assert fit.remarks == {COST: least, SHARE: largest}
    text = system_text(fit, "asplos24", [Path("rows.txt")], Path())
    assert f"fitted, {least}; asplos24 has" in text and f"fitted, {largest}; asplos24" in text
    fit = calibrate(BASE, measured(ROWS, closed_form))
    assert fit.remarks == {}


@pytest.mark.parametrize("sizes", range(1, 20))
def test_a_quarter_of_the_sizes_of_a_kind_between_the_ends_are_held_back(sizes):
    in_no_order = sorted(range(sizes), key=lambda at: 5 * at % 7)
    rows = [scatter(1 << (10 + at)) for at in in_no_order]
    fitted, held = held_back([*rows, GEMM])
    assert len(held) == len(rows) // 4 and len(fitted) + len(held) == len(rows) + 1
    assert GEMM in fitted
    assert not {one.message_bytes for one in held} & {1 << 10, 1 << (sizes + 9)}


@pytest.mark.parametrize("gpus", [(2, 8), (2, 4, 8)])
@pytest.mark.parametrize("sizes", [4, 8])
def test_the_largest_size_is_fitted_on_all_numbers_of_gpus(gpus, sizes):
    rows = [scatter(1 << at, one) for one in gpus for at in range(20, 20 + sizes)]
    fitted, held = held_back(rows)
    assert len(held) == len(rows) // 4
    assert {one.gpus for one in fitted if one.message_bytes == 1 << (19 + sizes)} == {*gpus}


def test_one_size_is_held_back_between_the_least_and_the_most_gpus():
    fitted, held = held_back([scatter(1 << 20, gpus) for gpus in (16, 8, 4, 2)])
    assert [one.gpus for one in held] == [8] and len(fitted) == 3


@pytest.mark.parametrize("repetitions", [2, 5])
def test_repetitions_of_a_row_stay_together(repetitions):
    rows = [scatter(1 << at, gpus) for gpus in (2, 4) for at in (20, 22, 24)]
    fitted, held = held_back(rows * repetitions)
    assert len(held) == repetitions and len(fitted) == 5 * repetitions
    assert not {one.work for one in held} & {one.work for one in fitted}


def test_rows_that_no_fitted_value_changes_do_not_count_as_fitted(fast, monkeypatch):
    stream = Measurement("read", 1000.0)
    times = lambda system, row, *_: 500.0 if row.kind == "read" else closed_form(system, row)  # noqa: E731
    monkeypatch.setattr(calibration, "modelled", times)
    fit = calibrate(BASE, [*measured(ROWS, closed_form), *[stream] * 4])
    assert [one.difference for one in fit.unchanged] == [-0.5] * 4
    assert "read" not in {one.measurement.kind for one in [*fit.fitted, *fit.held]}
    assert all(abs(one.difference) < 0.01 for one in [*fit.fitted, *fit.held])
    text = system_text(fit, "asplos24", [Path("rows.txt")], Path(), [LeftOut("no bytes", 7)])
    assert "rows that no fitted value changes: off by 50.0% on average" in text
    assert "# memory, read: 1000 GB/s, 500, -50.0%, unchanged\n" in text
    assert "# left out: 7: no bytes\n" in text
    assert f"to {len(fit.fitted)} rows of rows.txt" in text


def test_the_written_file_is_the_fitted_system(fast, tmp_path):
    fit = calibrate(BASE, measured([*ROWS, GEMM], closed_form))
    path = tmp_path / "mine.toml"
    path.write_text(system_text(fit, "asplos24", [Path("rows.txt")], tmp_path), encoding="utf-8")
    system = load_system(path)
    assert {key: value_of(system, key) for key in TRUE} == fit.after
    text = path.read_text(encoding="utf-8")
    assert text.count(", held back") == len(fit.held) and "rows.txt" in text
    assert f"fitted; asplos24 has {BASE.link.latency_ns:g}" in text
    deep = replace(fit, before=LOW, after=LOW)
    path.write_text(system_text(deep, "asplos24", [], tmp_path), encoding="utf-8")
    assert load_system(path).collective.low_latency.payload_share == 0.5
    again = tmp_path / "folder" / "again.toml"
    again.parent.mkdir()
    again.write_text(system_text(fit, str(path), [Path("rows.txt")], again.parent))
    assert load_system(again).link == system.link


def test_bounds_are_those_of_a_systems_file():
    assert {one.key: one.bounds for one in FITTED}[SHARE] == (0.01, 1.0)


@pytest.mark.parametrize(
    "key,size,acts",
    [
        (COST, 1 << 29, True),
        (COST, 1 << 20, False),
        ("collective.low_latency.reduce_scatter_ns", 1 << 29, False),
        ("collective.low_latency.reduce_scatter_ns", 1 << 20, True),
        ("collective.all_gather_ns", 1 << 29, False),
        (LATENCY, 1 << 20, True),
    ],
)
def test_costs_of_a_protocol_act_on_its_own_messages(key, size, acts):
    (one,) = (one for one in FITTED if one.key == key)
    assert one.acts_on(load_system("h200"), scatter(size, 8)) is acts
