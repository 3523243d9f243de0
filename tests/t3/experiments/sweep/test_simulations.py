"""Simulations of a sweep: each one once, and only those that lack results."""

import pytest

from t3.experiments.sweep.grid import load_grid
from t3.experiments.sweep.simulations import missing_simulations


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(
        'title = "x"\n[[grid]]\n'
        'workload = {model = "t-nlg", layer = ["op", "fc1", "fc2"], tp = 8}\n'
        'run.configurations = ["sequential", "t3"]\n'
    )
    return load_grid(path)


def test_equal_simulations_are_one_the_longest_first(grid):
    fc, op = missing_simulations(grid, {})
    assert op.titles == (grid.points[0].title(()),)
    assert fc.titles == tuple(point.title(()) for point in grid.points[1:])
    assert fc.cost > op.cost


def test_only_missing_configurations_are_simulated(grid):
    op, fc1, _ = (point.identity for point in grid.points)
    have = {op: {"sequential": {}, "t3": {}}, fc1: {"sequential": {}, "t3-mca": {}}}
    (only,) = missing_simulations(grid, have)
    assert only.point.options.configurations == ("t3",)
    assert only.point.identity == fc1
    assert len(only.titles) == 2
    have[fc1]["t3"] = {}
    assert missing_simulations(grid, have) == []
