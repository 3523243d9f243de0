"""Sources of schedules: an algorithm by its name, or a file of another tool."""

from pathlib import Path

from sysmodel.lib.errors import InputError

from .plans import is_plan, read_plan
from .registry import algorithm
from .schedule import Expanded, Operation, expanded

__all__ = ["schedule_of"]

_RANKS = 8


def schedule_of(
    source: str | Path,
    operation: Operation | None,
    ranks: int | None,
    ranks_per_node: int | None,
) -> Expanded:
    """Find the schedule of an algorithm, or of a file, which has its own operation and ranks.

    Raises
    ------
    InputError
        The algorithm does not have the operation, or a value is given with a file.
    """
    if not is_plan(str(source)):
        one = algorithm(str(source))
        chosen = operation or one.operations[0]
        return expanded(one.schedule(chosen, ranks or _RANKS, ranks_per_node))
    given = {"operation": operation, "ranks": ranks, "ranks_per_node": ranks_per_node}
    for field, value in given.items():
        if value is not None:
            problem = f"{value!r} is not allowed with a file, which has its own; allowed: none"
            raise InputError(field, problem)
    return read_plan(Path(source))
