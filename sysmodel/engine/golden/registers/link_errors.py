"""Link errors: errors of the links' endpoints, which wait until the GPU has no other error."""

from rtl.interface.encodings import ErrorCode
from sysmodel.lib.compiled import compiled, inlined

from ..index import natural
from ..records import Record, record
from ..state import GoldenState
from .errors import channel_error, place_of, set_failure

__all__ = ["LINKS", "LINK_WORDS", "note_link", "report_global_errors"]

LINKS = record("any_link_error link_error_waits")
"""Flags: the link of a channel may have an error; an error waits to be reported."""
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
    """Take the first waiting error: the lowest channel first, and LINK_DOWN before LINK_RESET."""
    for number in range(s.config.channels):
        channel = s.channels[natural(number)]
        if channel.link_errors:
            is_down = channel.link_errors & 1
            channel.link_errors &= 2 if is_down else 0
            return _LINK_DOWN if is_down else _LINK_RESET, place_of(0, 0, number, True)
    s.gpu.links.any_link_error = 0
    return 0, 0


@inlined
def report_global_errors(s: GoldenState, log: Record) -> None:
    """Report the first global error of this cycle: of a channel or, without such an error, of a
    link.
    """
    links = s.gpu.links
    failure, place = channel_error(log)
    links.link_error_waits = links.any_link_error != 0 and _any_waits(s)
    if links.any_link_error and failure == 0:
        failure, place = _take_error(s)
    set_failure(log, failure, place)
