"""BERT-Large's operator breakdown against sums by hand."""

import pytest

from sysmodel.config.system import load_system
from t3.experiments.transformer.bert import (
    BATCHES,
    bert_breakdown,
    bert_large,
    by_setting,
    main,
    summary,
)
from t3.experiments.transformer.operators import KINDS

SYSTEM = load_system("asplos24")
PEAK, BYTES = 80 * 1.4 * 1024, 0.9 * 1024
SETTING = ["sequence", "precision", "batch", "micro_batches"]
PARAMETERS = 335_141_888  # published number for bert-large-uncased
LAMB_BYTES = {"mixed": 44, "fp32": 52}


@pytest.fixture(scope="module")
def breakdown():
    return bert_breakdown(SYSTEM)


@pytest.fixture(scope="module")
def steps(breakdown):
    return breakdown.groupby(SETTING)["time_ms"].sum()


def library(k):
    return 0.94 * k / (k + 210)


def test_parameters_are_the_published_model_s():
    assert bert_large().parameters == PARAMETERS


def test_rows(breakdown):
    assert len(breakdown) == 2 * 2 * len(BATCHES) * len(KINDS)
    shares = breakdown.groupby(SETTING)["share"].sum()
    assert shares.to_numpy() == pytest.approx(1)


def test_flops_do_not_depend_on_precision_or_micro_batches(breakdown):
    flops = breakdown.groupby(SETTING)["flops"].sum()
    for sequence in (128, 512):
        tokens = 32 * sequence
        expected = 24 * (6 * 12 * 1024**2 * tokens + 3 * 4 * tokens * sequence * 1024)
        for precision in ("fp32", "mixed"):
            assert flops[sequence, precision, 32, 1] == pytest.approx(expected)
            assert flops[sequence, precision, 32, 4] == pytest.approx(expected)
            assert flops[sequence, precision, 8, 1] == pytest.approx(expected / 4)


def test_the_optimizer_runs_once_a_step(breakdown):
    times = breakdown[breakdown["kind"] == "optimizer"]
    for row in times.itertuples():
        moved = PARAMETERS * LAMB_BYTES[row.precision]
        assert row.time_ms == pytest.approx(moved / BYTES / 1e6)


@pytest.mark.parametrize("sequence", [128, 512])
def test_micro_batches_shorten_the_sums_of_weight_gradients(steps, breakdown, sequence):
    tokens = 32 * sequence
    weights = 24 * 2 * 12 * 1024**2 * tokens / PEAK / 1e6
    longer = weights / library(tokens / 4) - weights / library(tokens)
    whole, parts = steps[sequence, "mixed", 32, 1], steps[sequence, "mixed", 32, 4]
    assert parts == pytest.approx(whole + longer)
    optimizer = PARAMETERS * 44 / BYTES / 1e6
    share = breakdown[breakdown["kind"] == "optimizer"].set_index(SETTING)["share"]
    assert share[sequence, "mixed", 32, 4] == pytest.approx(optimizer / (whole + longer))
    alone = (parts - optimizer) / 4 + optimizer
    assert share[sequence, "mixed", 8, 1] == pytest.approx(optimizer / alone)


def test_fp32_doubles_memory_bound_operators(breakdown):
    norm = breakdown[breakdown["kind"] == "normalisation"].set_index(SETTING)["time_ms"]
    for setting in norm.index:
        sequence, precision, batch, micro_batches = setting
        if precision == "mixed":
            full = norm[sequence, "fp32", batch, micro_batches]
            assert full == pytest.approx(2 * norm[setting])


def test_by_setting(breakdown, steps):
    wide = by_setting(breakdown)
    assert list(wide.columns) == [*SETTING, "step (ms)", *(f"{kind} (%)" for kind in KINDS)]
    assert wide[[f"{kind} (%)" for kind in KINDS]].sum(axis=1).to_numpy() == pytest.approx(100)
    for row in wide.itertuples(index=False):
        assert row[4] == steps[tuple(row[:4])]


def test_summary_agrees_with_the_table(breakdown, steps):
    lines = summary(breakdown).splitlines()
    assert len(lines) == 2 * 3
    faster = steps[128, "fp32", 32, 1] / steps[128, "mixed", 32, 1]
    assert f"{faster:.2f} times the sequences in a second" in lines[0]
    per_sequence = steps[128, "mixed", 32, 4] / (4 * steps[128, "mixed", 8, 1])
    assert f"{per_sequence:.2f} times" in lines[2]
    share = breakdown.set_index([*SETTING, "kind"])["share"]
    before, after = (
        100 * sum(share[128, precision, 32, 1, kind] for kind in ("attention", "attention gemm"))
        for precision in ("fp32", "mixed")
    )
    assert f"attention {before:.1f} to {after:.1f} %" in lines[0]


def test_main_prints_table_and_summary(capsys, breakdown):
    main()
    printed = capsys.readouterr().out
    assert summary(breakdown) in printed
    assert "optimizer (%)" in printed
