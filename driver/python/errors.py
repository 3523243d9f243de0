"""Errors reported by the hardware, and exceptions of the driver."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rtl.interface.encodings import FOREIGN_PACKETS, ConfigurationError, ErrorCode

__all__ = [
    "AbortedError",
    "HardwareError",
    "RefusedError",
    "ReportedError",
    "T3Error",
    "WaitTimeoutError",
]


@dataclass(frozen=True)
class HardwareError:
    """Entry of the error log. A field is 0 where it does not apply to the error.

    Parameters
    ----------
    dispatch_index : int
        Dispatch index of the tile; for errors of packets, their slot.
    channel : int
        Channel of the store, the packet or the acknowledgement.
    source : int
        Rank that the packet carries: that of the GPU that sent it, if the network is honest.
    address : int
        Byte address of the store, the packet or the rejected DMA read.
    """

    code: ErrorCode
    dispatch_index: int
    wavefront: int
    channel: int
    source: int
    address: int

    @property
    def foreign(self) -> bool:
        """The error is a refused packet that is not of the launch, which has lost nothing."""
        return self.code in FOREIGN_PACKETS

    def __str__(self) -> str:
        return (
            f"{self.code.name} (dispatch index {self.dispatch_index}, wavefront {self.wavefront}, "
            f"channel {self.channel}, address {self.address:#x}, from rank {self.source})"
        )


class T3Error(Exception):
    """Error of the hardware, or of its use."""


class RefusedError(T3Error):
    """The hardware refused a write, which had no effect.

    Parameters
    ----------
    register : str
        Name of the register.
    """

    def __init__(self, register: str, code: ConfigurationError):
        super().__init__(f"the hardware refused {register}: {code.name}")
        self.register, self.code = register, code


class ReportedError(T3Error):
    """The hardware reports errors that may have lost data of the launch.

    Parameters
    ----------
    errors : sequence of HardwareError
        Entries of the log, oldest first; the log may have had no place for some errors, and may
        have :attr:`~HardwareError.foreign` ones.
    cycles : dict
        Number of cycles in which each such error occurred.
    """

    def __init__(self, errors: Sequence[HardwareError], cycles: Mapping[ErrorCode, int]):
        logged = [error for error in errors if not error.foreign]
        others = set(cycles) - {error.code for error in logged}
        super().__init__("; ".join([*map(str, logged), *_list(cycles, others)]))
        self.errors, self.cycles = tuple(errors), dict(cycles)


class AbortedError(T3Error):
    """An abort, perhaps by another program, ended the launch that was waited for."""


class WaitTimeoutError(T3Error):
    """An expected event did not occur in time.

    Parameters
    ----------
    refused : dict
        Number of cycles with refused packets that were not of the launch, by code.
    """

    def __init__(self, message: str, refused: Mapping[ErrorCode, int] | None = None):
        self.refused = dict(refused or {})
        super().__init__("; refused: ".join([message, *_list(self.refused, self.refused)]))


def _list(cycles: Mapping[ErrorCode, int], codes: Collection[ErrorCode]) -> list[str]:
    """Describe the numbers of cycles in which errors of some codes occurred."""
    return [f"{code.name} (in {cycles[code]} cycles)" for code in ErrorCode if code in codes]
