"""What travels between two link endpoints, and between the parts of one."""

from amaranth.hdl import Shape
from amaranth.lib import data, enum

from rtl.interface.configuration import GENERATION_BITS
from rtl.parameters import T3Parameters

from .crc import CRC_BITS
from .parameters import LinkParameters

__all__ = [
    "CheckedFlit",
    "Control",
    "ControlWord",
    "Flit",
    "FlitBody",
    "FlowFlit",
    "Item",
    "Numbered",
    "ReverseState",
    "SessionState",
]


class SessionState(enum.Enum, shape=2):
    """How far an endpoint is with a session."""

    QUIET = 0  # waits until no flit of a former session is left
    READY = 1  # knows that the other side has given the former session up, too
    OPEN = 2  # packets pass


def ControlWord(p: T3Parameters):
    """What the other GPU knows of a context: its credit limit, which launch that is of, and whether
    that was aborted."""
    return data.StructLayout(
        {"generation": GENERATION_BITS, "credit_limit": p.credit_limit_bits, "aborted": 1}
    )


def Control(word, link: LinkParameters):
    """What a control flit has in place of a packet; the rest is 0.

    If ``told``, it has a number like a packet, and ``word`` is that of ``context``. Else both mean
    nothing.
    """
    return data.StructLayout(
        {"session": SessionState, "told": 1, "context": range(link.contexts), "word": word}
    )


def Item(shape):
    """What has a number: a packet, or, if ``control``, :func:`Control` in its place."""
    return data.StructLayout({"control": 1, "packet": shape})


def Numbered(shape, link: LinkParameters):
    """An item with its sequence number."""
    return data.StructLayout({"sequence": link.sequence_bits, "packet": shape})


def ReverseState(link: LinkParameters):
    """What a receiver tells: every packet before ``acknowledge`` arrived, all before ``limit``
    have room. ``missing``: one behind the awaited one was sent."""
    return data.StructLayout(
        {"acknowledge": link.sequence_bits, "limit": link.sequence_bits, "missing": 1}
    )


def FlowFlit(shape, link: LinkParameters):
    """What one channel's flow tells the other side in a flit.

    Without ``data`` there is :func:`Control` in place of ``packet``, and if that has no word,
    ``sequence`` is the number of what is sent next.
    """
    return data.StructLayout(
        {
            "data": 1,
            "sequence": link.sequence_bits,
            **ReverseState(link).members,
            "packet": shape,
        }
    )


def FlitBody(shape, link: LinkParameters):
    """A flit before its check bits: whole bytes, ``reserved`` is 0."""
    flow = FlowFlit(shape, link)
    channel = Shape.cast(range(link.channels)).width
    return data.StructLayout(
        {"channel": channel, **flow.members, "reserved": -(channel + flow.size) % 8}
    )


def Flit(shape, link: LinkParameters):
    """A flit on the physical link, bit 0 first."""
    return data.StructLayout({"body": FlitBody(shape, link), "crc": CRC_BITS})


def CheckedFlit(shape, link: LinkParameters):
    """A flit that arrived; ``corrupt`` if its check bits are wrong."""
    return data.StructLayout({"body": FlitBody(shape, link), "corrupt": 1})
