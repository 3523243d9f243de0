"""Sweeps of real simulations: the same table on one process, on many, on a cluster and resumed."""

import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress

import pandas as pd
import pytest

from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from t3.experiments.sweep import pool
from t3.experiments.sweep.grid import load_grid
from t3.experiments.sweep.run import CSV, PARQUET, RECORD, SweepError, sweep
from t3.experiments.sweep.run import POINTS as CHECKPOINT
from tests.support import sweep_points
from tests.support.small_grid import CONFIGURATIONS, POINTS, grid_text


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    path = tmp_path_factory.mktemp("grid") / "grid.toml"
    path.write_text(grid_text())
    return load_grid(path)


@pytest.fixture(scope="module", autouse=True)
def other_cluster():
    """Occupy Dask's usual port, as another cluster does."""
    with socket.socket() as taken:
        with suppress(OSError):  # another program has the port
            taken.bind(("", 8787))
            taken.listen()
        yield


@pytest.fixture(scope="module")
def reference(grid, tmp_path_factory):
    """Folder of a sweep in one process."""
    out = tmp_path_factory.mktemp("reference") / "new" / "out"
    sweep(grid, out, workers=1)
    return out


@pytest.fixture
def replace_point(monkeypatch):
    """Let the workers do something else with a point."""
    return lambda function: monkeypatch.setattr(pool, "simulate_point", function)


def _watched(*arguments, **options):
    """Table of a sweep, and every status that it reported."""
    seen = []
    table = sweep(*arguments, report=seen.append, **options)
    return table, seen


def test_rows_are_those_of_single_runs(grid, reference):
    table = pd.read_csv(reference / CSV)
    assert len(table) == POINTS * len(CONFIGURATIONS)
    point = grid.points[-1]
    result = simulate(Plan(point.workload, point.system, point.options))
    for (_, row), name in zip(table.tail(2).iterrows(), CONFIGURATIONS, strict=True):
        one = result.configurations[name]
        assert row["configuration"] == name
        assert (row["m"], row["n"], row["k"], row["tp"]) == (1024, 384, 128, 4)
        assert row["link.bandwidth_gb_per_s"] == 18.75
        assert row["total_ns"] == one.total_ns
        assert row["gemm_throttled_ns"] == one.gemms["gemm"].throttled_ns
        for kind, count in one.dram_bytes.as_dict().items():
            assert row[f"dram_{kind}_bytes"] == count


def test_files_agree(reference):
    csv, parquet = pd.read_csv(reference / CSV), pd.read_parquet(reference / PARQUET)
    pd.testing.assert_frame_equal(csv, parquet)
    record = json.loads((reference / RECORD).read_text())
    assert (record["points"], record["rows"], record["found"]) == (POINTS, len(csv), 0)
    assert record["grid"][0]["workload"]["m"] == [512, 1024]
    assert record["grid"][0]["system"]["base"] == ["asplos24"]
    assert record["engines"] == ["golden"]
    assert sorted(path.name for path in reference.iterdir()) == sorted(
        (CSV, PARQUET, RECORD, CHECKPOINT)
    )


def test_nothing_is_simulated_twice(grid, reference):
    before = (reference / CHECKPOINT).read_bytes(), (reference / CSV).read_bytes()
    _, (only,) = _watched(grid, reference)
    assert (only.found, only.done) == (POINTS, POINTS)
    assert ((reference / CHECKPOINT).read_bytes(), (reference / CSV).read_bytes()) == before


def test_resumed_after_a_torn_line(grid, reference, tmp_path):
    lines = (reference / CHECKPOINT).read_bytes().splitlines(keepends=True)
    (tmp_path / CHECKPOINT).write_bytes(b"".join(lines[:6]) + lines[6][:100])
    _, seen = _watched(grid, tmp_path, workers=1)
    assert (seen[0].found, seen[0].unreadable, seen[-1].done) == (6, 1, POINTS)
    assert seen[-1].share == 1
    after = (tmp_path / CHECKPOINT).read_bytes().splitlines(keepends=True)
    assert after[:6] == lines[:6]
    assert sorted(after) == sorted(lines)
    assert (tmp_path / CSV).read_bytes() == (reference / CSV).read_bytes()


@pytest.fixture
def dask(tmp_path):
    """Start Dask's command in a process of its own; it ends with the test."""
    with ExitStack() as stack:

        def start(*arguments):
            log = stack.enter_context((tmp_path / f"{arguments[0]}.log").open("a"))
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *map(str, arguments)],
                    stdout=log,
                    stderr=log,
                )
            )
            stack.callback(process.terminate)
            return process

        yield start


def _scheduler(dask, tmp_path):
    """A scheduler's process and its address."""
    file = tmp_path / "scheduler.json"
    where = "--host 127.0.0.1 --port 0 --no-dashboard --dashboard-address 127.0.0.1:0".split()
    process = dask("scheduler", *where, "--scheduler-file", file)
    while True:
        time.sleep(0.05)
        try:
            return process, json.loads(file.read_text())["address"]
        except (FileNotFoundError, ValueError):
            assert process.poll() is None


def _worker(dask, address):
    options = ["--nthreads", "1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    return dask("worker", address, *options)


def test_on_a_cluster(grid, reference, tmp_path, dask, capfd):
    _, address = _scheduler(dask, tmp_path)
    for _ in range(2):
        _worker(dask, address)
    _, seen = _watched(grid, tmp_path / "out", scheduler=address)
    assert max(status.workers or 0 for status in seen) == 2
    assert (tmp_path / "out" / CSV).read_bytes() == (reference / CSV).read_bytes()
    assert capfd.readouterr() == ("", "")


@pytest.mark.verify
def test_a_scheduler_that_dies(grid, tmp_path, dask, capfd):
    process, address = _scheduler(dask, tmp_path)
    _worker(dask, address)

    def report(status):
        if status.done == 1:
            process.kill()

    with pytest.raises(SimulationError, match="connection to the scheduler was lost"):
        sweep(grid, tmp_path / "out", scheduler=address, report=report)
    assert capfd.readouterr() == ("", "")
    assert 1 <= len((tmp_path / "out" / CHECKPOINT).read_text().splitlines()) < POINTS


@pytest.mark.verify
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "foo://x:1"])
def test_a_scheduler_that_cannot_be_reached(grid, tmp_path, address, capfd):
    with pytest.raises(InputError, match=f"scheduler: '{address}' cannot be reached within 10 s"):
        sweep(grid, tmp_path / "out", scheduler=address)
    assert not (tmp_path / "out").exists()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"workers": 0}, "0 is not allowed; allowed: an integer from 1 to"),
        ({"workers": 5000}, "5000 is not allowed"),
        ({"workers": 2, "scheduler": "x"}, "2 is not allowed together with a scheduler"),
    ],
)
def test_number_of_workers(grid, tmp_path, options, problem):
    with pytest.raises(InputError, match=f"workers: {problem}"):
        sweep(grid, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.verify
def test_a_worker_that_dies_during_a_point(
    grid, reference, tmp_path, monkeypatch, replace_point, capfd
):
    marker = tmp_path / "died"
    monkeypatch.setenv("T3_TEST_MARKER", str(marker))
    replace_point(sweep_points.die_first)
    sweep(grid, tmp_path / "out", workers=2)
    assert marker.exists()
    assert (tmp_path / "out" / CSV).read_bytes() == (reference / CSV).read_bytes()
    assert capfd.readouterr() == ("", "")


@pytest.mark.verify
@pytest.mark.parametrize(
    ("point", "reason"),
    [
        (sweep_points.die, "its worker process died, and so did those that tried again"),
        (sweep_points.unable, "a strange fault"),
    ],
)
def test_points_that_fail_for_good(grid, tmp_path, replace_point, point, reason, capfd):
    replace_point(point)
    grid = type(grid)(**{**vars(grid), "points": grid.points[:2]})
    with pytest.raises(SweepError, match="2 of 2 points failed") as caught:
        sweep(grid, tmp_path, workers=1)
    assert len(caught.value.status.failures) == 2
    for line in caught.value.status.failures:
        assert line.startswith("custom gemm, TP 4 (512 x 384 x 64) on asplos24, ")
        assert reason in line
    assert (tmp_path / CHECKPOINT).read_text() == ""
    assert capfd.readouterr() == ("", "")


def test_a_failing_point_does_not_take_the_rest_down(tmp_path):
    # In the last tile column of one element, not every wavefront has an atom in channel 0.
    path = tmp_path / "grid.toml"
    grid = grid_text("m = 1024, n = [384, 385], k = 64, tp = 4")
    path.write_text(grid.replace('engine = "golden"', 'engine = "golden"\nchannels = 1'))
    with pytest.raises(SweepError, match="2 of 4 points failed") as caught:
        sweep(path, tmp_path / "out", workers=1)
    first, _ = caught.value.status.failures
    assert first.startswith("custom gemm, TP 4 (1024 x 385 x 64) on asplos24, ")
    assert "1 of 4 channels do not hold an atom of every wavefront's tile" in first
    table = pd.read_csv(tmp_path / "out" / CSV)
    assert len(table) == 2 * len(CONFIGURATIONS)
    assert set(table["n"]) == {384}
    record = json.loads((tmp_path / "out" / RECORD).read_text())
    assert record["failures"] == list(caught.value.status.failures)
