"""Output of nccl-tests and rccl-tests, as it is printed."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sysmodel.lib.errors import InputError, short

from .measurement import Kind, Measurement

__all__ = ["LeftOut", "is_nccl_tests", "read_nccl_tests"]

_PROGRAM = re.compile(r"\b([a-z_]+)_perf\b")
# "#  Rank  0 Group  0 Pid   4000 on      node1 device  0 [0000:1b:00] NVIDIA H200"
_RANK = re.compile(r"#\s+Rank\s+(\d+)\b(?:.*?\bPid\s+\d+\s+on\s+(\S+))?")
# Lines of MPI and of the library between the rows: "[host:pid] ...", "host:pid:tid [0] NCCL INFO".
_LOG = re.compile(r"\[?[\w.-]+:\d+|NCCL version|-{10,}")
# Tags that launchers put before each line: "[1,0]<stdout>:" of mpirun, "0: " of srun.
_TAG = re.compile(r"\s*(?:(?:\[[^\]\s]+\])+<std(out|err|diag)>: ?|\d+:(?: |$))")
_OPERATIONS: dict[str, Kind] = {
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
}
_ALL_REDUCE = "all_reduce"
_BYTES = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("float", "int32", "uint32", "int"), 4),
    **dict.fromkeys(("double", "int64", "uint64"), 8),
}
_OUT_OF_PLACE = "out of place"
_SHOWN_HOSTS = 3


@dataclass(frozen=True)
class LeftOut:
    """Rows of a file or a table that are not compared, with the reason."""

    reason: str
    rows: int = 1


@dataclass
class _Run:
    """State of the reader: one program's output, of which a file may have several."""

    operation: str | None = None
    ranks: list[int] = field(default_factory=list)
    hosts: dict[str, None] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)

    @property
    def gpus(self) -> int:
        return len(self.ranks)


def is_nccl_tests(text: str) -> bool:
    """Test whether a text has the head of a table of nccl-tests."""
    return any(map(_is_head, _lines(text)))


def _lines(text: str) -> list[str]:
    """Split a text into lines without tags; the table is in none of the lines of another stream
    than the standard output, which become empty."""
    lines = []
    for line in text.splitlines():
        tag = _TAG.match(line)
        if tag is None:
            lines.append(line.strip())
        else:
            lines.append("" if tag[1] in ("err", "diag") else line[tag.end() :].strip())
    return lines


def read_nccl_tests(text: str, where: str) -> tuple[list[Measurement], list[LeftOut]]:
    """Read the out-of-place times of all_gather_perf, reduce_scatter_perf and alltoall_perf.

    The program is the one that the output names; older versions do not, and there the operation
    follows from the columns ``redop``, ``size`` and ``count``. The number of GPUs is that of the
    lines ``#  Rank``. Rows of all_reduce_perf are left out: the library chooses among a tree, a
    ring and a reduction in the switch for each size, and only the ring is modelled. So are rows
    with wrong results, rows without bytes, and rows of ranks on several hosts.

    Parameters
    ----------
    where : str
        Name of the file in messages.

    Raises
    ------
    InputError
        A line behind the table's head is not a row, or the output lacks the ranks; the message has
        the line's number.
    """
    found: list[Measurement] = []
    dropped: list[LeftOut] = []
    run = _Run()
    for number, line in enumerate(_lines(text), 1):
        if _is_head(line):
            run.columns = _columns(line, f"{where}, line {number}")
        elif line.startswith("#") or not run.columns:
            run = _announced(run, line)
        elif line and not _LOG.match(line):
            row = _row(run, line, f"{where}, line {number}")
            (found if isinstance(row, Measurement) else dropped).append(row)  # type: ignore[arg-type]
    return found, list(_counted(dropped))


def _counted(dropped: list[LeftOut]) -> Iterator[LeftOut]:
    for reason in dict.fromkeys(one.reason for one in dropped):
        yield LeftOut(reason, sum(one.reason == reason for one in dropped))


def _is_head(line: str) -> bool:
    return re.match(r"\s*#\s+size\s+count\s+type\b", line) is not None


def _columns(head: str, where: str) -> list[str]:
    names = head.lstrip("# ").split()
    if "cputime" in names:
        raise InputError(where, "the times are the CPU's; allowed: a run without -C")
    if "time" not in names:
        raise InputError(where, "the table has no column time")
    return names


def _announced(run: _Run, line: str) -> _Run:
    """Take operation and ranks from a line that is not a row; a first rank begins another run."""
    rank = _RANK.match(line)
    if rank:
        if run.columns:
            run = _Run()
        run.ranks.append(int(rank[1]))
        run.hosts |= {rank[2]: None} if rank[2] else {}
    program = _PROGRAM.search(line)
    if program and "concluded" not in line:
        run = _Run() if run.columns else run
        run.operation = program[1]
    return run


def _row(run: _Run, line: str, where: str) -> "Measurement | LeftOut":
    cells = dict(zip(run.columns, line.split(), strict=False))
    if len(line.split()) < len(run.columns):
        raise InputError(
            where,
            f"{short(line)} is no row of the table; allowed: the {len(run.columns)} columns of "
            "the table's head",
        )
    # Out of place comes first; names of columns repeat for in place.
    time_at = run.columns.index("time")
    size = _number(cells["size"], "size", where)
    if size != int(size):
        raise InputError(where, f"size {size:g} is not allowed; allowed: whole bytes")
    time = _number(line.split()[time_at], "time", where)
    wrong = dict(zip(run.columns[time_at : time_at + 4], line.split()[time_at:], strict=False))
    operation = run.operation or _guessed(cells, where)
    if operation == _ALL_REDUCE:
        return LeftOut(
            "all-reduce: the library chooses tree, ring or switch; only the ring is modelled"
        )
    if operation not in _OPERATIONS:
        raise InputError(
            where,
            f"{operation}_perf is not modelled; allowed: "
            + ", ".join(f"{one}_perf" for one in _OPERATIONS),
        )
    if wrong.get("#wrong", wrong.get("error", "0")).lower() not in ("0", "n/a", "0e+00"):
        return LeftOut("the test reports wrong results")
    if size == 0:
        return LeftOut("no bytes")
    _check_ranks(run, where)
    if len(run.hosts) > 1:
        return LeftOut(
            f"ranks on several hosts ({_some([*run.hosts])}), whose network may be part of the "
            "ring: a system has one kind of link; allowed in a table if it joins all GPUs"
        )
    if time <= 0:
        raise InputError(where, f"time {time:g} is not allowed; allowed: more than 0 µs")
    return Measurement(
        _OPERATIONS[operation],
        time,
        gpus=run.gpus,
        message_bytes=int(size),
        source=where,
        note=_OUT_OF_PLACE,
    )


def _some(hosts: list[str]) -> str:
    """List the first hosts, and count the others."""
    more = len(hosts) - _SHOWN_HOSTS
    return ", ".join([*hosts[:_SHOWN_HOSTS], *([f"{more} more"] if more > 0 else [])])


def _check_ranks(run: _Run, where: str) -> None:
    if not run.ranks:
        raise InputError(where, "the number of GPUs is missing; allowed: lines `#  Rank  0 ...`")
    if sorted(run.ranks) != list(range(run.gpus)) or run.gpus < 2:
        raise InputError(
            where,
            f"ranks {', '.join(map(str, run.ranks[:8]))} are not one ring; allowed: ranks 0 to "
            "N - 1 (tests built without MPI start every process as rank 0)",
        )


def _number(cell: str, name: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(where, f"{name} {short(cell)} is not a number from 0 on")
    return value


def _guessed(cells: dict[str, str], where: str) -> str:
    """Derive the operation from the columns: only an all-reduce counts more than a chunk."""
    size, count = (_number(cells[name], name, where) for name in ("size", "count"))
    width = _BYTES.get(cells["type"])
    whole = width is not None and size == count * width
    if cells.get("redop") == "none" and not whole:
        return "all_gather"
    if cells.get("redop") not in (None, "none"):
        return _ALL_REDUCE if whole else "reduce_scatter"
    raise InputError(
        where,
        "the operation is not known; allowed: a line that names all_gather_perf or "
        "reduce_scatter_perf in front of the table",
    )
