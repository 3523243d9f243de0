"""Codes of the hardware's fields as plain numbers, which compiled loops take in."""

from rtl.interface.encodings import Access, Origin, PacketKind, StoreKind

__all__ = [
    "COMMUNICATION",
    "END_OF_TILE",
    "PACKET_UPDATE",
    "READ",
    "STORE",
    "UPDATE",
    "WRITE",
]

READ: int = Access.READ.value
WRITE: int = Access.WRITE.value
UPDATE: int = Access.UPDATE.value
COMMUNICATION: int = Origin.COMMUNICATION.value
STORE: int = StoreKind.STORE.value
END_OF_TILE: int = StoreKind.END_OF_TILE.value
PACKET_UPDATE: int = PacketKind.UPDATE.value
