"""Check of executed notebooks: each cell that ends with a value to look at has an output."""

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Cell = Mapping[str, Any]


def shows(source: str) -> bool:
    """Return True if the last statement of a cell is an expression, which a notebook shows."""
    lines = source.rstrip().splitlines()
    if not lines or lines[0].startswith("%%"):
        return bool(lines)
    statements = ast.parse(source).body
    return bool(statements) and isinstance(statements[-1], ast.Expr)


def calls_a_shell(source: str) -> bool:
    """Return True if a cell runs a command of the shell: a notebook ignores its failure, and the
    shell may find the program of another environment."""
    return any(line.lstrip().startswith("!") or "= !" in line for line in source.splitlines())


def has_output(cell: Cell) -> bool:
    """Return True if a cell has an output with content: a bar of progress has none at the end, and
    the name of a figure is not the figure."""
    for output in cell["outputs"]:
        parts = [output.get("text", ""), *output.get("data", {}).values()]
        texts = ["".join(part) if isinstance(part, list) else str(part) for part in parts]
        texts = [text for text in texts if text.strip() and not text.startswith("<Figure")]
        if texts and output.get("name") != "stderr":
            return True
    return False


def silent_cells(notebook: Path) -> Iterator[str]:
    """Yield the cells of an executed notebook that show nothing, or that may fail silently."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        last = source.rstrip().splitlines()[-1] if source.strip() else ""
        if calls_a_shell(source):
            yield f"{notebook.name}: a command of the shell: {last}"
        elif shows(source) and not has_output(cell):
            yield f"{notebook.name}: no output: {last}"


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    notebooks = sorted(folder.rglob("*.ipynb"))
    found = [line for notebook in notebooks for line in silent_cells(notebook)]
    for line in found:
        print(line)
    print(f"{folder}: {len(found)} silent cells in {len(notebooks)} notebooks")
    return 1 if found or not notebooks else 0


if __name__ == "__main__":
    sys.exit(main())
