"""The page, the terminal and the exit code of ``t3 validate``."""

from dataclasses import replace

import pytest
import typer
from markdown_it import MarkdownIt

from sysmodel.config.model import workload_of
from sysmodel.lib.errors import InputError
from t3.cli.validate import validate
from t3.experiments.efficiency import GemmAlone
from t3.experiments.measured.comparison import Compared
from t3.experiments.measured.measurement import Measurement
from t3.experiments.validation import sections
from t3.experiments.validation.gemm_comparison import GemmComparison
from t3.experiments.validation.gpu_comparison import CardFigure, CardGemm
from t3.experiments.validation.measured_rows import Rows
from t3.experiments.validation.measured_sections import MeasuredGpus
from t3.experiments.validation.references import (
    card_reference,
    dram_references,
    ring_references,
    stream_references,
)
from t3.experiments.validation.sampling import SamplingComparison
from t3.experiments.validation.software_comparison import SoftwareComparison
from t3.experiments.validation.software_rows import software_rows
from t3.library.validation import ERRORS, MEASURED, PAGE, SUMMARY
from t3.report.document import Figure, Section, Table
from t3.report.markdown import page
from t3.report.terminal import print_section

RINGS = [one for one in ring_references() if one.buffer_bytes == 24_000_000][:2]


@pytest.fixture
def few(monkeypatch):
    """Replace the references with one row of each kind, which takes no time."""
    dram = dram_references()
    kinds = {(one.simulator, one.channel, one.pattern, one.refresh): one for one in dram}
    chosen = [dram[0], *kinds.values()]
    monkeypatch.setattr(sections, "dram_references", lambda: chosen)
    monkeypatch.setattr(sections, "ring_references", lambda: RINGS)
    monkeypatch.setattr(sections, "other_rings", lambda: RINGS[:1])
    gemm = GemmComparison(2048, 0.85, 0.92, 0.78, 0.9)
    monkeypatch.setattr(sections, "compare_gemm", lambda report: [gemm])
    on_card = CardGemm("h200", card_reference("h200").gemms[0], 0.825, GemmAlone(7e4, 0.84, 1, 2))
    monkeypatch.setattr(sections, "compare_card_gemms", lambda report: [on_card])
    streams = stream_references()[:1]
    figure = CardFigure("h200", "latency of the L2", "ns", 145.0, 150.0)
    monkeypatch.setattr(sections, "card_figures", lambda: [figure])
    monkeypatch.setattr(sections, "stream_references", lambda: streams)
    row = Compared(Measurement("all_gather", 50.0, 8, 1 << 24), 40.0)
    gpus = MeasuredGpus(Rows({"h200": [row.measurement]}, {"a reason": 2}, 3), {"h200": [row]})
    monkeypatch.setattr(sections, "compare_gpus", lambda report: gpus)
    overlap = SoftwareComparison(software_rows()[0], 2.8e5, 3.4e5)
    monkeypatch.setattr(sections, "compare_software", lambda report: [overlap])
    work = workload_of("t-nlg", "fc2", 8)
    same = SamplingComparison(work, "t3", 1e6, 1e6)
    monkeypatch.setattr(sections, "compare_sampling", lambda one, report: [same])
    return chosen


def test_page_and_figures_are_written_and_reproducible(few, tmp_path, capsys):
    validate(tmp_path / "a")
    shown = capsys.readouterr().out
    validate(tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    text = (tmp_path / "a" / PAGE).read_text(encoding="utf-8")
    links = [
        child.attrs["src"]
        for token in MarkdownIt().parse(text)
        for child in token.children or ()
        if child.type == "image"
    ]
    assert sorted(links) == ["validation-dram.png", "validation-ring.png"]
    files = {path.name: path for path in (tmp_path / "a").iterdir()}
    assert set(files) == {PAGE, SUMMARY, MEASURED, ERRORS, *links}
    assert "h200,all-gather above 4 MiB,1,-0.2000," in files[ERRORS].read_text(encoding="utf-8")
    for link in links:
        assert files[link].read_bytes().startswith(b"\x89PNG") and files[link].stat().st_size > 9000
    tables = [t for t in MarkdownIt().enable("table").parse(text) if t.type == "table_open"]
    assert len(tables) == 15
    for one in few:
        assert f" {one.fraction_of_peak:.4f} |" in text
    assert "DRAM: sequential" in shown and "bound broken" not in shown
    assert all(str(path) in shown for path in files.values())


@pytest.mark.parametrize("kind", ["dram", pytest.param("ring", marks=pytest.mark.verify)])
def test_broken_bound_is_shown_and_ends_with_one(few, kind, monkeypatch, tmp_path, capsys):
    if kind == "dram":
        wrong = [replace(few[0], fraction_of_peak=0.5)]
        monkeypatch.setattr(sections, "dram_references", lambda: wrong)
    else:
        wrong = [replace(RINGS[0], time_ns=1.02 * RINGS[0].time_ns)]
        monkeypatch.setattr(sections, "ring_references", lambda: wrong)
    with pytest.raises(typer.Exit) as end:
        validate(tmp_path)
    assert end.value.exit_code == 1
    assert "bound broken: " in capsys.readouterr().out
    assert "**Bound broken**" in (tmp_path / PAGE).read_text(encoding="utf-8")


def test_the_summary_counts_figures_and_shows_the_largest_difference(tmp_path):
    rows = (("a", "−2.0 %", "yes"), ("b", "+5.0 %", "no"), ("c", "+9.0 %", "–"))
    table = Table(("name", "difference", "within"), rows)
    bound = Section("Bound", table=table, broken=("b, +5.0 %",))
    table = Table(("name", "difference"), (("a", "+1.0 points"), ("b", "0.0 points")))
    free = Section("Free", table=table)
    path = tmp_path / SUMMARY
    sections.write_summary([bound, free], path, "Made by a test.")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Validation\n\nMade by a test.\n")
    assert "- **Bound broken**: Bound: b, +5.0 %\n" in text
    assert "| Bound | 3 | 2 | 1 | +5.0 % |\n| Free | 2 | 0 | 0 | +1.0 points |\n" in text


def test_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="out: .*file.* cannot be written"):
        validate(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_sections_of_anybody(tmp_path, capsys):
    figure = Figure("a.png", "what it shows", lambda path: path.write_text("drawn"))
    full = Section("Full", "Words.", Table(("name", "value"), (("x | y", "1"),)), figure)
    text = page("Title", "Start.", [full, Section("Bare", "Only words.")])
    assert text == (
        "# Title\n\nStart.\n\n## Full\n\nWords.\n\n| name | value |\n| :-- | --: |\n"
        "| x \\| y | 1 |\n\n![what it shows](a.png)\n\n## Bare\n\nOnly words.\n"
    )
    print_section(replace(full, broken=("[red] is no colour here",)))
    shown = capsys.readouterr().out
    assert "x | y" in shown and "bound broken: [red] is no colour here" in shown
