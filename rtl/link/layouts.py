"""Layouts of frames and their flits, and of the interfaces inside a link endpoint."""

from amaranth.hdl import Shape
from amaranth.lib import data, enum

from rtl.interface.configuration import ABORT_BITS, GENERATION_BITS
from rtl.parameters import T3Parameters

from .crc import CRC_BITS
from .parameters import LinkParameters

__all__ = [
    "FRAME_ATOMS",
    "RUN_BITS",
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
    "Stored",
    "UncheckedFlit",
    "atom_bits",
    "frame_bytes",
    "header_bits",
]

RUN_BITS = 3
FRAME_ATOMS = 1 << RUN_BITS
"""Most atoms in a frame. They lie in an aligned block of so many atoms."""


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


def Stored(item):
    """Item in a replay memory; ``continues`` is set if its packet continues the run of the item
    before it, see :class:`~rtl.link.runs.RunDetector`."""
    return data.StructLayout({"continues": 1, "item": item})


def Numbered(item, link: LinkParameters):
    """Item with its sequence number; ``first`` is 0 if it goes behind the item that was taken last
    in the same frame."""
    return data.StructLayout({"sequence": link.sequence_bits, "first": 1, "item": item})


def ReverseState(link: LinkParameters):
    """State that a receiver reports: all packets before ``acknowledge`` have arrived, and all
    before ``limit`` have space. ``missing`` is set if a packet behind the awaited one was sent."""
    return data.StructLayout(
        {"acknowledge": link.sequence_bits, "limit": link.sequence_bits, "missing": 1}
    )


def FlowFlit(shape, link: LinkParameters):
    """Part of a flit that belongs to a channel's flow.

    Without ``data``, ``packet`` holds :func:`Control`; if that has no word, ``sequence`` is the
    number of the next item. ``first`` is 0 if the flit continues the frame of the flow's last one.
    """
    return data.StructLayout(
        {
            "data": 1,
            "sequence": link.sequence_bits,
            **ReverseState(link).members,
            "packet": shape,
            "first": 1,
        }
    )


def atom_bits(shape) -> int:
    """Compute the width of a packet's data, its last field; 0 if it has none."""
    members = shape.members if isinstance(shape, data.StructLayout) else {}
    return Shape.cast(members["data"]).width if "data" in members else 0


def FlitBody(shape, link: LinkParameters):
    """Header of a frame, and the atom of a flit, which is the packet's data. ``reserved`` is 0, and
    makes the header whole bytes."""
    flow = {name: of for name, of in FlowFlit(shape, link).members.items() if name != "first"}
    packet = flow.pop("packet")
    members = {"channel": Shape.cast(range(link.channels)).width, **flow}
    header = data.StructLayout({**members, "packet": packet}).size - atom_bits(shape)
    return data.StructLayout({**members, "reserved": -header % 8, "packet": packet})


def header_bits(shape, link: LinkParameters) -> int:
    """Compute the width of a frame's header."""
    return FlitBody(shape, link).size - atom_bits(shape)


def frame_bytes(shape, link: LinkParameters, atoms: int) -> int:
    """Compute the bytes that a frame takes on the wires: header, atoms and CRC."""
    return (header_bits(shape, link) + atoms * atom_bits(shape) + CRC_BITS) // 8


def UncheckedFlit(shape, link: LinkParameters):
    """Flit without its CRC; the last one of its frame, unless a flit without ``first`` follows."""
    return data.StructLayout({"body": FlitBody(shape, link), "first": 1})


def Flit(shape, link: LinkParameters):
    """Flit on the physical link, bit 0 first: one beat of a frame.

    Only a ``first`` flit has a header on the wires, and only a ``last`` one a CRC; in other flits
    they mean nothing. A control flit and an END packet have no atom; ``data`` is 0 there.
    """
    return data.StructLayout(
        {"body": FlitBody(shape, link), "crc": CRC_BITS, "first": 1, "last": 1}
    )


def CheckedFlit(shape, link: LinkParameters):
    """Received flit with the header of its packet; ``corrupt`` is set in the last flit of a frame
    that did not arrive as it was sent, and means nothing in the others."""
    return data.StructLayout({"body": FlitBody(shape, link), "first": 1, "last": 1, "corrupt": 1})
