"""Link errors: errors of the links' endpoints, which are reported one by one, in turn."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import compiled, inlined

from ..index import natural
from ..records import Record, record
from ..state import GoldenState
from .errors import RANK, place_of, report_error, take_errors

__all__ = ["LINKS", "LINK_WORDS", "note_link", "report_global_errors"]

LINKS = record("any_link_error link_error_waits first_turn")
"""Flags: the link of a channel may have an error; an error waits to be reported. Place that has the
next turn: two for each channel, of LINK_DOWN and of LINK_RESET.
"""
LINK_WORDS = "link_errors"
"""Field of the channel's record: a bit for each kind of link error that waits to be reported."""

_LINK_DOWN, _LINK_RESET = ErrorCode.LINK_DOWN.value, ErrorCode.LINK_RESET.value


@inlined
def note_link(links: Record, channel: Record, down: bool, reset: bool) -> bool:
    """Record the errors of the endpoints of a channel's link; return whether there are any."""
    if down | reset:
        channel.link_errors |= down | reset << 1
        links.any_link_error = 1
        return True
    return False


@compiled
def _any_waits(s: GoldenState) -> bool:
    """Return whether an error of any link waits."""
    for number in range(s.config.channels):
        if s.channels[natural(number)].link_errors:
            return True
    return False


@compiled
def _take_error(s: GoldenState) -> tuple[int, int]:
    """Take a waiting error: places have turns, and the next turn is behind the last error."""
    links, places = s.gpu.links, 2 * s.config.channels
    for step in range(places):
        place = (links.first_turn + step) % places
        number, kind = place // 2, place % 2
        channel = s.channels[natural(number)]
        if channel.link_errors >> kind & 1:
            channel.link_errors ^= 1 << kind
            links.first_turn = (place + 1) % places
            return _LINK_RESET if kind else _LINK_DOWN, place_of(0, 0, number, True)
    links.any_link_error = 0
    return 0, 0


@inlined
def report_global_errors(s: GoldenState, log: Record) -> None:
    """Report a waiting error of a link, and end the cycle of the GPU's errors."""
    links = s.gpu.links
    links.link_error_waits = links.any_link_error != 0 and _any_waits(s)
    if links.any_link_error:
        failure, place = _take_error(s)
        report_error(log, RANK.link, failure, place)
    take_errors(log)
