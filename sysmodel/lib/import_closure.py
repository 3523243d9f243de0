"""Source files on which a module depends through its imports."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["import_closure"]

# Statements at the left margin. An import within a function or for type checking gives no constant
# to compiled code.
_IMPORT = re.compile(
    r"^from[ ]+(?P<package>\.*[\w.]*)[ ]+import[ ]*(?:\((?P<block>[^)]*)\)|(?P<line>.*))"
    r"|^import[ ]+(?P<modules>[\w., ]+)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"#.*")


def import_closure(path: Path, module: str) -> frozenset[Path]:
    """Find the source of a module and of all modules of its project that it imports, however
    indirectly; the register descriptions beside them are included.

    Parameters
    ----------
    path : Path
        File of the module.
    module : str
        Full name of the module, from which the root of the project follows.
    """
    root = _root(path, module)
    found, left = set(), [path]
    while left:
        source = left.pop()
        if source not in found:
            found.add(source)
            left += _imported(source, root)
    descriptions = {file for folder in {one.parent for one in found} for file in _rdl(folder)}
    return frozenset(found | descriptions)


def _root(path: Path, module: str) -> Path:
    """Folder in which the module's outermost package lies."""
    depth = module.count(".") + (path.name == "__init__.py")
    return path.parents[depth]


@functools.cache
def _rdl(folder: Path) -> tuple[Path, ...]:
    return tuple(folder.glob("*.rdl"))


@functools.cache
def _imported(source: Path, root: Path) -> tuple[Path, ...]:
    """Files of the modules that a file imports by itself."""
    text = source.read_text(encoding="utf-8")
    paths = (root.joinpath(*name.split(".")) for name in _names(text, source, root))
    return tuple(file for path in paths for file in _files(path))


def _files(path: Path) -> list[Path]:
    """File of a module or package, if the project has the module."""
    candidates = path.with_name(f"{path.name}.py"), path / "__init__.py"
    return [file for file in candidates if file.is_file()]


def _names(text: str, source: Path, root: Path) -> Iterator[str]:
    """Names of the modules that may be imported: of a name in a module, module and name."""
    for match in _IMPORT.finditer(text):
        if match["modules"] is not None:
            yield from (one.split()[0] for one in match["modules"].split(","))
            continue
        package = _absolute(match["package"], source, root)
        yield package
        imported = _COMMENT.sub("", match["block"] or match["line"] or "")
        for one in imported.split(","):
            if one.strip():
                yield f"{package}.{one.split()[0]}"


def _absolute(package: str, source: Path, root: Path) -> str:
    """Full name of a package that is given from the file's own folder."""
    name = package.lstrip(".")
    dots = len(package) - len(name)
    if dots == 0:
        return name
    folder = source.parents[dots - 1].relative_to(root)
    return ".".join([*folder.parts, *([name] if name else [])])
