"""What the hardware tells of errors, and the driver's exceptions."""

from collections.abc import Sequence
from dataclasses import dataclass

from rtl.interface.encodings import ConfigurationError, ErrorCode

__all__ = ["HardwareError", "RefusedError", "ReportedError", "T3Error", "WaitTimeoutError"]


@dataclass(frozen=True)
class HardwareError:
    """An entry of the error log. What the error has none of is 0.

    Parameters
    ----------
    code : ErrorCode
    dispatch_index : int
        Of the tile; for errors of packets and of the DMA engine its workgroup.
    wavefront : int
    channel : int
        Of the store, the packet or the acknowledgement.
    source : int
        Number of the GPU that sent the packet.
    address : int
        In bytes: of the store, the packet, or what the DMA engine would have read.
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
    """Of the hardware or its use."""


class RefusedError(T3Error):
    """The hardware did not take what was programmed; nothing changed.

    Parameters
    ----------
    what : str
        Register that was written.
    code : ConfigurationError
    """

    def __init__(self, what: str, code: ConfigurationError):
        super().__init__(f"the hardware refused {what}: {code.name}")
        self.what, self.code = what, code


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


class WaitTimeoutError(T3Error):
    """What was waited for did not come."""
