"""Energy in the evaluation: the same numbers as in the table, and under other constants."""

import pytest

from sysmodel.energy.constants import Constants, known_constants
from sysmodel.energy.counts import Energy
from t3.experiments.evaluation.energy import PARTS, energies, ranges, reductions
from t3.experiments.evaluation.study import Case
from t3.experiments.evaluation.tables.energy import constant_range_table, energy_table
from tests.support.example_study import example_study


@pytest.fixture(scope="module")
def study():
    return example_study()


@pytest.fixture(scope="module")
def moved(study):
    return {one.names: one for one in ranges(study)}


def test_every_part_is_shown_once():
    assert sorted(sum(PARTS.values(), ())) == sorted(Energy.__dataclass_fields__)


def test_counts_give_the_energies_of_the_table(study):
    again = energies(study.table, study, known_constants())
    for part, column in vars(again).items():
        assert column.to_list() == pytest.approx(study.table[f"energy_{part}_j"].to_list()), part
    assert again.total.to_list() == pytest.approx(study.table["energy_total_j"].to_list())


def test_reductions_are_those_of_the_table(study):
    total = study.points("energy_total_j", Case("stages", 75.0), group="main")
    saved = reductions(study, Case("stages", 75.0), known_constants())
    assert list(saved.index) == list(total.index)
    expected = 100 * (1 - total["t3-mca-paper"] / total["sequential"])
    assert saved.to_list() == pytest.approx(expected.to_list())


def test_a_link_that_costs_more_hides_what_is_saved(moved):
    """Every configuration sends the same bytes."""
    assert moved[("link",)].at_low > moved[("link",)].at_high
    assert moved[("wire",)].at_low < moved[("wire",)].at_high


def test_all_constants_together_bound_each_alone(moved):
    every = moved[tuple(Constants.model_fields)]
    for one in moved.values():
        assert every.at_low <= min(one.at_low, one.at_high)
        assert every.at_high >= max(one.at_low, one.at_high)


def test_tables(study):
    rows = energy_table(study, "main").rows
    assert len(rows) == 16 * 4
    cells = rows[2]
    assert cells[:4] == ["Mega-GPT-2", "8", "op", "t3-mca-paper"]
    parts, total = cells[4 : 4 + len(PARTS)], cells[4 + len(PARTS)]
    assert sum(map(float, parts)) == pytest.approx(float(total), abs=0.04)
    row = study.table[
        (study.table["model"] == "Mega-GPT-2") & (study.table["configuration"] == "t3-mca-paper")
    ].iloc[0]
    assert float(total) == pytest.approx(1e3 * row["energy_total_j"], abs=0.006)
    assert len(constant_range_table(study).rows) == len(Constants.model_fields) + 2
