"""Frames that arrive at an endpoint of the bench, or leave it."""

from rtl.interface.layouts import LinkPacket
from rtl.link.layouts import FRAME_ATOMS, Control, ControlWord, Flit
from tb.cover import cover, expect
from tb.link_endpoint.dut import LINK, PARAMETERS
from tb.link_endpoint.traffic import continues
from tb.link_endpoint.wire import Framing
from tb.payload import Fields

__all__ = ["FLIT", "PACKET", "ArrivingFrames", "LeavingFrames", "control_of"]

PACKET = Fields(LinkPacket(PARAMETERS))
"""Fields of a packet."""
FLIT = Fields(Flit(LinkPacket(PARAMETERS), LINK))
"""Fields of a flit."""
_CONTROL = Fields(Control(ControlWord(PARAMETERS), LINK))
_NUMBERS = 1 << LINK.sequence_bits
_OF_A_FLIT = ("crc", "first", "last")  # and the data; the other fields are the header's

expect(
    "eight atoms in a frame",
    "frame without an end",
    "frame without a begin",
    "frame leaves without its rest",
)


def _with_header(flit: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Return a further flit with the header of its packet."""
    own = {
        name: value
        for name, value in flit.items()
        if name in _OF_A_FLIT or name.startswith("body_packet_data")
    }
    atom, sequence = before["body_packet_atom"], before["body_sequence"]
    return {
        **before,
        "body_packet_atom": atom - atom % FRAME_ATOMS + (atom + 1) % FRAME_ATOMS,
        "body_sequence": (sequence + 1) % _NUMBERS,
        **own,
    }


def _packet(flit: dict[str, int]) -> dict[str, int]:
    return {name: flit[f"body_packet_{name}"] for name in PACKET.names}


def control_of(flit: dict[str, int]) -> dict[str, int]:
    """Return the control fields of a flit, which take a packet's place."""
    packet = PACKET.pack(_packet(flit))
    return _CONTROL.named(packet & (1 << _CONTROL.width) - 1)


class ArrivingFrames:
    """Frames that arrive at an endpoint.

    Attributes
    ----------
    framing : Framing
    """

    def __init__(self) -> None:
        self.framing = Framing()
        self._flits: list[dict[str, int]] = []

    def arrive(self, flit: dict[str, int], *, spoiled: bool) -> tuple[bool | None, list]:
        """Return whether the frame that ends is intact, None if no frame ends, and its flits."""
        first, last = bool(flit["first"]), bool(flit["last"])
        before = self._flits[-1] if self._flits else None
        cover("frame without an end", first and before is not None)
        cover("frame without a begin", not first and before is None)
        if first or before is None:
            self._flits = [flit]
        else:
            self._flits.append(_with_header(flit, before))
        intact = self.framing.arrive(first=first, last=last, spoiled=spoiled)
        flits = self._flits
        if last:
            self._flits = []
        return intact, flits


class LeavingFrames:
    """Checks of the frames that leave an endpoint."""

    def __init__(self) -> None:
        self._before: dict[str, int] | None = None
        self._length = 0

    @property
    def goes_on(self) -> bool:
        """A frame has begun and not ended."""
        return self._before is not None

    def cut(self) -> None:
        """The endpoint is reset, and its frame ends."""
        cover("frame leaves without its rest", self.goes_on)
        self._before = None

    def leave(self, flit: dict[str, int]) -> dict[str, int]:
        """Check the place of a flit in its frame. Return it with the header of its packet."""
        before = self._before
        assert flit["first"] == (before is None), "A frame begins inside another, or has no begin"
        if before is not None:
            header = [name for name in flit if name.startswith("body_")]
            assert not any(flit[name] for name in header), "A further flit has a header"
            flit = _with_header(flit, before)
            assert continues(_packet(before), _packet(flit)), "A frame goes on without a run"
        assert flit["last"] or flit["body_data"], "A control flit is not alone in its frame"
        self._length = 1 if before is None else self._length + 1
        cover("eight atoms in a frame", self._length == FRAME_ATOMS)
        self._before = None if flit["last"] else flit
        return flit
