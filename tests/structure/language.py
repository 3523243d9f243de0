"""Language check: counts openings, rates and retired words in docstrings, comments and pages.

``.venv/bin/python tests/structure/language.py [PATH ...]`` lists the offenders below each path, or
in the whole tree, and ends with the shares for each package.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "Count",
    "Offender",
    "Text",
    "count",
    "files",
    "offenders",
    "package",
    "retired",
    "texts",
]

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "driver", "examples", "rtl", "sysmodel", "t3", "tb", "tests", "verification")
GENERATED = (
    "docs/evaluation.md",
    "docs/machines.md",
    "docs/evaluation/",
    "docs/hardware/",
    "docs/validation/",
    "docs/verification/",
)
RETIRED = Path(__file__).with_name("retired_words.toml")

_COMMENTED = {".c", ".cpp", ".h", ".rdl", ".sv", ".v", ".vh"}
_PAGES = {".ipynb", ".j2", ".md"}
_DATA = {".toml"}
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_RDL_TEXT = re.compile(r'\b(?:desc|name)\s*=\s*"([^"]*)"')
_CODE_IN_PAGE = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)", re.DOTALL)
_ITEM = re.compile(r"^\s*\S[^:]* : |^\s*[\w`*., ]+$")
_SECTION = re.compile(r"^\s*-{3,}\s*$")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_WHAT = re.compile(r"\bwhat\b", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Text:
    """One docstring, comment, help text or page.

    ``openings`` holds the line offset and the text of every line that introduces something.
    """

    line: int
    content: str
    openings: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Offender:
    """One offending place; printed in the format that editors can jump to."""

    path: str
    line: int
    problem: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}: {self.text.strip()[:100]}"


@dataclass
class Count:
    """Totals of one package: text size and offenders by kind."""

    words: int = 0
    openings: int = 0
    offenders: dict[str, list[Offender]] = field(
        default_factory=lambda: {"opening": [], "what": [], "retired": []}
    )

    @property
    def opening_share(self) -> float:
        """Share of the openings that offend, in percent: docstrings, descriptions, comments."""
        return 100 * len(self.offenders["opening"]) / max(1, self.openings)

    @property
    def what_rate(self) -> float:
        """Uses of the vague pronoun in 1,000 words."""
        return 1000 * len(self.offenders["what"]) / max(1, self.words)

    @property
    def retired(self) -> int:
        """Uses of retired words and names."""
        return len(self.offenders["retired"])


def files(paths: Iterable[Path] = ()) -> list[Path]:
    """List the written files below ``paths``, or of the whole tree."""
    starts = list(paths) or [ROOT / folder for folder in FOLDERS] + sorted(ROOT.glob("*.md"))
    kinds = _COMMENTED | _PAGES | _DATA | {".py"}
    found = [f for p in starts for f in (p.rglob("*") if p.is_dir() else [p]) if f.suffix in kinds]
    return sorted(f for f in found if f.resolve() != RETIRED and not _name(f).startswith(GENERATED))


def package(path: Path) -> str:
    """Name the group that a file counts in: its top-level folder, or ``pages``."""
    return "pages" if path.suffix in _PAGES else _name(path).split("/")[0]


def texts(path: Path) -> Iterator[Text]:
    """Yield the texts of a file that are written for readers."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _docstrings_and_helps(source)
        yield from _python_comments(source)
    elif path.suffix in _COMMENTED:
        for match in (*_C_COMMENT.finditer(source), *_RDL_TEXT.finditer(source)):
            yield Text(source.count("\n", 0, match.start()) + 1, match.group())
    elif path.suffix == ".md":
        yield Text(1, _CODE_IN_PAGE.sub(lambda code: "\n" * code.group().count("\n"), source))


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(RETIRED.read_text(encoding="utf-8"))
    return table


def retired() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Read the retired words, the retired names, and the lines on which a word is allowed."""
    return _table()["words"], _table()["names"], _table()["allowed"]


def count(paths: Iterable[Path]) -> dict[str, Count]:
    """Count the texts and the offenders of files, by package."""
    counts: dict[str, Count] = {}
    for path in paths:
        total = counts.setdefault(package(path), Count())
        for text in texts(path):
            total.words += len(_WORD.findall(text.content))
            total.openings += len(text.openings)
        for kind, offender in offenders(path):
            total.offenders[kind].append(offender)
    return counts


def offenders(path: Path) -> Iterator[tuple[str, Offender]]:
    """Yield the kind and place of every offender of a file."""
    name = _name(path)
    for text in texts(path):
        openings = _table()["openings_of_comments" if text.content.startswith("#") else "openings"]
        for offset, opening in text.openings:
            first = _WORD.match(opening.strip())
            if first and first.group() in openings:
                problem = f'opens with "{first.group()}"'
                yield "opening", Offender(name, text.line + offset, problem, opening)
        for offset, line in enumerate(text.content.splitlines()):
            for _ in _WHAT.findall(line):
                yield "what", Offender(name, text.line + offset, '"what"', line)
    for offender in _retired_in(path, name):
        yield "retired", offender


def _name(path: Path) -> str:
    """Path of a file below the root of the tree."""
    resolved = path.resolve()
    return (resolved.relative_to(ROOT) if resolved.is_relative_to(ROOT) else path).as_posix()


def _docstrings_and_helps(source: str) -> Iterator[Text]:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, documented) and node.body and ast.get_docstring(node) is not None:
            statement = node.body[0]
            assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            content = str(statement.value.value)
            yield Text(statement.lineno, content, tuple(_openings(content)))
        elif isinstance(node, ast.Call):
            for line, help_text in _help_texts(node):
                yield Text(line, help_text, ((0, help_text),))


def _openings(docstring: str) -> Iterator[tuple[int, str]]:
    """First line of a docstring, and of every description in its NumPy sections."""
    lines = docstring.splitlines()
    yield 0, lines[0]
    in_section = False
    for before, (offset, line) in zip(lines, enumerate(lines[1:], 1), strict=False):
        in_section = in_section or bool(_SECTION.match(line))
        deeper = _indent(line) > _indent(before) and line.strip() and before.strip()
        if in_section and deeper and _ITEM.match(before):
            yield offset, line


def _help_texts(call: ast.Call) -> Iterator[tuple[int, str]]:
    """Help texts: ``help=...`` of any call, and the first argument of the command's options."""
    function = (
        call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    )
    given = [keyword.value for keyword in call.keywords if keyword.arg == "help"]
    if function in ("option", "integer_option", "choice"):
        given += call.args[:1]
    for value in given:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, value.value


def _python_comments(source: str) -> Iterator[Text]:
    """Comments; a line that continues the comment above it opens nothing."""
    continued = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            number, is_whole_line = token.start[0], not token.line[: token.start[1]].strip()
            words = token.string.lstrip("# ")
            opening = words[:1].upper() + words[1:]
            is_continuation = is_whole_line and number == continued
            yield Text(number, token.string, () if is_continuation else ((0, opening),))
            continued = number + 1 if is_whole_line else 0


@cache
def _retired_phrases() -> re.Pattern[str]:
    phrases = "|".join(r"[\s_]+".join(word.split()) for word in retired()[0])
    return re.compile(rf"(?<![A-Za-z])(?:{phrases})(?![A-Za-z])", re.IGNORECASE)


def _has_its_ordinary_meaning(word: str, line: str) -> bool:
    allowed = retired()[2]
    return word in allowed and bool(re.search(allowed[word], line))


def _retired_in(path: Path, name: str) -> Iterator[Offender]:
    words, names, _ = retired()
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    separated = _CAMEL.sub("_", source)
    for match in _retired_phrases().finditer(separated):
        number = separated.count("\n", 0, match.start()) + 1
        word = " ".join(re.split(r"[\s_]+", match.group().lower()))
        if not _has_its_ordinary_meaning(word, lines[number - 1]):
            problem = f'"{word}", better: {words[word]}'
            yield Offender(name, number, problem, lines[number - 1])
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            is_retired = token.type == tokenize.NAME and token.string in names
            if is_retired and not _has_its_ordinary_meaning(token.string, token.line):
                problem = f'"{token.string}", better: {names[token.string]}'
                yield Offender(name, token.start[0], problem, token.line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def main(arguments: list[str]) -> int:
    counts = count(files([Path(argument) for argument in arguments]))
    listed = [o for total in counts.values() for kind in total.offenders.values() for o in kind]
    print(*sorted(map(str, listed)), sep="\n")
    for name, total in sorted(counts.items()):
        print(
            f"{name}: openings {len(total.offenders['opening'])} of {total.openings} "
            f'({total.opening_share:.1f} %), "what" {total.what_rate:.1f} in 1,000 words, '
            f"retired words {total.retired}"
        )
    return 1 if listed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
