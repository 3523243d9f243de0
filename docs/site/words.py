"""Check of a built site: every word of a Markdown page is in its HTML."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

_WORD = re.compile(r"\w+|[%±×≤≥+]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")  # but not a comment, whose words are lost
_BLOCKS = frozenset("p li td th tr div pre h1 h2 h3 h4 h5 h6 dt dd br section figcaption".split())
_SILENT = frozenset(("script", "style"))


class _Text(HTMLParser):
    """Text of a page."""

    def __init__(self, html: str):
        super().__init__()
        self.parts: list[str] = []
        self._silent = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in _SILENT
        self.parts += [value for name, value in attrs if name == "alt" and value]
        self._end(tag)

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in _SILENT
        self._end(tag)

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)

    def _end(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append(" ")


def markdown_words(markdown: str) -> Counter[str]:
    """Words of a page as CommonMark has them, without directives; HTML counts as text."""
    parts = []
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type in ("code_block", "html_block") or (
            token.type == "fence" and not token.info.startswith("{")
        ):
            parts.append(token.content)
        for span in token.children or ():
            if span.type in ("text", "code_inline", "html_inline", "image"):
                parts.append(span.content)
            elif span.type in ("softbreak", "hardbreak"):
                parts.append(" ")
        parts.append(" ")
    return Counter(_WORD.findall(_TAG.sub(" ", "".join(parts))))


def html_words(html: str) -> Counter[str]:
    """Words of a page in HTML."""
    return Counter(_WORD.findall("".join(_Text(html).parts)))


def lost_words(root: Path, site: Path) -> Iterator[str]:
    """Yield the words that each page of a site lacks, after the name of its source."""
    for page in sorted(site.rglob("*.html")):
        source = root / page.relative_to(site).with_suffix(".md")
        if not source.is_file():
            continue
        lost = markdown_words(source.read_text(encoding="utf-8"))
        lost -= html_words(page.read_text(encoding="utf-8"))
        if lost:
            words = " ".join(lost.elements())
            yield f"{source.relative_to(root)}: {lost.total()} words lost: {words[:200]}"


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    found = list(lost_words(Path(__file__).resolve().parents[2], site))
    for line in found:
        print(line)
    print(f"{site}: {len(found)} pages lack words")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
