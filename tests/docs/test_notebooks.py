"""The notebooks: each cell shows something, runs in any kernel, and fails if its command fails."""

import importlib.util
import json
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_NOTEBOOKS = sorted(path.relative_to(_ROOT) for path in _ROOT.glob("docs/tutorials/*.ipynb"))

_spec = importlib.util.spec_from_file_location("outputs", _ROOT / "docs/site/outputs.py")
outputs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(outputs)


def _sources(notebook):
    cells = json.loads((_ROOT / notebook).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=str)
def test_no_cell_calls_a_shell(notebook):
    assert [source for source in _sources(notebook) if outputs.calls_a_shell(source)] == []


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=str)
def test_no_semicolon_hides_a_picture(notebook):
    """Pictures of the library are shown as values; only calls of Matplotlib's axes need none."""
    for source in _sources(notebook):
        if source.rstrip().endswith(";"):
            assert "axes" in source or "set_xlabel" in source


@pytest.fixture
def notebook(tmp_path):
    """Path of an executed notebook of one cell."""

    def make(source, *outputs):
        cell = {"cell_type": "code", "source": [source], "outputs": list(outputs)}
        path = tmp_path / "one.ipynb"
        path.write_text(json.dumps({"cells": [cell]}))
        return path

    return make


_VALUE = {"output_type": "execute_result", "data": {"text/plain": ["3"]}}
_BAR = {"output_type": "display_data", "data": {"text/plain": "", "text/html": ""}}
_NAME = {"output_type": "execute_result", "data": {"text/plain": ["<Figure size 1140x780>"]}}
_WARNING = {"output_type": "stream", "name": "stderr", "text": ["12 s"]}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("result.roofline();", ()),
        ("x = 1\nx + 2", ()),
        ("x + 2", (_BAR,)),
        ("result.roofline()", (_NAME,)),
        ("x + 2", (_WARNING,)),
        ("%%writefile file\nx", ()),
        ("shown = !t3 run\nprint(shown.n)", (_VALUE,)),
        ("!t3 run", (_VALUE,)),
    ],
)
def test_a_silent_cell_is_found(notebook, source, found):
    assert len(list(outputs.silent_cells(notebook(source, *found)))) == 1


@pytest.mark.parametrize(
    ("source", "found"),
    [("x + 2", (_BAR, _VALUE)), ("x = 3", ()), ("import t3", ()), ("x != 3", (_VALUE,))],
)
def test_other_cells_are_not_found(notebook, source, found):
    assert list(outputs.silent_cells(notebook(source, *found))) == []
