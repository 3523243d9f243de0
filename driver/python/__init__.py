"""Python driver, with which a program uses the hardware for its collectives.

The driver programs the registers over any :class:`Bus`: the simulation's, an AXI manager of a test
bench, or registers that are mapped into a process.
"""

from rtl.interface.encodings import (
    Datatype,
    ErrorCode,
    Granularity,
    InjectTarget,
    Operation,
    PacketKind,
    Policy,
)

from .bus import Bus, MappedRegisters, Recorder
from .collective import Collective, Part
from .context import Context
from .errors import (
    AbortedError,
    HardwareError,
    RefusedError,
    ReportedError,
    T3Error,
    WaitTimeoutError,
)
from .gate import Gate
from .gpu import T3
from .patterns import Exchange, Gather, Overlap, Ring, Send
from .peer import DOWNSTREAM, UPSTREAM, Peer
from .transfer import Transfer
from .version import Version, VersionError

__all__ = [
    "DOWNSTREAM",
    "T3",
    "UPSTREAM",
    "AbortedError",
    "Bus",
    "Collective",
    "Context",
    "Datatype",
    "ErrorCode",
    "Exchange",
    "Gate",
    "Gather",
    "Granularity",
    "HardwareError",
    "InjectTarget",
    "MappedRegisters",
    "Operation",
    "Overlap",
    "PacketKind",
    "Part",
    "Peer",
    "Policy",
    "Recorder",
    "RefusedError",
    "ReportedError",
    "Ring",
    "Send",
    "T3Error",
    "Transfer",
    "Version",
    "VersionError",
    "WaitTimeoutError",
]
