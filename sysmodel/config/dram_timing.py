"""Geometry, timing and scheduling limits of a DRAM channel, in cycles."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

from .address_map import parse_address_map

__all__ = ["BankInterleave", "DramTiming", "Refresh"]

Refresh = Literal["none", "all-bank", "staggered", "per-stack", "per-bank"]
BankInterleave = Literal["linear", "permuted"]

# Capacity of a channel's state.
MAX_BANKS = 64
MAX_GROUPS = 8  # per stack ID
MAX_STACK_IDS = 4
MAX_PSEUDO_CHANNELS = 2
MAX_ADDRESS_FIELDS = 16
PAGE_SLOTS = 64  # slots of the queue in one mask
MAX_SIDE = 256  # queued reads of a pseudo-channel, and as many queued writes and updates
MAX_QUEUE = 2 * MAX_SIDE

_POWERS_OF_TWO = {
    "pseudo_channels": MAX_PSEUDO_CHANNELS,
    "banks": MAX_BANKS,
    "bank_groups": MAX_GROUPS,
    "stack_ids": MAX_STACK_IDS,
    "columns": 1 << 16,
}
_AT_LEAST_ONE = (
    "queue_depth",
    "burst",
    "tCCD_S",
    "turnaround_cap",
    "age_cap",
    "data_permille",
    "activate_half_cycles",
    "precharge_half_cycles",
)
_CHOICES = {"refresh": get_args(Refresh), "bank_interleave": get_args(BankInterleave)}
_SWITCHES = ("shared_queue", "opening_leaves")
_WORDS = (*_CHOICES, *_SWITCHES, "address_map")


@dataclass(frozen=True, kw_only=True)
class DramTiming:
    """One HBM channel: one or two pseudo-channels, which share its row- and column-command bus.

    Each pseudo-channel has its own banks, timing and data bus. Times are cycles of the memory's
    command clock and count from command to command unless noted otherwise.

    Parameters
    ----------
    pseudo_channels : int
        1 or 2.
    banks : int
        Banks of a pseudo-channel in all stack IDs; a power of two.
    bank_groups : int
        Bank groups of a stack ID; a power of two. The low bits of a bank's number give its group.
    stack_ids : int
        Ranks of a high stack; a power of two. The high bits of a bank's number give its stack ID.
    columns : int
        Atoms of a row; a power of two.
    address_map : str
        Address map from the lowest bit of the pseudo-channel's atom address up, with the row above
        it: ``"column:3 group:1 column:3 group:1 bank:2"``; with several stack IDs also ``stack``.
    bank_interleave : str
        ``"linear"``: the bank's number is its address bits. ``"permuted"``: the bank's number is
        the exclusive-or of its address bits with the low bits of the row, so that rows which share
        address bits do not share a bank (Zhang, Zhu and Zhang, MICRO-33, 2000).
    queue_depth : int
        Capacity of the queues, reads and writes together; at most 256 of either in a
        pseudo-channel.
    write_queue : int
        Part of ``queue_depth`` for writes and updates, which then have their own queue and are
        drained in batches; 0 for one queue for all requests.
    write_high, write_low : int
        With a write queue: number of queued writes at which a drain begins, and at which it ends if
        a read waits. Ramulator 2 drains from more than 80 to less than 20 % of its write queue.
    shared_queue : bool
        The pseudo-channels share queues and drains.
    opening_leaves : bool
        A request leaves its queue when its row is opened, as in Ramulator 2. It keeps the row open,
        and is served before those in the queues, whichever of them are held back.
    burst : int
        Cycles that one atom takes on the data bus.
    activate_half_cycles, precharge_half_cycles : int
        Half cycles for which an activate, and a precharge or refresh, occupy the row-command bus.
        Commands start on whole cycles; a precharge of an odd number of half cycles starts on any
        half cycle.
    tCCD_S, tCCD_L, tCCD_R : int
        Column to column command: in another bank group, in the same group, in another stack ID (at
        least ``tCCD_S``).
    tCCD_WL : int
        Update to any column command in its bank group: an update reads, computes and writes in the
        bank. The default is ``2 * tCCD_L``.
    tRRD_S, tRRD_L : int
        Activate to activate, in another and in the same bank group.
    tRCD_RD, tRCD_WR : int
        Activate to read, and to write or update.
    tRP, tRAS, tRC : int
        Precharge to activate, activate to precharge, activate to activate of a bank.
    tPPD : int
        Precharge to precharge.
    tCL, tCWL : int
        Read and write command to the first data.
    tWTR_S, tWTR_L : int
        End of write data to read command, in another and in the same bank group.
    tRTW : int
        Read to write.
    tRTP : int
        Read to precharge.
    tWR : int
        End of write data to precharge.
    tFAW : int
        Window that holds at most four activates; 0 for none.
    refresh : str
        ``"none"``; ``"all-bank"``: all pseudo-channels at once; ``"staggered"``: the
        pseudo-channels in turn; ``"per-stack"``: the stack IDs of a pseudo-channel in turn, and the
        pseudo-channels in turn; ``"per-bank"``.
    tREFI : int
        Period in which each bank is refreshed once: the time from one all-bank refresh of a
        pseudo-channel to the next. Refreshes of stack IDs and banks follow each other as many times
        faster as there are of them.
    tRFC, tRFC_pb : int
        Refresh of all banks (of a stack ID), and of one bank, to an activate of a refreshed bank.
    tRREFD : int
        Per-bank refresh to the next refresh, or to an activate of another bank.
    turnaround_cap : int
        Without a write queue: data-bus cycles in one direction after which the channel turns round,
        if the other direction has a request to an open row. The default makes batches of 1280 bytes
        at 32 bytes a cycle. Ramulator 2 drains about as much from its write queue: from 80 to 20 %
        of 32 entries of 64 bytes.
    age_cap : int
        Age in cycles above which the oldest request goes first.
    data_permille : int
        Largest share of the data bus's time with data, in thousandths. After a pause, eight atoms
        follow each other without it.

    Raises
    ------
    TypeError
        A number is not an integer.
    ValueError
        A value is not allowed, alone or with the others.
    """

    pseudo_channels: int = 1
    banks: int = 16
    bank_groups: int = 4
    stack_ids: int = 1
    columns: int = 64
    address_map: str = "column:3 group:1 column:3 group:1 bank:2"
    bank_interleave: str = "linear"
    queue_depth: int = 64
    write_queue: int = 0
    write_high: int = 0
    write_low: int = 0
    shared_queue: bool = False
    opening_leaves: bool = False
    burst: int = 1
    activate_half_cycles: int = 2
    precharge_half_cycles: int = 2
    tCCD_S: int
    tCCD_L: int
    tCCD_R: int = 0
    tCCD_WL: int | None = None
    tRRD_S: int
    tRRD_L: int
    tRCD_RD: int
    tRCD_WR: int
    tRP: int
    tRAS: int
    tRC: int = 0
    tPPD: int = 0
    tCL: int
    tCWL: int
    tWTR_S: int
    tWTR_L: int
    tRTW: int
    tRTP: int
    tWR: int
    tFAW: int = 0
    refresh: str = "none"
    tREFI: int = 0
    tRFC: int = 0
    tRFC_pb: int = 0
    tRREFD: int = 0
    turnaround_cap: int = 40
    age_cap: int = 1000
    data_permille: int = 1000

    def __post_init__(self) -> None:
        if self.tCCD_WL is None and isinstance(self.tCCD_L, int):
            object.__setattr__(self, "tCCD_WL", 2 * self.tCCD_L)
        self._check_kinds()
        self._check_geometry()
        self._check_queue()
        self._at_most("data_permille", 1000, "all of the time")
        self._at_least("tCCD_S", self.burst, "burst, or data would collide")
        self._at_least("tCCD_L", self.tCCD_S, "tCCD_S")
        self._at_least("tCCD_WL", self.tCCD_L, "tCCD_L")
        self._at_least("tRRD_L", self.tRRD_S, "tRRD_S")
        self._at_least("tWTR_L", self.tWTR_S, "tWTR_S")
        self._at_least(
            "tRTW",
            self.tCL + self.burst - self.tCWL,
            "tCL + burst - tCWL, or data would collide",
        )
        if self.refresh != "none":
            name = "tRFC_pb" if self.refresh == "per-bank" else "tRFC"
            self._at_least(name, 1, "the shortest refresh")
            self._at_most(
                name, self.tREFI - 1, f"the time that {self.refresh} refresh every tREFI leaves"
            )

    def _check_kinds(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be true or false, not {getattr(self, name)!r}")
        for name in (field.name for field in fields(self) if field.name not in _WORDS):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an integer, not {value!r}")
            least = 1 if name in _AT_LEAST_ONE else 0
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value!r}")

    def _check_geometry(self) -> None:
        for name, most in _POWERS_OF_TWO.items():
            value = getattr(self, name)
            if value & (value - 1) or not 0 < value <= most:
                raise ValueError(f"{name} must be a power of two up to {most}, not {value!r}")
        self._at_most("stack_ids", self.banks, "banks")
        self._at_most("bank_groups", self.banks // self.stack_ids, "banks of a stack ID")
        try:
            count = len(self.address_fields)
        except ValueError as error:
            raise ValueError(f"address_map {error}") from None
        if count > MAX_ADDRESS_FIELDS:
            raise ValueError(f"address_map must have at most {MAX_ADDRESS_FIELDS} pieces")

    def _check_queue(self) -> None:
        sharing = self.pseudo_channels if self.shared_queue else 1
        self._at_most("queue_depth", MAX_QUEUE, "the slots of a pseudo-channel")
        if not self.write_queue:
            self._at_most("queue_depth", sharing * MAX_SIDE, "reads that may wait")
            for name in ("write_high", "write_low"):
                if getattr(self, name):
                    raise ValueError(
                        f"{name} must be 0 without a write queue, not {getattr(self, name)!r}"
                    )
            return
        self._at_most("write_queue", self.queue_depth - 1, "all but one of queue_depth")
        self._at_most("write_queue", sharing * MAX_SIDE, "writes that may wait")
        self._at_most(
            "queue_depth",
            self.write_queue + sharing * MAX_SIDE,
            "write_queue and the reads that may wait",
        )
        self._at_least("write_high", 1, "a drain of at least one write")
        self._at_most("write_high", self.write_queue, "write_queue")
        self._at_most("write_low", self.write_high - 1, "below write_high")

    def _at_most(self, name: str, most: int, bound: str) -> None:
        if getattr(self, name) > most:
            raise ValueError(
                f"{name} must be at most {most} ({bound}), not {getattr(self, name)!r}"
            )

    def _at_least(self, name: str, least: int, bound: str) -> None:
        if getattr(self, name) < least:
            raise ValueError(
                f"{name} must be at least {least} ({bound}), not {getattr(self, name)!r}"
            )

    @property
    def address_fields(self) -> list[tuple[str, int]]:
        """Pieces of the address map: name of the part, and number of bits."""
        banks = self.banks // (self.bank_groups * self.stack_ids)
        parts = {
            "column": self.columns,
            "group": self.bank_groups,
            "bank": banks,
            "stack": self.stack_ids,
        }
        return parse_address_map(
            self.address_map, {name: count.bit_length() - 1 for name, count in parts.items()}
        )

    @property
    def read_latency(self) -> int:
        """Cycles from a read command to the end of its data."""
        return self.tCL + self.burst

    @property
    def refresh_interval(self) -> int:
        """Cycles from one refresh command to the next; 0 without refresh."""
        parts = {"none": 0, "per-stack": self.stack_ids, "per-bank": self.banks}.get(
            self.refresh, 1
        )
        return self.tREFI // parts if parts else 0

    @property
    def pages(self) -> int:
        """Masks that hold the slots of a side of a pseudo-channel's queue."""
        sharing = self.pseudo_channels if self.shared_queue else 1
        most = max(self.queue_depth - self.write_queue, self.write_queue)
        needed = -(-most // (sharing * PAGE_SLOTS))
        return 1 << (min(needed, MAX_SIDE // PAGE_SLOTS) - 1).bit_length()
