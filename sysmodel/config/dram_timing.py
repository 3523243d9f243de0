"""Geometry, timing and scheduling limits of an HBM channel."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

__all__ = ["BankInterleave", "DramTiming", "Refresh"]

Refresh = Literal["none", "all-bank", "per-bank"]
BankInterleave = Literal["linear", "permuted"]

# What the channel's state has room for.
MAX_BANKS = 32
MAX_GROUPS = 8
MAX_QUEUE = 64

_POWERS_OF_TWO = {"banks": MAX_BANKS, "bank_groups": MAX_GROUPS, "columns": 1 << 16}
_AT_LEAST_ONE = ("queue_depth", "burst", "tCCD_S", "turnaround_cap", "age_cap")


@dataclass(frozen=True, kw_only=True)
class DramTiming:
    """One HBM channel. Times are in memory-clock cycles and count from command to command unless
    said otherwise.

    Parameters
    ----------
    banks, bank_groups : int
        Powers of two. The group of a bank is given by the low bits of its number.
    columns : int
        Atoms of a row; a power of two.
    low_column_bits, low_bank_bits : int
        Address mapping. From the lowest bit of the atom address in the channel: ``low_column_bits``
        of the column, ``low_bank_bits`` of the bank, the rest of the column, the rest of the bank,
        the row.
    bank_interleave : str
        ``"linear"``: the bank's number is its address bits; ``"permuted"``: their exclusive-or with
        the low bits of the row, so that rows which share address bits do not share a bank (Zhang,
        Zhu and Zhang, MICRO-33, 2000).
    queue_depth : int
        Requests that wait in the channel, reads and writes together.
    write_queue : int
        Of them, those that are writes or updates, which then wait apart from the reads and are held
        back and drained in batches; 0 for one queue for all.
    write_high, write_low : int
        With a write queue: waiting writes at which a drain begins, and at which it ends if a read
        waits. Ramulator 2 drains from more than 80 to less than 20 % of its write queue.
    burst : int
        Cycles that one atom takes on the data bus.
    tCCD_S, tCCD_L : int
        Column to column command, in another and in the same bank group.
    tCCD_WL : int
        Update to any column command in its bank group: an update reads, computes and writes in the
        bank. ``2 * tCCD_L`` if not given.
    tRRD_S, tRRD_L : int
        Activate to activate, in another and in the same bank group.
    tRCD_RD, tRCD_WR : int
        Activate to read, and to write or update.
    tRP, tRAS : int
        Precharge to activate, and activate to precharge.
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
        ``"none"``, ``"all-bank"`` or ``"per-bank"`` (one bank after the other).
    tREFI : int
        Refresh to refresh, of the channel or of the next bank; 0 without refresh.
    tRFC : int
        Refresh to activate; 0 without refresh.
    turnaround_cap : int
        Without a write queue: data-bus cycles in one direction, while the other has a request to an
        open row, after which the channel turns round. The default makes batches of 1280 bytes at 32
        bytes a cycle, about what Ramulator 2 drains from its write queue: from 80 to 20 % of 32
        entries of 64 bytes.
    age_cap : int
        Cycles after which the oldest request goes first.

    Raises
    ------
    TypeError
        If a number is not an integer.
    ValueError
        If a value is not allowed, alone or with the others.
    """

    banks: int = 16
    bank_groups: int = 4
    columns: int = 64
    low_column_bits: int = 3
    low_bank_bits: int = 1
    bank_interleave: str = "linear"
    queue_depth: int = 64
    write_queue: int = 0
    write_high: int = 0
    write_low: int = 0
    burst: int = 1
    tCCD_S: int
    tCCD_L: int
    tCCD_WL: int | None = None
    tRRD_S: int
    tRRD_L: int
    tRCD_RD: int
    tRCD_WR: int
    tRP: int
    tRAS: int
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
    turnaround_cap: int = 40
    age_cap: int = 1000

    def __post_init__(self) -> None:
        if self.tCCD_WL is None and isinstance(self.tCCD_L, int):
            object.__setattr__(self, "tCCD_WL", 2 * self.tCCD_L)
        choices = {"refresh": get_args(Refresh), "bank_interleave": get_args(BankInterleave)}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}, not {getattr(self, name)!r}")
        for name in (field.name for field in fields(self) if field.name not in choices):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an integer, not {value!r}")
            least = 1 if name in _AT_LEAST_ONE else 0
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value!r}")
        for name, most in _POWERS_OF_TWO.items():
            value = getattr(self, name)
            if value & (value - 1) or not 0 < value <= most:
                raise ValueError(f"{name} must be a power of two up to {most}, not {value!r}")
        self._at_most("bank_groups", self.banks, "banks")
        self._at_most("low_column_bits", self.columns.bit_length() - 1, "the bits of columns")
        self._at_most("low_bank_bits", self.banks.bit_length() - 1, "the bits of banks")
        self._at_most("queue_depth", MAX_QUEUE, "the slots of a channel")
        if self.write_queue:
            self._at_most("write_queue", self.queue_depth - 1, "all but one of queue_depth")
            self._at_least("write_high", 1, "a drain of something")
            self._at_most("write_high", self.write_queue, "write_queue")
            self._at_most("write_low", self.write_high - 1, "below write_high")
        else:
            for name in ("write_high", "write_low"):
                self._zero(name, "a write queue")
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
        if self.refresh == "none":
            for name in ("tREFI", "tRFC"):
                self._zero(name, "refresh")
        else:
            self._at_least("tRFC", 1, "the shortest refresh")
            turns = self.banks if self.refresh == "per-bank" else 1
            most = turns * self.tREFI - 1
            self._at_most("tRFC", most, f"what {self.refresh} refresh every tREFI leaves")

    def _zero(self, name: str, what: str) -> None:
        if getattr(self, name):
            raise ValueError(f"{name} must be 0 without {what}, not {getattr(self, name)!r}")

    def _at_most(self, name: str, most: int, what: str) -> None:
        if getattr(self, name) > most:
            raise ValueError(f"{name} must be at most {most} ({what}), not {getattr(self, name)!r}")

    def _at_least(self, name: str, least: int, what: str) -> None:
        if getattr(self, name) < least:
            raise ValueError(
                f"{name} must be at least {least} ({what}), not {getattr(self, name)!r}"
            )

    @property
    def read_latency(self) -> int:
        """Cycles from a read command to the end of its data."""
        return self.tCL + self.burst
