"""Messages of a sweep on the terminal."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from t3.experiments.sweep.display import Display, duration
from t3.experiments.sweep.status import Status
from t3.report import progress

_BEGIN = Status(points=12, done=5, found=5, duplicates=2, other_code=3, unreadable=1)


@pytest.mark.parametrize(
    ("seconds", "words"), [(7.4, "7 s"), (99, "99 s"), (240, "4 min"), (36_000, "10.0 h")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_plain_lines(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_FIRST_LINE_S", 0.2)
    with Display(Path("out")) as display:
        display(_BEGIN)
        for done in (5, 6, 7):
            display(replace(_BEGIN, done=done, workers=2, share=0.5, left_s=240.0))
        time.sleep(0.5)
    begin, then = capsys.readouterr().err.splitlines()
    assert begin.split(", ") == [
        "12 points",
        "2 given twice",
        "5 found in out",
        "3 results of other sources in out not used",
        "1 unfinished lines in out not used",
    ]
    assert then == "7/12 points, about 4 min left, 50%, 0 s"


def test_a_sweep_of_several_has_its_name(capsys):
    with Display(Path("out"), "matrix, sweep 1 of 2") as display:
        display(_BEGIN)
    assert capsys.readouterr().err.startswith("matrix, sweep 1 of 2: 12 points, ")


def test_failures_come_at_the_end(capsys):
    failures = tuple(f"point {i}: [reason]" for i in range(25))
    with Display(Path("out")) as display:
        display(replace(_BEGIN, failures=failures, workers=0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "5/12 points, 25 failed, waiting for workers"
    assert lines[1:21] == [f"failed: {line}" for line in failures[:20]]
    assert lines[21:] == ["failed: 5 more, in sweep.json"]


def test_an_interruption_reports_the_points_with_results(capsys):
    with pytest.raises(KeyboardInterrupt), Display(Path("out")) as display:
        display(_BEGIN)
        raise KeyboardInterrupt
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "5 of 12 points are stored in out; the same command continues from there"
