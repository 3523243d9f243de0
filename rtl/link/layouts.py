"""Layouts of flits, and of the interfaces inside a link endpoint."""

from amaranth.hdl import Shape
from amaranth.lib import data, enum

from rtl.interface.configuration import ABORT_BITS, GENERATION_BITS
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
    """State of a session in an endpoint."""

    QUIET = 0  # waits until no flit of a former session is in flight
    READY = 1  # the other side has ended the former session, too
    OPEN = 2  # packets pass


def ControlWord(p: T3Parameters):
    """Control word of a context for the other GPU: generation and credit limit of its launch, and
    the aborts of this launch and of those before it.

    A word that was replaced before it was sent is lost, so the aborts stay in the later words.
    """
    return data.StructLayout(
        {
            "generation": GENERATION_BITS,
            "credit_limit": p.credit_limit_bits,
            "aborted": ABORT_BITS,
        }
    )


def Control(word, link: LinkParameters):
    """Payload of a control flit in place of a packet; the remaining bits are 0.

    If ``has_word`` is set, the flit has a number like a packet, and ``word`` is the word of
    ``context``. Otherwise ``context`` and ``word`` are meaningless.
    """
    return data.StructLayout(
        {"session": SessionState, "has_word": 1, "context": range(link.contexts), "word": word}
    )


def Item(shape):
    """Item with a sequence number: a packet, or, if ``control``, :func:`Control` in its place."""
    return data.StructLayout({"control": 1, "packet": shape})


def Numbered(shape, link: LinkParameters):
    """Item with its sequence number."""
    return data.StructLayout({"sequence": link.sequence_bits, "packet": shape})


def ReverseState(link: LinkParameters):
    """State that a receiver reports: all packets before ``acknowledge`` have arrived, and all
    before ``limit`` have space. ``missing`` is set if a packet behind the awaited one was sent."""
    return data.StructLayout(
        {"acknowledge": link.sequence_bits, "limit": link.sequence_bits, "missing": 1}
    )


def FlowFlit(shape, link: LinkParameters):
    """Part of a flit that belongs to a channel's flow.

    Without ``data``, ``packet`` holds :func:`Control`; if that has no word, ``sequence`` is the
    number of the next item.
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
    """Flit without its CRC, padded to whole bytes by ``reserved``, which is 0."""
    flow = FlowFlit(shape, link)
    channel = Shape.cast(range(link.channels)).width
    return data.StructLayout(
        {"channel": channel, **flow.members, "reserved": -(channel + flow.size) % 8}
    )


def Flit(shape, link: LinkParameters):
    """Flit on the physical link, bit 0 first."""
    return data.StructLayout({"body": FlitBody(shape, link), "crc": CRC_BITS})


def CheckedFlit(shape, link: LinkParameters):
    """Received flit; ``corrupt`` is set if its CRC does not match."""
    return data.StructLayout({"body": FlitBody(shape, link), "corrupt": 1})
