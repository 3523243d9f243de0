"""Kernels that overlap by software: the rows, their counts, and the section of made-up times."""

from dataclasses import replace

import pytest

from t3.experiments.validation.software_comparison import (
    BOUND,
    SoftwareComparison,
    agreement,
    compare_software,
)
from t3.experiments.validation.software_rows import (
    BASELINES,
    KERNELS,
    LEFT_OUT,
    left_out_rows,
    rows_of_operations,
    software_rows,
)
from t3.experiments.validation.software_sections import software_section

ROWS = software_rows()


def rows_of(name, operation="gemm_rs"):
    return [one for one in ROWS if (one.kernel.name, one.operation) == (name, operation)]


def made_up(row, sequential_us, kernel_us):
    return SoftwareComparison(row, 1e3 * sequential_us, 1e3 * kernel_us)


def test_every_row_is_compared_a_baseline_or_left_out_for_a_reason():
    compared = {(one.operation, name) for one in KERNELS for name in one.implementations}
    left_out = 0
    for row in rows_of_operations():
        out = any(rule.applies(row) for rule in LEFT_OUT)
        known = (row["op"], row["implementation"]) in compared or row["implementation"] in BASELINES
        assert out or known, row
        left_out += out
    counts = left_out_rows()
    assert sum(counts.values()) == left_out and set(counts) == {one.reason for one in LEFT_OUT}
    (rule,) = (one for one in LEFT_OUT if one.reason.startswith("no preset describes"))
    without = {row["gpu"] for row in rows_of_operations() if rule.applies(row)} - {"Blackwell"}
    assert without == {"H20", "L20", "MI308X"}  # as the reason says


def test_a_row_has_its_libraries_time_or_their_ratio():
    """As the sources print them: losses of Flux on H100, and ratios of a chart on H800."""
    flux = rows_of("Flux")
    by_m = {one.m: one for one in flux if one.role == "fitted"}
    assert sorted(by_m) == [2048, 4096, 16384, 32768]
    assert by_m[2048].speedup == pytest.approx(0.875, abs=5e-4) and by_m[2048].wins is False
    assert (by_m[32768].torch_us, by_m[32768].kernel_us) == (3978.0, 4986.37)
    chart = [(one.n, one.k, one.speedup) for one in flux if one.gpu == "H800" and one.m == 8192]
    assert chart == [(3584, 1792, 0.77), (4608, 4608, 1.10), (8192, 3696, 1.32)]
    (point,) = (one for one in flux if one.gpu == "H800" and one.m == 4096)
    assert (point.kernel_us, point.role) == (932.0, "held out")
    assert [one.wins for one in flux if one.torch_us is None and one.gpu == "H100"] == [None, None]


def test_the_size_of_a_gemm_behind_an_all_gather_is_in_the_note():
    on_h100 = [one for one in rows_of("Flux", "ag_gemm") if one.gpu == "H100"]
    assert {(one.n, one.k) for one in on_h100} == {(7168, 8192)}
    assert [one.m for one in on_h100 if one.role == "fitted"] == [1024, 4096, 8192]


def test_a_difference_is_that_of_times_or_of_shares_of_the_libraries():
    timed, chart = rows_of("Flux")[0], rows_of("Triton-distributed")[1]
    one = made_up(timed, 1.1 * timed.torch_us, 0.9 * timed.kernel_us)
    assert one.torch_difference == pytest.approx(0.1)
    assert one.difference == pytest.approx(-0.1) and one.holds
    # 1.42x measured: a kernel that takes all of the libraries' time is 42 % too slow.
    ratio = made_up(chart, 500.0, 500.0)
    assert ratio.difference == pytest.approx(0.42) and ratio.torch_difference is None
    assert ratio.holds is False and ratio.agrees is False
    assert made_up(chart, 500.0, 400.0).agrees


def test_a_kernel_that_the_model_lacks_is_compared_by_its_winner_alone():
    row = rows_of("FlagTree", "gemm_ar")[0]
    one = made_up(row, row.torch_us, 3 * row.kernel_us)
    assert one.holds is None and one.agrees is False
    assert made_up(row, 2.0, 1.0).agrees


def test_the_section_counts_rows_and_shows_those_beyond_the_bound():
    fitted, unknown = rows_of("Flux")[0], rows_of("Flux")[4]
    assert unknown.speedup is None
    right = made_up(fitted, fitted.torch_us, fitted.kernel_us)
    off = made_up(unknown, 1000.0, (1 + BOUND + 0.01) * unknown.kernel_us)
    section = software_section([right, off])
    assert "1 of 2 rows: 1 of 1 fitted, 0 of 1 held out" in section.text
    assert "right in 1 of 1 rows" in section.text
    assert [row[-2:] for row in section.table.rows] == [("right", "yes"), ("–", "no")]
    (broken,) = section.broken
    assert broken.startswith("H100, Flux, GEMM, reduce-scatter, 16384 x 8192 x 1024, held out")


def test_too_few_right_winners_break_a_bound():
    row = rows_of("Flux")[0]  # a loss
    right, wrong = made_up(row, 290.0, 331.0), made_up(row, 340.0, 331.0)
    assert agreement([right, wrong]) == (1, 2)
    assert software_section([right] * 4 + [wrong]).broken == ()
    assert software_section([right, wrong]).broken == ("win or loss is right in 1 of 2 rows",)


def test_a_small_gemm_is_simulated_in_each_way():
    """A kernel's own values count, and each time is that of the work that the row names."""
    pieces = replace(rows_of("async-TP")[0], m=256, n=256, k=64)
    quick = replace(pieces, kernel=replace(pieces.kernel, values={"chunked.piece_ns": 0.0}))
    whole = replace(pieces, kernel=rows_of("FlagTree", "gemm_ar")[0].kernel)
    late, early, both = compare_software(rows=[pieces, quick, whole])
    assert late.sequential_ns == early.sequential_ns < both.sequential_ns
    # The last piece hides a little of what passes before it.
    assert late.kernel_ns - early.kernel_ns == pytest.approx(7 * 40_000, rel=0.05)
