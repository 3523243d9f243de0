"""The pages: links, lengths, and the commands that they show."""

import re
import shlex
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer
from markdown_it import MarkdownIt
from markdown_it.token import Token

from t3.cli.main import app

_ROOT = Path(__file__).parents[2]
_PAGES = sorted(
    path.relative_to(_ROOT)
    for path in (*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"), *_ROOT.glob("examples/**/*.md"))
    if path.parent.name != "generated"  # of the site, which has checks of its own
)
# Commands write these, with a paragraph in each line.
_WRITTEN_BY_COMMANDS = (
    "docs/hardware/",
    "docs/machines.md",
    "docs/validation/",
    "docs/verification/",
)
_MOST_BYTES = 30_000
_REGISTER_MAP = Path("docs/hardware/registers.md")
_MOST_CHARACTERS = 120


@cache
def _tokens(page: Path) -> list[Token]:
    markdown = MarkdownIt("commonmark").enable("table")
    return markdown.parse((_ROOT / page).read_text(encoding="utf-8"))


def _spans(page: Path) -> list[Token]:
    """What stands in paragraphs, headings and table cells."""
    return [span for token in _tokens(page) for span in token.children or ()]


def _targets(page: Path) -> list[str]:
    targets = [span.attrGet("href") or span.attrGet("src") for span in _spans(page)]
    return [str(target) for target in targets if target]


@cache
def _anchors(page: Path) -> set[str]:
    """The headings' anchors, as GitHub makes them."""
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
    """What stands behind the prompts of the page's console blocks, as words."""
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


@pytest.mark.parametrize("page", _PAGES, ids=str)
def test_no_page_is_too_long(page):
    """The register map and the lists of evidence are looked things up in, not read."""
    evidence = "docs/verification/", "docs/validation/"
    is_looked_up = page == _REGISTER_MAP or str(page).startswith(evidence)
    most = 2 * _MOST_BYTES if is_looked_up else _MOST_BYTES
    assert (_ROOT / page).stat().st_size <= most


@pytest.mark.parametrize(
    "page", [page for page in _PAGES if not str(page).startswith(_WRITTEN_BY_COMMANDS)], ids=str
)
def test_lines_of_prose_are_short(page):
    lines = (_ROOT / page).read_text(encoding="utf-8").splitlines()
    tokens = _tokens(page)
    long = []
    for opening, text in zip(tokens, tokens[1:], strict=False):
        if opening.type == "paragraph_open" and text.map:
            first, end = text.map
            long += [n + 1 for n in range(first, end) if len(lines[n]) > _MOST_CHARACTERS]
    assert not long


@pytest.mark.parametrize(("page", "arguments"), _called("t3"), ids=_id)
def test_shown_commands_exist(page, arguments, monkeypatch):
    monkeypatch.chdir(_ROOT)
    commands = typer.main.get_command(app).commands
    assert arguments[0] in commands
    # Reads the options and their values, and runs nothing.
    commands[arguments[0]].make_context(arguments[0], arguments[1:])


@pytest.mark.parametrize(("page", "arguments"), _called("python"), ids=_id)
def test_shown_modules_exist(page, arguments):
    assert arguments[0] == "-m"
    assert find_spec(arguments[1])


def test_commands_are_found():
    assert len(_called("t3")) > 10


def test_links_are_found():
    assert len(_targets(Path("README.md"))) > 20
