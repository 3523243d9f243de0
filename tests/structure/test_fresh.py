"""Page, CI and ``make fresh`` agree on the packages; the table of tried systems."""

import re
import subprocess
from dataclasses import replace

import pytest

from tests.fresh.machine import ROOT, packages
from tests.fresh.results import TrialResult, load, save, with_table

_PAGE = ROOT / "docs" / "start.md"
_RESULT = TrialResult(
    trial="debian-12-root",
    system="Debian 12",
    user="root",
    python="3.11.2",
    tools="none",
    command="make run",
    result="passes",
    seconds=201,
    detail="  build/run/report.html",
    revision="0123456789",
)


def test_the_page_names_the_packages():
    assert {"python3", "python3-venv", "make", "g++", "git"} <= set(packages("needed"))
    assert {"iverilog", "yosys", "chromium"} <= set(packages("optional"))


def test_the_ci_installs_the_optional_packages():
    line = re.search(r"^tools=.*$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)[0]
    done = subprocess.run(
        ["sh", "-c", f"{line}; echo $tools"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == packages("optional")


def test_a_table_replaces_an_earlier_one(tmp_path):
    page = _PAGE.read_text(encoding="utf-8")
    tested = replace(_RESULT, command="make test", result="fails (2)", seconds=900)
    once = with_table(page, [_RESULT, tested])
    row = "| Debian 12 | 3.11.2 | root | none | passes, 201 s | fails (2), 900 s |\n"
    assert row in once
    assert with_table(once, [_RESULT, tested]) == once
    assert row not in with_table(once, [_RESULT])
    save(tmp_path / "fresh.json", [_RESULT, tested])
    assert load(tmp_path / "fresh.json") == [_RESULT, tested]
    assert row in (tmp_path / "fresh.md").read_text(encoding="utf-8")


def test_a_page_without_a_place():
    with pytest.raises(ValueError, match="no place for the table"):
        with_table("# Start\n", [_RESULT])
