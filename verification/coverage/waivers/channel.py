"""Coverage waivers of the channel."""

from .phrases import ELSEWHERE, LONG_RUNS, OF_A_STREAM, WIDE_COUNTS

__all__ = ["CHANNEL"]

_WITH_A_BENCH = (
    r"access_merge\.(arbiter|compute|communication)|lane_\d|nmc|issue_acks|issue_ack_buffer|"
    r"\w+_location|\w+_range"
)
_REQUEST = "data|tag|owner|dispatch_index|wavefront|access|dtype|op|origin"
_ACCESSES = r"channel(\.access_merge(\.lanes)?)?"
_TO_LINK = r"channel\.link_merge(\.merge)?"

CHANNEL: tuple[tuple[str, str], ...] = (
    (rf"\w+ channel\.({_WITH_A_BENCH})\..*", ELSEWHERE),
    (r"\w+ channel\.stored_count\..*", WIDE_COUNTS),
    (
        rf"toggle {_ACCESSES}\.(a|b|reads|dma_reads__\d|i__\d)__payload(\$\d+)?\.({_REQUEST})",
        OF_A_STREAM,
    ),
    (
        rf"toggle channel\.access_merge\.(lanes\.)?o__payload\.({_REQUEST})",  # lanes
        OF_A_STREAM,
    ),
    (
        rf"toggle {_ACCESSES}\.(o|compute|communication)__payload(\$\d+)?\.(tag|origin)",
        OF_A_STREAM,
    ),
    (rf"toggle {_TO_LINK}\.i__\d__payload\.owner", "constant: each context has a port of its own"),
    (r"toggle channel\.(o|stored)", LONG_RUNS),
    (r"toggle channel\.monitor\.(copies_)?outstanding_\d\.count", LONG_RUNS),
    (
        r"toggle channel\.monitor\.copies_outstanding_\d\.(end_count|ended_together)",
        "only updates end several at a time",
    ),
    (
        r"toggle .*\b([ab]__payload|end_of_tile_markers__payload)\b.*",
        "an end-of-tile marker carries no atom and no count, an update no size and no edges",
    ),
)
