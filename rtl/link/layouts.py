"""What travels between two link endpoints, and between the parts of one."""

from amaranth.hdl import Shape
from amaranth.lib import data

from .crc import CRC_BITS
from .parameters import LinkParameters

__all__ = ["CheckedFlit", "Flit", "FlitBody", "Numbered", "ReverseState"]


def Numbered(shape, link: LinkParameters):
    """A packet with its sequence number; without ``data`` both mean nothing."""
    return data.StructLayout({"data": 1, "sequence": link.sequence_bits, "packet": shape})


def ReverseState(link: LinkParameters):
    """What a receiver tells: every packet before ``acknowledge`` arrived, all before ``limit``
    have room."""
    return data.StructLayout({"acknowledge": link.sequence_bits, "limit": link.sequence_bits})


def FlitBody(shape, link: LinkParameters):
    """A flit before its check bits: whole bytes, ``reserved`` is 0."""
    bits = 1 + 3 * link.sequence_bits + Shape.cast(shape).width
    return data.StructLayout(
        {
            "data": 1,
            "sequence": link.sequence_bits,
            "acknowledge": link.sequence_bits,
            "limit": link.sequence_bits,
            "packet": shape,
            "reserved": -bits % 8,
        }
    )


def Flit(shape, link: LinkParameters):
    """A flit on the physical link, bit 0 first."""
    return data.StructLayout({"body": FlitBody(shape, link), "crc": CRC_BITS})


def CheckedFlit(shape, link: LinkParameters):
    """A flit that arrived; ``corrupt`` if its check bits are wrong."""
    return data.StructLayout({"body": FlitBody(shape, link), "corrupt": 1})
