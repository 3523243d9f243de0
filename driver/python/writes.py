"""Writes of the calls that program a context, to be checked before any of them is made."""

from collections.abc import Iterable
from dataclasses import replace

from rtl.interface.encodings import Action, Datatype, Operation, PacketKind
from rtl.registers.map import load

from .gate import Gate, gate_writes
from .peer import Peer
from .registers import Write, wide
from .transfer import Transfer

__all__ = [
    "COMMANDS",
    "TILES",
    "bits",
    "command_writes",
    "copy_writes",
    "inbound_writes",
    "map_writes",
    "most_ranges",
    "peer_writes",
    "window_writes",
]

# Command templates of the driver: for tiles, and for copies.
TILES, COPIES = 0, 1
COMMANDS = (TILES, 2, 3)
"""Command templates for the tiles of a collective."""


def most_ranges() -> int:
    """Count the ranges that the map permits; the hardware refuses indices that it lacks."""
    return 1 << load()["RANGE_COMMIT"]["index"].width


def inbound_writes(
    ops: Iterable[Operation] | None, dtypes: Iterable[Datatype] | None
) -> list[Write]:
    """Make the writes of the updates that a context accepts; None: all."""
    kinds = {
        name: bits(code(one).value for one in codes)
        for name, code, codes in (("ops", Operation, ops), ("dtypes", Datatype, dtypes))
        if codes is not None
    }
    return [("INBOUND_KINDS", kinds)]


def peer_writes(index: int, peer: Peer) -> list[Write]:
    """Make the writes of a peer."""
    return [
        ("PEER", {name: int(value) for name, value in vars(peer).items()}),
        ("PEER_COMMIT", {"index": index, "enable": 1}),
    ]


def map_writes(
    index: int,
    first: int,
    count: int,
    action: Action,
    region: int,
    command: int,
    shares: int = 0,
    peers: Iterable[int] = (),
    slot_offset: int = 0,
    gate: Gate | None = None,
) -> list[Write]:
    """Make the writes of a range of ``count`` dispatch indices, whose tiles have ``shares`` and go
    to ``peers``; with a count of 0 they are only to be checked.
    """
    receivers = bits(peers)
    if action in (Action.REMOTE, Action.DMA) and not receivers:
        raise ValueError("stores or tiles that leave must have a peer")
    if action in (Action.DMA, Action.OWN) and shares < 1:
        raise ValueError(f"shares must be at least 1, not {shares!r}")
    if action is Action.NONE and gate is None:
        raise ValueError("workgroups that only wait must have a gate")
    if count < 0:
        raise ValueError(f"the number of workgroups must be at least 0, not {count!r}")
    of_range = {"region": region, "action": action.value, "command": command, "shares": shares}
    return [
        ("RANGE_DISPATCH_INDICES", {"first": first, "last": first + max(count, 1) - 1}),
        ("RANGE_ACTION", of_range),
        ("RANGE_PEERS", {"peers": receivers, "slot_offset": _slot_offset(slot_offset)}),
        *gate_writes(gate),
        ("RANGE_COMMIT", {"index": index, "enable": 1}),
    ]


def command_writes(index: int, transfer: Transfer, region: int) -> list[Write]:
    """Make the writes of a command template."""
    return [
        *transfer.registers(region).items(),
        *wide("COMMAND_OFFSET", transfer.offset_bytes, signed=True),
        ("COMMAND_COMMIT", {"index": index}),
    ]


def copy_writes(
    start_bytes: int, transfer: Transfer, region: int, peers: Iterable[int]
) -> list[Write]:
    """Make the writes of a copy to these peers."""
    receivers = bits(peers)
    if not receivers:
        raise ValueError("a copy must have a peer")
    return [
        *command_writes(COPIES, replace(transfer, kind=PacketKind.STORE), region),
        *wide("COPY_START", start_bytes),
        ("COPY", {"command": COPIES, "peers": receivers}),
    ]


def window_writes(
    *,
    workgroups: int,
    tracked: tuple[int, int],
    to_send: int,
    credit_window: int,
    command_window: int,
    generation: int,
    accumulate: bool = False,
    progress: int = 0,
) -> list[Write]:
    """Make the writes of a launch's workgroups."""
    if progress < 0 or progress & (progress - 1):
        raise ValueError(f"progress must be a power of two, or 0, not {progress!r}")
    first, end = tracked
    return [
        ("WORKGROUPS", {"count": workgroups}),
        ("TRACKED_FIRST", {"dispatch_index": first}),
        ("TRACKED_END", {"dispatch_index": end}),
        ("TO_SEND", {"count": to_send}),
        ("CREDIT_WINDOW", {"workgroups": credit_window}),
        ("COMMAND_WINDOW", {"workgroups": command_window}),
        ("TRACKING", {"generation": generation, "accumulate": int(accumulate)}),
        ("PROGRESS", {"enable": int(progress > 0), "log2": max(progress.bit_length() - 1, 0)}),
    ]


def bits(numbers: Iterable[int]) -> int:
    """Make a mask with these bits."""
    return sum(1 << number for number in set(numbers))


def _slot_offset(offset: int) -> int:
    """Make the two's complement of an offset.

    Raises
    ------
    ValueError
        If the offset does not fit its field.
    """
    end = 1 << load()["RANGE_PEERS"]["slot_offset"].width - 1
    if not -end <= offset < end:
        raise ValueError(f"slot_offset must be at least {-end} and less than {end}, not {offset!r}")
    return offset % (2 * end)
