"""Grids of the evaluation, and their tables."""

import importlib.resources

import pytest

from t3.experiments.evaluation.study import CUS, DISPATCH, LINK
from t3.experiments.sweep.grid import load_grid
from tests.support.configurations import EVALUATED as CONFIGURATIONS
from tests.support.example_study import CITED

EVALUATED = {
    *(("Mega-GPT-2", tp) for tp in (8, 16)),
    *(("T-NLG", tp) for tp in (8, 16)),
    *((model, 32) for model in ("GPT-3", "PALM", "MT-NLG")),
    *((model, 64) for model in ("1T", "10T")),
}


@pytest.fixture
def grid(request):
    path = importlib.resources.files("t3.experiments.evaluation") / f"{request.param}.toml"
    return load_grid(str(path), engine="golden")


def varied(point):
    gpu = point.system.gpu
    return gpu.dispatch, point.system.link.bandwidth_gb_per_s, gpu.compute_units


def place(point):
    return point.workload.model, point.workload.tp, point.workload.layer, *varied(point)


@pytest.mark.parametrize("grid", ["paper"], indirect=True)
def test_the_matrix_is_the_papers(grid):
    own = [one for one in grid.points if one.system.name == "asplos24"]
    settings = {
        (dispatch, *setting)
        for dispatch in ("free", "stages")
        for setting in ((150.0, 80), (75.0, 80), (150.0, 160))
    }
    assert {place(one) for one in own} == {
        (*model, layer, *setting)
        for model in EVALUATED
        for layer in ("op", "fc1", "fc2", "ip")
        for setting in settings
    }
    assert set(grid.system_keys) == {DISPATCH, LINK, CUS}
    for point in own:
        assert point.options.engine == "golden"
        if varied(point)[2] == 80:
            assert set(point.options.configurations) == set(CONFIGURATIONS)


@pytest.mark.parametrize("grid", ["paper"], indirect=True)
def test_the_cited_simulators_banks_are_simulated_for_the_claims_only(grid):
    cited = [one for one in grid.points if one.system.name == CITED]
    assert {place(one) for one in cited} == {
        (*model, layer, "stages", 150.0, units)
        for model in EVALUATED
        for layer in ("op", "fc1", "fc2", "ip")
        for units in (80, 160)
    }
    assert {one.system.dram.bank_interleave for one in cited} == {"linear"}
    simulations = sum(len(one.options.configurations) for one in cited)
    everything = sum(len(one.options.configurations) for one in grid.points)
    assert simulations < everything / 8


@pytest.mark.parametrize("grid", ["rtl"], indirect=True)
def test_the_rtl_has_a_part_of_the_matrix_in_both_dispatches(grid):
    path = importlib.resources.files("t3.experiments.evaluation") / "paper.toml"
    matrix = {one.identity: one for one in load_grid(str(path), engine="golden").points}
    for point in grid.points:
        whole = matrix[point.identity]
        assert set(point.options.configurations) <= set(whole.options.configurations)
    assert {one.system.gpu.dispatch for one in grid.points} == {"free", "stages"}
    assert set(grid.system_keys) == {DISPATCH, LINK, CUS}


@pytest.mark.parametrize("grid", ["sensitivity"], indirect=True)
def test_every_parameter_leaves_its_default_alone(grid):
    """Each point differs from the defaults in one parameter, or in one and those that it needs."""
    needed = {
        "t3.command_depth": "t3.granularity",
        "t3.tracker_sets": "t3.credit_window_workgroups",
    }
    seen = {}
    for point in grid.points:
        assert set(point.options.configurations) >= {
            "sequential",
            "t3",
            "t3-mca",
            "t3-critical",
            "ideal-overlap",
        }
        changed = set(_differing(point.system.model_dump(), _defaults(grid)))
        changed = {key for key in changed if needed.get(key) not in changed}
        seen.setdefault(tuple(sorted(changed)), []).append(point)
    complete = [keys for keys in seen if len(keys) > 1]
    assert all(
        point.system.name == "asplos24-complete" for keys in complete for point in seen[keys]
    )
    assert len(complete) == 1
    # Both sublayers meet every change.
    for points in seen.values():
        assert len({(one.workload.n, one.workload.k, one.workload.tp) for one in points}) == 2


def _defaults(grid):
    return next(one.system for one in grid.points if one.system.name == "asplos24").model_dump()


def _differing(ours, theirs, prefix=""):
    for key, value in ours.items():
        if isinstance(value, dict) and isinstance(theirs[key], dict):
            yield from _differing(value, theirs[key], f"{prefix}{key}.")
        elif value != theirs[key] and prefix:
            yield f"{prefix}{key}"
