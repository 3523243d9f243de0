"""The page as one self-contained HTML file: no request leaves it and no script is in it."""

import base64
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sysmodel.config.system import preset_path

__all__ = ["report"]

_HERE = Path(__file__).parent
_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
_DENSE = 7  # tables with more columns than this do not break their cells


def report(markdown: str, figures: Path, system: str) -> str:
    """The report in HTML.

    Parameters
    ----------
    markdown : str
        The page.
    figures : Path
        Folder of the figures, which go into the file.
    system : str
        Preset whose TOML is shown.
    """
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(markdown)
    headings = _name_headings(tokens)
    body = parser.renderer.render(tokens, parser.options, {})
    body = _IMAGE.sub(lambda found: _inline(found, figures), body)
    body = re.sub(r"<table>.*?</table>", _contained, body, flags=re.DOTALL)
    headings.append(("configuration", "Configuration"))
    body = body.replace("</h1>\n", f"</h1>\n{_contents(headings)}", 1)
    environment = Environment(
        loader=FileSystemLoader(_HERE), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("report.html.j2").render(
        title=next(one.content for one in _after(tokens, "h1")),
        style=(_HERE / "report.css").read_text(encoding="utf-8"),
        body=body,
        system=system,
        preset=preset_path(system).read_text(encoding="utf-8"),
    )


def _after(tokens: list[Token], tag: str) -> list[Token]:
    """Contents of the headings of one level."""
    return [
        content
        for opening, content in zip(tokens, tokens[1:], strict=False)
        if opening.type == "heading_open" and opening.tag == tag
    ]


def _name_headings(tokens: list[Token]) -> list[tuple[str, str]]:
    """Give every second-level heading a name to link to; names and texts."""
    found = []
    for opening, content in zip(tokens, tokens[1:], strict=False):
        if opening.type == "heading_open" and opening.tag == "h2":
            name = "-".join(re.findall(r"\w+", content.content.lower()))
            opening.attrSet("id", name)
            found.append((name, content.content))
    return found


def _contents(headings: list[tuple[str, str]]) -> str:
    items = "\n".join(f'<li><a href="#{name}">{text}</a></li>' for name, text in headings)
    return f'<nav aria-label="Contents">\n<ol>\n{items}\n</ol>\n</nav>\n'


_IMAGE = re.compile(r'<p><img src="([^"]+)" alt="([^"]*)"\s*/?></p>')


def _inline(found: re.Match[str], figures: Path) -> str:
    file = Path(found[1]).name
    content = (figures / file).read_bytes()
    data = f"data:{_TYPES[Path(file).suffix]};base64,{base64.b64encode(content).decode()}"
    return (
        f'<figure>\n<img src="{data}" alt="{found[2]}">\n'
        f"<figcaption>{found[2]}</figcaption>\n</figure>"
    )


def _contained(found: re.Match[str]) -> str:
    """A table in a box of its own that scrolls, with a class for how wide it is."""
    columns = len(re.findall(r"<th\b", found[0]))
    kinds = ["table"]
    if ">claim</th>" in found[0]:
        kinds.append("claims")
    elif columns > _DENSE:
        kinds.append("dense")
    return f'<div class="{" ".join(kinds)}" tabindex="0">\n{found[0]}\n</div>'
