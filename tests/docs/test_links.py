"""Pages: their links, lengths and figures, and the commands that they show."""

import re
import shlex
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from t3.cli.app import load

_ROOT = Path(__file__).parents[2]
_PAGES = sorted(
    path.relative_to(_ROOT)
    for path in (*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"), *_ROOT.glob("examples/**/*.md"))
    if "generated" not in path.parts  # the site checks its own pages
)
# Commands write these summaries; each names its command and the revision of its figures.
_SUMMARIES = [
    page
    for page in _PAGES
    if str(page) in ("docs/evaluation.md", "docs/machines.md")
    or str(page).startswith(("docs/hardware/", "docs/validation/", "docs/verification/"))
]
_MOST_BYTES = 30_000
_MOST_LINES_OF_A_SUMMARY, _MOST_LINES_OF_THE_README = 80, 120
_MOST_CHARACTERS, _MOST_CHARACTERS_OF_PROSE = 140, 120


@cache
def _tokens(page: Path) -> list[Token]:
    markdown = MarkdownIt("commonmark").enable("table")
    return markdown.parse((_ROOT / page).read_text(encoding="utf-8"))


def _spans(page: Path) -> list[Token]:
    """Contents of paragraphs, headings and table cells."""
    return [span for token in _tokens(page) for span in token.children or ()]


def _targets(page: Path) -> list[str]:
    targets = [span.attrGet("href") or span.attrGet("src") for span in _spans(page)]
    return [str(target) for target in targets if target]


@cache
def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes for the headings."""
    tokens = _tokens(page)
    seen: Counter[str] = Counter()
    anchors = set()
    for opening, heading in zip(tokens, tokens[1:], strict=False):
        if opening.type != "heading_open":
            continue
        text = "".join(span.content for span in heading.children or ())
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        anchors.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return anchors


def _commands(page: Path) -> list[list[str]]:
    """Words behind the prompts of the page's console blocks."""
    blocks = [token.content for token in _tokens(page) if token.type == "fence"]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line[2:], comments=True) for line in lines if line.startswith("$ ")]


def _called(program: str) -> list[tuple[Path, list[str]]]:
    """Arguments of each call of a program, with its page."""
    return [
        (page, words[1:])
        for page in _PAGES
        for words in _commands(page)
        if words and Path(words[0]).name == program
    ]


def _id(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


@pytest.mark.parametrize("page", _PAGES, ids=str)
def test_links_lead_to_something(page):
    broken = []
    for target in _targets(page):
        link = urlsplit(target)
        if link.scheme:
            continue
        path = (_ROOT / page).parent / unquote(link.path) if link.path else _ROOT / page
        path = path.resolve()
        if not path.exists() or not path.is_relative_to(_ROOT):
            broken.append(target)
        elif link.fragment and link.fragment not in _anchors(path.relative_to(_ROOT)):
            broken.append(target)
    assert not broken


def _lines(page: Path) -> list[str]:
    return (_ROOT / page).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("page", _PAGES, ids=str)
def test_no_page_is_too_long(page):
    assert (_ROOT / page).stat().st_size <= _MOST_BYTES


def test_the_readme_is_short():
    assert len(_lines(Path("README.md"))) <= _MOST_LINES_OF_THE_README


@pytest.mark.parametrize(
    ("quoted", "page", "original"),
    [
        (r"(\d+) proofs of block contracts", "verification/proofs.md", "{0} of {0} proofs hold"),
        (r"contracts, (\d+) of them for any", "verification/proofs.md", "{} are by k-induction"),
        (r"benches kill (\S+) %", "verification/mutation.md", "| {}% |"),
        (r"\| (\S+) injected: none silent", "verification/faults.md", "**{} faults, 0 failures.**"),
        (r"speedup of T3 \| 1.20x \| (\S+)x", "evaluation.md", "| {} (1."),
        (r"`t3-mca-paper`\) \| 1.30x \| (\S+)x", "evaluation.md", "| {} (1."),
        (r"policy of this project \| \| (\S+)x", "evaluation.md", "| {} (1."),
        (r"of 51 \| \| (\d+) \| \d+", "evaluation.md", "{} hold with `stages`"),
        (r"of 51 \| \| \d+ \| (\d+)", "evaluation.md", "{} hold with `free`"),
        (r"T3 has (\S+)x of the speed on `h200`", "rivals.md", "| {}x | 2 of 6 |"),
        (r"six pairs, and (\S+)x on `b200`", "rivals.md", "| {}x | 5 of 6 |"),
        (r"\| `t3-critical`.* (\S+)x \|", "run.md", " {}x"),
    ],
)
def test_the_readme_quotes_the_pages(quoted, page, original):
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(quoted, " ".join(readme.split()) if "becomes" in quoted else readme)
    assert found
    assert original.format(found[1]) in (_ROOT / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", _SUMMARIES, ids=str)
def test_a_summary_is_short_and_names_its_command_and_revision(page):
    lines = _lines(page)
    assert len(lines) <= _MOST_LINES_OF_A_SUMMARY
    start = "\n".join(lines[:16])
    assert re.search(r"Made by `t3 \w+", start) and "revision" in start


@pytest.mark.parametrize("page", _PAGES, ids=str)
def test_lines_are_short(page):
    lines = _lines(page)
    tokens = _tokens(page)
    long = [n for n, line in enumerate(lines, 1) if len(line) > _MOST_CHARACTERS]
    for opening, text in zip(tokens, tokens[1:], strict=False):
        if opening.type == "paragraph_open" and text.map:
            first, end = text.map
            long += [n + 1 for n in range(first, end) if len(lines[n]) > _MOST_CHARACTERS_OF_PROSE]
    assert not long


def test_every_figure_and_table_in_the_docs_is_shown_by_a_page():
    files = {
        path
        for path in _ROOT.glob("docs/**/*")
        if path.suffix in (".csv", ".json", ".png", ".svg") and "generated" not in path.parts
    }
    shown = {(_ROOT / page).parent / target for page in _PAGES for target in _targets(page)}
    assert files <= {path.resolve() for path in shown}


@pytest.mark.parametrize(("page", "arguments"), _called("t3"), ids=_id)
def test_shown_commands_exist(page, arguments, monkeypatch):
    monkeypatch.chdir(_ROOT)
    # This parses the options and their values, and runs nothing.
    load(arguments[0]).make_context(arguments[0], arguments[1:])


@pytest.mark.parametrize(("page", "arguments"), _called("python"), ids=_id)
def test_shown_modules_exist(page, arguments):
    assert arguments[0] == "-m"
    assert find_spec(arguments[1])


def test_commands_are_found():
    assert len(_called("t3")) > 10


def test_links_are_found():
    assert len(_targets(Path("README.md"))) > 20
