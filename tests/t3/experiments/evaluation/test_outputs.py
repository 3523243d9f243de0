"""Files of the evaluation: all or none, in the results and as a page of the docs."""

import re

import pytest

from sysmodel.lib.errors import InputError
from t3.cli import reproduce as command
from t3.cli.main import main
from t3.experiments.evaluation import outputs as module
from t3.experiments.evaluation.figures import FIGURES
from t3.experiments.evaluation.outputs import Outputs
from t3.experiments.evaluation.page import SUMMARY_FIGURE
from t3.experiments.evaluation.tables import DETAILS
from t3.experiments.evaluation.tables.details import Detail
from tests.support.example_study import example_study

_PICTURES = {one.file for one in FIGURES.values()}
_BESIDE = _PICTURES | {f"{name}.csv" for name in DETAILS}


@pytest.fixture
def no_pictures(monkeypatch):
    """Replace figures by empty ones, which take no time."""

    def draw(study, folder):
        for name in _PICTURES:
            (folder / name).write_bytes(b"empty")

    monkeypatch.setattr(module, "draw_figures", draw)


@pytest.fixture
def no_content(monkeypatch, no_pictures):
    """Replace pages, tables and figures by empty ones."""
    monkeypatch.setattr(module, "page", lambda study, *_, **__: f"# {len(study.rtl)} results\n")
    monkeypatch.setattr(Detail, "csv", lambda *_: "nothing\n")


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_results_and_copy(tmp_path, no_pictures):
    out, copy = tmp_path / "results", tmp_path / "docs" / "evaluation.md"
    with Outputs(out, copy) as outputs:
        files = outputs.write(example_study())
    assert files == [out / "evaluation.md", out / "report.html", copy]
    assert names(out) == {"evaluation.md", "report.html", "evaluation"}
    assert names(out / "evaluation") == _BESIDE
    assert names(tmp_path / "docs" / "evaluation") == {SUMMARY_FIGURE.file}
    assert names(tmp_path / "docs") == {"evaluation.md", "evaluation"}
    for page, files in ((out / "evaluation.md", len(_BESIDE)), (copy, 1)):
        text = page.read_text(encoding="utf-8")
        assert "equal in every number" in text
        links = re.findall(r"\]\((evaluation/[^)]+)\)", text)
        assert len(links) == files
        for link in links:
            assert (page.parent / link).is_file(), link


def test_files_are_replaced(tmp_path, no_content):
    for _ in range(2):
        with Outputs(tmp_path, None) as outputs:
            outputs.write(example_study())
        assert names(tmp_path) == {"evaluation.md", "report.html", "evaluation"}


def test_nothing_is_left_after_a_failure(tmp_path, monkeypatch, no_content):
    def fail(study, folder):
        (folder / "speedups.svg").write_text("half")
        raise RuntimeError("in the middle")

    monkeypatch.setattr(module, "draw_figures", fail)
    out, copy = tmp_path / "results", tmp_path / "docs" / "evaluation.md"
    with pytest.raises(RuntimeError, match="in the middle"), Outputs(out, copy) as outputs:
        outputs.write(example_study())
    assert names(tmp_path) == set()


def test_the_command_measures_and_writes(tmp_path, monkeypatch, capsys, no_content):
    def measured(*arguments):
        asked.append(arguments)
        return example_study()

    asked = []
    monkeypatch.setattr(command, "measure", measured)
    command.reproduce(engine="golden", out=tmp_path, workers=3)
    assert asked == [(tmp_path, "golden", 3, None)]
    printed = capsys.readouterr().out.split()
    assert printed == [str(tmp_path / "evaluation.md"), str(tmp_path / "report.html")]
    shown = (tmp_path / "evaluation.md").read_text(encoding="utf-8")
    assert shown == f"# {len(example_study().rtl)} results\n"


@pytest.mark.parametrize("where", ["results", "docs"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(tmp_path, where):
    (tmp_path / where).write_text("a file")
    field = {"results": "out", "docs": "page"}[where]
    with (
        pytest.raises(InputError, match=f"^{field}: .*{where}.*cannot be written"),
        Outputs(tmp_path / "results", tmp_path / "docs" / "evaluation.md"),
    ):
        pytest.fail("it was entered")
    assert names(tmp_path) == {where}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--engine", "silver"], "--engine: 'silver' is not allowed; allowed: rtl, golden"),
        (["--page", "docs/page.html"], "--page: 'docs/page.html' is not allowed; allowed: a"),
        (["--workers", "0"], "--workers: 0 is not allowed; allowed: an integer from 1"),
        (
            ["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"],
            "--workers: 2 is not allowed",
        ),
    ],
)
def test_bad_options_are_refused_and_leave_nothing(tmp_path, capsys, options, problem):
    assert main(["reproduce", "--out", str(tmp_path / "results"), *options]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"error: {problem}")
    assert shown.count("\n") == 1
    assert names(tmp_path) == set()
