"""The pages read the same in every dialect of Markdown, and the site loses no word."""

import importlib.util
import json
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGES = sorted(
    path.relative_to(_ROOT)
    for path in (*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"), *_ROOT.glob("examples/**/*.md"))
    if "generated" not in path.parts
)
_NOTEBOOKS = sorted(path.relative_to(_ROOT) for path in _ROOT.glob("docs/tutorials/*.ipynb"))


def _module(name):
    """Load a module of the site's folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, _ROOT / f"docs/site/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


dialect, words = _module("dialect"), _module("words")


@pytest.mark.parametrize("page", _PAGES, ids=str)
def test_no_line_is_read_otherwise(page):
    assert list(dialect.refused_lines((_ROOT / page).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=str)
def test_no_line_of_a_notebook_is_read_otherwise(notebook):
    cells = json.loads((_ROOT / notebook).read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            assert list(dialect.refused_lines("".join(cell["source"]))) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("makes FC layers' GEMMs 17\n% longer", 2),
        ("- a point of 3\n  % more", 2),
        ("a\n+++\nb", 2),
        ("(name)=\n", 1),
        (":::note\n", 1),
        ("$$\nx\n$$", 1),
        ("it costs $3 here and $4 there", 1),
        ("a <b> c", 1),
        ("<!-- a comment -->", 1),
        ("[label]: target", 1),
        ("the sum of 3\n+ 4", 2),
        ("chapter\n3. of it", 2),
        ("number\n# 3", 2),
        ("a\n> b", 2),
        ("a\n| b |", 2),
        ("a\n===", 2),
        ("- an item\n  # 3", 2),
    ],
)
def test_lines_that_are_refused(text, line):
    assert line in [number for number, _ in dialect.refused_lines(text)]


@pytest.mark.parametrize(
    "text",
    [
        "22 % of it, `<b>` and `% x`, 3 < 4",
        "```\n% a comment\n$ t3 run\n+ b\n```",
        "text:\n\n- one\n- two\n  goes on\n- three",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "1. one\n2. two",
        "it costs 3 $",
        "````\n```\n% inside\n```\n````",
    ],
)
def test_lines_that_are_not_refused(text):
    assert list(dialect.refused_lines(text)) == []


@pytest.fixture
def built(tmp_path):
    """Page and HTML of a site; returns the words that the HTML lacks."""

    def check(markdown, html):
        (tmp_path / "page.md").write_text(markdown)
        (tmp_path / "site").mkdir()
        (tmp_path / "site/page.html").write_text(html)
        return list(words.lost_words(tmp_path, tmp_path / "site"))

    return check


def test_a_lost_line_is_found(built):
    markdown = "# Title\n\nlayers' GEMMs 17\n% longer, IP layers' 22 % and gains.\n"
    (line,) = built(markdown, "<h1>Title</h1><p>layers' GEMMs 17\nand gains.</p>")
    assert line.startswith("page.md: 6 words lost: ") and "longer" in line


def test_a_page_without_losses(built):
    markdown = (
        "# A *title*\n\n| a | `b` |\n|---|---|\n| 1 % | 2 |\n\n![picture](x.png)\n\n"
        "```\ncode\n```\n"
    )
    html = (
        "<h1>A <em>title</em></h1><table><tr><th>a</th><th><code>b</code></th></tr><tr><td>1 %</td>"
        '<td>2</td></tr></table><img alt="picture" src="x.png"><pre><span>co</span>de</pre>'
    )
    assert built(markdown, html) == []
