"""Programs from TOML files: the bundled ones, and those of users."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from sysmodel.config.bundled import PROGRAMS, Located
from sysmodel.config.merging import Content, load_content, merged
from sysmodel.config.schema import Strict, integer, text, validate
from sysmodel.config.workload import LARGEST
from sysmodel.lib.errors import InputError, short

from .activities import Activity, Collective, Gemm, Size
from .checks import check_activities
from .program import Program

__all__ = [
    "DEFAULT_PROGRAM",
    "default_program",
    "load_program",
    "program_names",
    "program_of_record",
]

DEFAULT_PROGRAM = "sublayer"
"""Name of the program of a run that names none."""

_Names = list[Annotated[str, text()]]


class _SizeTable(Strict):
    m: int = integer(1, LARGEST["m"])
    n: int = integer(1, LARGEST["n"])
    k: int = integer(1, LARGEST["k"])


class _GemmTable(Strict):
    kind: Literal["gemm"]
    needs: _Names = []
    size: _SizeTable | None = None

    def activity(self, name: str) -> Activity:
        size = None if self.size is None else Size(**self.size.model_dump())
        return Gemm(name, tuple(self.needs), size)


class _CollectiveTable(Strict):
    kind: Literal["reduce-scatter", "all-gather", "all-reduce"]
    of: str = text()
    algorithm: str | None = None
    needs: _Names = []

    def activity(self, name: str) -> Activity:
        return Collective(name, self.kind, self.of, self.algorithm, tuple(self.needs))


class _ProgramTable(Strict):
    name: str
    description: str = text()
    source: str = ""
    activities: dict[str, Any]


_KINDS: dict[str, type[_GemmTable] | type[_CollectiveTable]] = {
    "gemm": _GemmTable,
    "reduce-scatter": _CollectiveTable,
    "all-gather": _CollectiveTable,
    "all-reduce": _CollectiveTable,
}


def program_names() -> list[str]:
    """Names of the bundled programs."""
    return PROGRAMS.names()


def load_program(
    source: Program | Mapping[str, Any] | Path | str,
    *,
    field: str = "program",
    beside: Path = Path(),
) -> Program:
    """Load a program.

    Parameters
    ----------
    source : str, Path, mapping or Program
        Name of a bundled program, path of a TOML file, the content of such a file, or a program
        itself. A string with a ``/`` or with the suffix ``.toml`` is a path.
    field : str
        Argument or key that gives the source, for messages.
    beside : Path
        Folder to which paths are relative.

    Raises
    ------
    InputError
        The program is not valid; the message names file, key, value and the allowed values.
    """
    if isinstance(source, Program):
        return source
    if source == DEFAULT_PROGRAM:
        return default_program()
    return _load(source, field, beside)


@cache
def default_program() -> Program:
    """Load the program of a run that names none: a GEMM, its reduce-scatter, the all-gather."""
    return _load(DEFAULT_PROGRAM, "program", Path())


def _load(source: Mapping[str, Any] | Path | str, field: str, beside: Path) -> Program:
    data, where = load_content(
        source, PROGRAMS, field=field, beside=beside, prepare=_plain, combine=_over
    )
    table = validate(_ProgramTable, data, where)
    activities = [_activity(name, one, where) for name, one in table.activities.items()]
    try:
        check_activities(activities)
    except InputError as error:
        raise InputError(f"{where}: {error.field}", error.problem) from error
    return Program(table.name, tuple(activities), table.description)


def program_of_record(record: Any, where: str) -> Program:
    """Make a program of its record in a ``result.json``.

    Raises
    ------
    InputError
        The record is no program's.
    """
    try:
        tables = {one["name"]: dict(one) for one in record["activities"]}
        activities = [_activity(table.pop("name"), table, where) for table in tables.values()]
        return Program(record["name"], tuple(activities))
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{where}: program", "is not a record of a program") from error


def _plain(data: Content, place: Located) -> Content:
    return data


def _over(base: Content, data: Content, where: str) -> Content:
    return merged(base, data)


def _activity(name: str, table: Any, where: str) -> Activity:
    place = f"{where}: activities.{name}"
    kind = table.get("kind") if isinstance(table, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        problem = f"{short(kind)} is not allowed" if kind is not None else "missing"
        raise InputError(f"{place}.kind", f"{problem}; allowed: {', '.join(_KINDS)}")
    return validate(_KINDS[kind], table, place).activity(name)
