"""Functions longer than a reader can hold at once; part of ``make lint``.

A function above the limit needs a reason beside it: a comment ``# long: ...`` on the line of its
``def`` or on the line above it.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["LIMIT", "long_functions"]

LIMIT = 80
FOLDERS = ("rtl", "sysmodel", "t3", "tb", "tests")
_REASON = re.compile(r"# long: \S")


def long_functions(path: Path) -> Iterator[str]:
    """A line for each function of a file that is too long and does not say why."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            beside = lines[max(0, node.lineno - 2) : node.lineno]
            if length > LIMIT and not any(_REASON.search(line) for line in beside):
                yield f"{path}:{node.lineno}: {node.name} has {length} lines; allowed: {LIMIT}"


def main() -> int:
    files = sorted(file for folder in FOLDERS for file in Path(folder).rglob("*.py"))
    found = [line for file in files for line in long_functions(file)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
