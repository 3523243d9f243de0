"""Codes at the hardware's ports as plain integers, for compiled loops."""

from rtl.interface.encodings import Access, Origin, PacketKind, StoreKind
from rtl.interface.timebase import TICK_CYCLES

__all__ = [
    "COMMUNICATION",
    "END_OF_TILE",
    "PACKET_END",
    "PACKET_STORE",
    "PACKET_UPDATE",
    "PLACE",
    "READ",
    "STORE",
    "TICK_CYCLES",
    "UPDATE",
    "WRITE",
]

READ: int = Access.READ.value
WRITE: int = Access.WRITE.value
UPDATE: int = Access.UPDATE.value
PLACE: int = Access.PLACE.value
COMMUNICATION: int = Origin.COMMUNICATION.value
STORE: int = StoreKind.STORE.value
END_OF_TILE: int = StoreKind.END_OF_TILE.value
PACKET_STORE: int = PacketKind.STORE.value
PACKET_END: int = PacketKind.END.value
PACKET_UPDATE: int = PacketKind.UPDATE.value
