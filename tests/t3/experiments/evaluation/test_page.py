"""The Markdown page and the HTML report."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from t3.experiments.evaluation.claims import known_claims
from t3.experiments.evaluation.figures import FIGURES, draw_figures
from t3.experiments.evaluation.page import Origin, page, report
from t3.experiments.evaluation.study import DISPATCH, LINK
from t3.experiments.evaluation.tables import DETAILS
from t3.report.document import Table, csv_text
from t3.report.markdown import table as markdown
from tests.support.example_study import CITED, example_study

ORIGIN = Origin("t3 0.1.0", "0123456789ab")
_LARGEST_FIGURE = 150_000


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    draw_figures(example_study(), folder)
    return folder


@pytest.fixture(scope="module")
def text():
    return page(example_study(), ORIGIN, "figures")


@pytest.fixture(scope="module")
def whole():
    """The page with the tables that are files otherwise."""
    return page(example_study(), ORIGIN, "figures", is_whole=True)


@pytest.fixture(scope="module")
def html(whole, figures):
    return report(whole, figures, "asplos24")


def test_every_figure_is_drawn_and_small(figures):
    assert {path.name for path in figures.iterdir()} == {one.file for one in FIGURES.values()}
    for path in figures.iterdir():
        assert 5_000 < path.stat().st_size < _LARGEST_FIGURE, path.name


@pytest.mark.verify  # test_validate.py draws a page's figures twice in every run
def test_equal_results_give_equal_figures(figures, tmp_path):
    draw_figures(example_study(), tmp_path)
    for path in figures.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_page_has_every_claim_with_its_reason(text):
    for claim in known_claims().claim:
        (row,) = [line for line in text.splitlines() if line.startswith(f"| {claim.what} |")]
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert len(cells) == 8
        assert cells[-1] == (claim.reason or "–")
    assert text.count("| – |\n") >= sum(not claim.reason for claim in known_claims().claim)


def test_a_claim_shows_paper_and_ours_side_by_side(text):
    row = next(line for line in text.splitlines() if line.startswith("| RS reads, sequential over"))
    cells = "TP 8 | 2.50x (H) | 2.500x | 2.500x | 2.500x | 0.0 % / 0.0 % / 0.0 % | all | – |"
    assert row == f"| RS reads, sequential over T3, {cells}"
    assert (
        f"| claim | paper | ours, free | ours, stages | ours, {CITED} "
        f"| difference, free / stages / {CITED} | holds in |" in text
    )


def test_page_links_to_every_figure(text, figures):
    links = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)
    assert sorted(links) == sorted(f"figures/{one.file}" for one in FIGURES.values())
    for link in links:
        assert (figures.parent / figures.name / link.removeprefix("figures/")).is_file()


def test_page_says_what_was_run_and_what_is_assumed(text, whole):
    for words in (
        "golden model of the RTL; 80 results again with the compiled RTL",
        "dispatched `free` and `stages`, at 150 GB/s and 75 GB/s",
        "revision `0123456789ab`",
        f"claims also on | `{CITED}`: asplos24 with GPGPU-Sim's linear banks",
        "1 of 32 memory channels",
        "| `t3.starvation_limit_cycles` | 256 |",
        "assumption: the paper has a limit and does not give it",
    ):
        assert words in text
    assert "TP H, rest an assumption" in whole
    # The study varies one part of this delay.
    assert re.search(r"`dram.timing.tCCD_WL` \| \{ clocks = 4 \} \| [^–]* to ", text)


@pytest.mark.parametrize("which", ["text", "whole"])
def test_tables_are_well_formed(which, request):
    """Every row of a table has as many cells as its heading."""
    text = request.getfixturevalue(which)
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    tables = sum(token.type == "table_open" for token in tokens)
    assert tables == len(re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)) > 10
    rows = sum(token.type == "tr_open" for token in tokens)
    assert rows == len(re.findall(r"^\|", text, flags=re.MULTILINE)) - tables


def test_every_number_heading_has_a_unit(whole):
    """Headings of the sublayers' tables end in their unit, or it stands before the case."""
    headings = [line for line in whole.splitlines() if line.startswith("| model | TP | layer |")]
    assert len(headings) == 10
    for line in headings:
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        numbers = [cell for cell in cells[4:] if not cell.startswith("best, ")]
        assert numbers and all(re.search(r"\((x|µs|MB|mJ|%)\)", cell) for cell in numbers), numbers


def test_the_page_leads_to_a_file_for_each_part_that_the_report_folds(text, whole):
    assert "<details>" not in text
    for name, detail in DETAILS.items():
        assert f"[{name}.csv](figures/{name}.csv)" in text
        for title, one in detail.parts(example_study()).items():
            shown = markdown(one.headings, one.rows, one.text_columns)
            assert name == "claims" or f"<summary>{title}</summary>\n\n{shown}" in whole


def test_a_file_has_what_the_study_has():
    study = example_study()
    rows = list(csv.DictReader(io.StringIO(DETAILS["times"].csv(study))))
    keys = ["model", "tp", "layer", "configuration", DISPATCH, LINK]
    table = study.table[study.table["system"] == "asplos24"].set_index(keys).sort_index()
    assert len(rows) == 36 * 5
    for row in rows:
        point = (row["model"], int(row["TP"]), row["layer"], row["configuration"])
        for dispatch in ("free", "stages"):
            measured = table.loc[(*point, dispatch, 75.0), "total_ns"] / 1e3
            shown = float(row[f"total (µs), {dispatch}, 75 GB/s"])
            assert shown == pytest.approx(measured, abs=0.06)


def test_the_file_of_claims_has_every_claim_with_its_source():
    rows = list(csv.DictReader(io.StringIO(DETAILS["claims"].csv(example_study()))))
    assert [row["id"] for row in rows] == [claim.id for claim in known_claims().claim]
    for row, claim in zip(rows, known_claims().claim, strict=True):
        assert (row["source"], row["reason"]) == (claim.source, claim.reason)
        assert float(row["paper"]) == claim.value


def test_cells_of_a_file_are_plain():
    headings = ("name", "number", "note:")
    one = Table(headings, [["`t3.key`", "1,234.5", "\N{MINUS SIGN}3.0"], ["", "–", 'a, "b"']])
    assert csv_text([one]) == 'name,number,note\nt3.key,1234.5,-3.0\n,,"a, ""b"""\n'
    with pytest.raises(ValueError, match="equal headings"):
        csv_text([one, Table(("name",), [])])


class _Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", "meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_self_contained(html):
    seen = _Seen()
    seen.feed(html)
    assert seen.open == []
    images = [attributes for tag, attributes in seen.tags if tag == "img"]
    assert len(images) == len(FIGURES)
    for image in images:
        assert re.match(r"data:image/(svg\+xml|png);base64,", image["src"]) and image["alt"]
    for tag, attributes in seen.tags:
        assert tag not in ("script", "iframe", "object")
        assert attributes.get("src", "data:").startswith("data:")
        if tag == "link":
            assert attributes["href"].startswith("data:")
    assert not re.search(r"url\(|@import", html)
    assert "MT128x96x64" in html  # the preset with its comments


def test_contents_lead_to_headings(html):
    seen = _Seen()
    seen.feed(html)
    names = {attributes["id"] for tag, attributes in seen.tags if tag == "h2"}
    links = {attributes.get("href") for tag, attributes in seen.tags if tag == "a"}
    assert {f"#{name}" for name in names} == {link for link in links if link.startswith("#")}
    assert len(names) == html.count("<h2")


def test_every_table_scrolls_by_itself(html):
    seen = _Seen()
    seen.feed(html)
    tags = [(tag, attributes) for tag, attributes in seen.tags]
    for before, (tag, _) in zip(tags, tags[1:], strict=False):
        if tag == "table":
            assert before[0] == "div" and "table" in before[1]["class"].split()
