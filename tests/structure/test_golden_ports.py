"""Golden model: every field of its records is written in one module only."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[2] / "sysmodel/engine/golden"
MODULES = sorted(GOLDEN.rglob("*.py"))
ACTIVITY, PAYLOADS = GOLDEN / "activity", GOLDEN / "payloads"


def targets(tree: ast.AST) -> Iterator[ast.expr]:
    """The targets of all assignments, those of a tuple one by one."""
    for node in ast.walk(tree):
        waiting: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            waiting = list(node.targets)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr)):
            waiting = [node.target]
        while waiting:
            target = waiting.pop()
            if isinstance(target, (ast.Tuple, ast.List)):
                waiting += target.elts
            elif isinstance(target, ast.Starred):
                waiting.append(target.value)
            else:
                yield target


def written(tree: ast.AST) -> set[str]:
    """Names of the fields that a module writes: ``record.name`` and ``record.name[index]``."""
    names = set()
    for target in targets(tree):
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Attribute):
            names.add(target.attr)
    return names


def imported(path: Path) -> Iterator[str]:
    """Modules that a module of the golden model imports, as paths from the model's folder."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            package = path.parents[node.level - 1] if node.level else Path("/")
            yield (package / (node.module or "").replace(".", "/")).as_posix()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a.x = 1", {"x"}),
        ("a.x += 1", {"x"}),
        ("a.b.x[i][j] = 1", {"x"}),
        ("a.x, (b, c.y) = f()", {"x", "y"}),
        ("for s.x in s.y: pass", {"x"}),
        ("x = a.y\nx[0] = a.z == 1", set()),
    ],
)
def test_writes_are_found(source, names):
    assert written(ast.parse(source)) == names


def test_each_field_is_written_in_one_module():
    """The package of the payloads counts as one module: many payloads have fields of one name."""
    modules = defaultdict(set)
    for path in MODULES:
        module = PAYLOADS if PAYLOADS in path.parents else path
        for name in written(ast.parse(path.read_text())):
            modules[name].add(module.relative_to(GOLDEN).as_posix())
    assert len(modules) > 200
    assert {name: sorted(paths) for name, paths in modules.items() if len(paths) > 1} == {}


def test_only_the_top_knows_the_activity():
    """Blocks do not depend on the clock enables that are read from their ports."""
    top = {GOLDEN / name for name in ("model.py", "allocation.py", "engine.py")}
    for path in set(MODULES) - top - set(ACTIVITY.glob("*.py")):
        found = [name for name in imported(path) if ACTIVITY.as_posix() in name]
        assert not found, path


def test_the_activity_writes_only_its_own_state():
    """The modules of the activity write the fields of their own records, and no block's."""
    own = {
        "clocked",
        "enabled",
        "added",
        "added_marks",
        "added_more",
        "errors_now",
        "errors_before",
    }
    own |= {"page_changes", "pages_written", "front_chose", "events_before", "came", "scrubs"}
    own |= {"enables"}
    for path in ACTIVITY.glob("*.py"):
        assert written(ast.parse(path.read_text())) <= own, path
