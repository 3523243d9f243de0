"""Errors reported by the hardware, and exceptions of the driver."""

from collections.abc import Sequence
from dataclasses import dataclass

from rtl.interface.encodings import ConfigurationError, ErrorCode

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
        Dispatch index of the tile; for errors of packets and of the DMA engine, its workgroup.
    channel : int
        Channel of the store, the packet or the acknowledgement.
    source : int
        Number of the GPU that sent the packet.
    address : int
        Byte address of the store, the packet or the rejected DMA read.
    """

    code: ErrorCode
    dispatch_index: int
    wavefront: int
    channel: int
    source: int
    address: int

    def __str__(self) -> str:
        return (
            f"{self.code.name} (dispatch index {self.dispatch_index}, wavefront {self.wavefront}, "
            f"channel {self.channel}, address {self.address:#x}, from GPU {self.source})"
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
    """The hardware has errors in its log.

    Parameters
    ----------
    errors : sequence of HardwareError
        Oldest first.
    """

    def __init__(self, errors: Sequence[HardwareError]):
        super().__init__("; ".join(map(str, errors)))
        self.errors = tuple(errors)


class AbortedError(T3Error):
    """An abort, perhaps by another program, ended the launch that was waited for."""


class WaitTimeoutError(T3Error):
    """An expected event did not occur in time."""
