"""Measured GPUs: the rows that are compared, the rules for the others, and the presets' errors."""

import pytest

from sysmodel.config.bundled import PRESETS as BUNDLED
from sysmodel.config.system import load_system
from sysmodel.runs.library_choice import library_choice
from sysmodel.runs.run_network import RunNetwork
from t3.experiments.measured.comparison import Compared
from t3.experiments.measured.measurement import RINGS, Measurement
from t3.experiments.validation import preset_errors
from t3.experiments.validation.measured_errors import errors_of
from t3.experiments.validation.measured_rows import RULES, measured_rows
from t3.experiments.validation.measured_sections import (
    MeasuredGpus,
    measured_sections,
    measured_summary,
)
from t3.experiments.validation.preset_errors import (
    PRESETS,
    error_lines,
    errors_text,
    known_errors,
)

ROWS = measured_rows()


def test_every_row_is_compared_or_left_out_by_a_rule_that_is_used():
    assert ROWS.total == 543 + 25
    compared = sum(map(len, ROWS.by_preset.values()))
    assert compared + sum(ROWS.left_out.values()) == ROWS.total
    assert [rule.reason for rule in RULES if not ROWS.left_out[rule.reason]] == []
    assert set(ROWS.by_preset) == set(PRESETS.values()) <= set(BUNDLED.names())


@pytest.mark.parametrize("preset", PRESETS.values())
def test_collectives_take_the_protocol_to_which_their_rows_are_fitted(preset):
    """The fits chose the low-latency protocol by the bytes of a chunk alone."""
    system = load_system(preset)
    low_latency = system.collective.low_latency
    rows = [one for one in ROWS.by_preset[preset] if one.kind in (*RINGS, "gemm_rs")]
    assert rows
    for row in rows:
        network = RunNetwork(system, row.gpus)
        chosen = library_choice(network, "all-reduce", row.message_bytes)
        if row.kind == "all_reduce" and chosen != network.algorithm.name:
            continue
        taken = RunNetwork(system, row.gpus).protocol(row.chunk_bytes)
        small = row.chunk_bytes <= 1024 * low_latency.most_chunk_kib
        assert (taken == low_latency) is small, row


@pytest.mark.parametrize(
    "preset,kind,rows",
    [
        # Per number of GPUs nccl-tests give 10 sizes of a reduce-scatter and 4 of an all-gather.
        ("h100", "reduce_scatter", 2 * 10),
        ("h100", "all_gather", 2 * 4),
        ("h200", "reduce_scatter", 2 * 10),
        ("b200", "reduce_scatter", 2 * (10 - 2)),
        ("b200", "all_gather", 2 * (4 - 1)),
        ("h100", "all_to_all", 2 * 9),
        ("h200", "all_to_all", 2 * 9),
        ("b200", "all_to_all", 2 * 9),
        ("mi300x", "all_reduce", 13 - 2),
        # 10 sizes for each number of GPUs, and in place 5 from 16 MiB to 1 GiB.
        ("h100", "all_reduce", 2 * 10 + 5),
        ("h200", "all_reduce", 2 * 10 + 5),
        ("b200", "all_reduce", (10 - 2) + (10 - 3)),
        ("h100", "gemm_rs", 4),
        ("h200", "read", 1),
        ("b200", "read", 0),
    ],
)
def test_number_of_rows(preset, kind, rows):
    assert sum(one.kind == kind for one in ROWS.by_preset[preset]) == rows


def test_the_cliff_and_the_outlier_are_left_out():
    sizes = {one.message_bytes for one in ROWS.by_preset["b200"] if one.kind in RINGS}
    assert {1 << 22, 1 << 26} <= sizes and not sizes & {1 << 24, 1 << 25}
    gemms = [one for one in ROWS.by_preset["h100"] if (one.m, one.n, one.k) == (8192, 8192, 1024)]
    assert sorted(one.value for one in gemms) == [192.61, 198.28]


def compared(*shares, kind="reduce_scatter", message_bytes=1 << 26):
    row = Measurement(kind, 100.0, 8, message_bytes, source="NCCL")
    return [Compared(row, 100 * (1 + share)) for share in shares]


def test_errors_by_kind_and_size():
    rows = [*compared(-0.2, 0.1), *compared(0.5, message_bytes=1 << 16)]
    small, large = errors_of({"h200": rows})
    assert (large.kind, large.rows) == ("reduce-scatter above 4 MiB", 2)
    assert (large.mean, large.size, large.worst) == pytest.approx((-0.05, 0.15, -0.2))
    assert (small.kind, small.worst) == ("reduce-scatter up to 4 MiB", pytest.approx(0.5))


def test_the_table_holds_for_the_presets_values_alone(tmp_path, monkeypatch):
    table = tmp_path / "errors.csv"
    table.write_text(errors_text(errors_of({"h200": compared(-0.25), "h100": compared(0.5)})))
    (found,) = known_errors("h200", table)
    assert (found.mean, found.rows) == (-0.25, 1)
    assert known_errors("b200", table) == [] == known_errors("h200", tmp_path / "none.csv")
    monkeypatch.setattr(preset_errors, "values_digest", lambda system: "other")
    assert known_errors("h200", table) == []
    assert error_lines("asplos24") == []
    assert error_lines("h200") == [
        "Measured error: known only for earlier values of this preset; t3 validate measures it."
    ]


def test_pages():
    rows = [*compared(-0.2), *compared(0.1, kind="read", message_bytes=0)]
    measured = MeasuredGpus(ROWS, {"h200": rows})
    sections = {one.title: one for one in measured_sections(measured)}
    (row,) = sections["Measured GPUs: collectives"].table.rows
    assert row[:4] == ("h200", "reduce-scatter", "67,108,864 bytes on 8 GPUs", "NCCL")
    assert row[4:] == ("100.0", "80.0", "µs", "−20.0 %")
    assert len(sections["Measured GPUs: memory streams"].table.rows) == 1
    text = measured_summary(measured, "Made by a test.")
    assert "| h200 | reduce-scatter above 4 MiB | 1 | −20.0 % | 20.0 % | −20.0 % |" in text
    assert "| h200 | memory streams | 1 | +10.0 % |" in text
    for reason, number in ROWS.left_out.items():
        assert f"| {reason} | {number} |" in text
    assert text.count("\n") <= 80
