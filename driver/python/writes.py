"""Writes of the calls that program a context, to be checked before any of them is made."""

from collections.abc import Iterable
from dataclasses import replace

from rtl.interface.encodings import Action, Datatype, Operation, PacketKind
from rtl.registers.map import load

from .registers import Write, wide
from .transfer import Transfer

__all__ = [
    "TILES",
    "command_writes",
    "copy_writes",
    "inbound_writes",
    "map_writes",
    "most_ranges",
    "window_writes",
]

# Command templates of the driver: for tiles, and for copies.
TILES, COPIES = 0, 1


def most_ranges() -> int:
    """Count the ranges that the map permits; the hardware refuses indices that it lacks."""
    return 1 << load()["RANGE_COMMIT"]["index"].width


def inbound_writes(
    stores: Iterable[int] | None,
    updates: Iterable[int] | None,
    ops: Iterable[Operation] | None,
    dtypes: Iterable[Datatype] | None,
) -> list[Write]:
    """Make the writes of the packets that a context accepts; None: all."""
    kinds = {
        name: _bits(code(one).value for one in codes)
        for name, code, codes in (("ops", Operation, ops), ("dtypes", Datatype, dtypes))
        if codes is not None
    }
    writes: list[Write] = [
        (name, {} if sources is None else {"sources": _bits(sources)})
        for name, sources in (("INBOUND_STORES", stores), ("INBOUND_UPDATES", updates))
    ]
    return [*writes, ("INBOUND_KINDS", kinds)]


def map_writes(
    index: int, first: int, count: int, action: Action, region: int, command: int, shares: int
) -> list[Write]:
    """Make the writes of a range of ``count`` dispatch indices, whose tiles have ``shares``; with a
    count of 0 they are only to be checked.
    """
    if action is not Action.REMOTE and shares < 1:
        raise ValueError(f"shares must be at least 1, not {shares!r}")
    if count < 0:
        raise ValueError(f"the number of workgroups must be at least 0, not {count!r}")
    of_range = {"region": region, "action": action.value, "command": command, "shares": shares}
    return [
        ("RANGE_DISPATCH_INDICES", {"first": first, "last": first + max(count, 1) - 1}),
        ("RANGE_ACTION", of_range),
        ("RANGE_COMMIT", {"index": index, "enable": 1}),
    ]


def command_writes(index: int, transfer: Transfer, region: int) -> list[Write]:
    """Make the writes of a command template."""
    return [
        *transfer.registers(region).items(),
        *wide("COMMAND_OFFSET", transfer.offset_bytes, signed=True),
        ("COMMAND_COMMIT", {"index": index}),
    ]


def copy_writes(start_bytes: int, transfer: Transfer, region: int) -> list[Write]:
    """Make the writes of a copy."""
    return [
        *command_writes(COPIES, replace(transfer, kind=PacketKind.STORE), region),
        *wide("COPY_START", start_bytes),
        ("COPY", {"command": COPIES}),
    ]


def window_writes(
    *,
    workgroups: int,
    tracked: tuple[int, int],
    shift: int,
    credit_window: int,
    command_window: int,
    generation: int,
) -> list[Write]:
    """Make the writes of a launch's workgroups."""
    first, end = tracked
    return [
        ("WORKGROUPS", {"count": workgroups}),
        ("TRACKED_FIRST", {"dispatch_index": first}),
        ("TRACKED_END", {"dispatch_index": end}),
        ("SHIFT", {"dispatch_indices": shift}),
        ("CREDIT_WINDOW", {"workgroups": credit_window}),
        ("COMMAND_WINDOW", {"workgroups": command_window}),
        ("TRACKING", {"generation": generation}),
    ]


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in set(numbers))
