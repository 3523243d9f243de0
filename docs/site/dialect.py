"""Check of Markdown pages: no line means something else in another dialect of Markdown.

MyST takes a line that begins with ``%`` for a comment, and some others for blocks of its own.
GitHub takes text between dollar signs for mathematics. Both hide HTML tags. A wrapped line that
begins with the sign of a list, a heading, a quotation or a table ends its paragraph.
"""

import re
from collections.abc import Iterator

__all__ = ["refused_lines"]

_FENCE = re.compile(r"\s*(?:>\s*)?(?P<fence>`{3,}|~{3,})")
_BLOCKS = {
    "comment of MyST": r"%",
    "block break of MyST": r"\+\+\+",
    "target of MyST": r"\([^)\s]*\)=",
    "directive of MyST": r":::",
    "mathematics": r"\$\$",
    "definition of a link": r"\[[^\]]+\]:",
}
_INSIDE = {
    "mathematics": r"(?<![\\$])\$[^\s$][^$]*\$",
    "HTML": r"<(?:!|/?[A-Za-z])[^>]*>?",
}
_STARTS = re.compile(r"\s*(?:#{1,6}\s|>|\||=+\s*$|-+\s*$|[-+*]\s|\d+[.)]\s)")
_ITEM = re.compile(r"\s*(?:[-+*]|\d+[.)])\s")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


def refused_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that another dialect reads otherwise, with the reason."""
    fence, before, in_item = "", "", False
    for number, line in enumerate(text.split("\n"), start=1):
        found = _FENCE.match(line)
        if found and (not fence or line.strip() == fence):
            fence = "" if fence else re.match(r"(.)\1*", found["fence"])[0]  # type: ignore[index]
            before, in_item = "", False
            continue
        if fence:
            continue
        yield from ((number, reason) for reason in _reasons(line, before, in_item))
        in_item = bool(_ITEM.match(line)) or (in_item and line.startswith("  "))
        before = line


def _reasons(line: str, before: str, in_item: bool) -> Iterator[str]:
    start = _ITEM.sub("", line).lstrip()
    yield from (reason for reason, pattern in _BLOCKS.items() if re.match(pattern, start))
    prose = _CODE.sub("", line)
    yield from (reason for reason, pattern in _INSIDE.items() if re.search(pattern, prose))
    is_prose = bool(before.strip()) and not before.lstrip().startswith(("|", "#", ">"))
    if is_prose and _STARTS.match(line) and not (in_item and _ITEM.match(line)):
        yield "end of the paragraph"
