"""Reasons for the top's holes."""

from .phrases import ELSEWHERE, LONG_RUNS, WIDE_COUNTS

__all__ = ["TOP"]

_WITH_A_BENCH = (
    r"channel_\d|tracker\.front|tracker\.bank_\d|registers|"
    r"context_\d\.(trigger|engine|credit_window|criticality)"
)
_PROGRAMMED = (
    "maps|launch_configuration|address_space|inbound|former|arbiter|updates_per_atom__\\d|"
    "copies__payload"
)
_STREAMS = (
    "stores|link_in|link_out|dram|issue_acks|tile_issue_acks|end_of_tile_markers|ends|"
    "completions|ready|segments|i|o"
)
_NUMBERS = (
    "dispatch_index|workgroup|wavefront|atom|tile_atoms|context|generation|source|offset|start|"
    "command|dtype"
)
_PROGRESS = (
    "oldest|credit_limit(_in|_out)?|dispatch_limit|complete_dispatch_index|tiles|generation|"
    "(kernel|launch)_generation|dispatched|finished"
)
_PLACE = r"toggle top\.(context_\d\.|tracker\.(merge\.)?)?"
_SETTING = "a setting: this bench programs few; those of the blocks that read it have them all"
_SMALL = "high bits of numbers and addresses: this bench's kernels are few and small"

TOP: tuple[tuple[str, str], ...] = (
    (rf"\w+ top\.({_WITH_A_BENCH})\..*", ELSEWHERE),
    (r"\w+ top\.(corrections|patrols)\..*", WIDE_COUNTS),
    (r"toggle top\.(channel__\d__)?(stored|o|corrected|patrolled)", LONG_RUNS),
    (
        rf"{_PLACE}(end_of_tile_markers|ends__\d)__payload(\$\d+)?(\.(atom|count|end))?",
        "an end-of-tile marker has no atom and no count",
    ),
    (rf"{_PLACE}((registers|context)__(\d__)?)?({_PROGRAMMED})\b\S*", _SETTING),
    (rf"{_PLACE}(view|contexts\[\d\])(\$\d+)?(\.({_PROGRAMMED})\S*)?", _SETTING),
    (rf"{_PLACE}contexts\$\d+\[\d\](\.({_PROGRAMMED})\S*)?", _SETTING),
    (r"toggle top\.number", _SETTING),
    (rf"{_PLACE}(channel__\d__)?({_STREAMS})(__\d)?__payload(\$\d+)?(\.({_NUMBERS}))?", _SMALL),
    (
        rf"{_PLACE}((outside|registers|context__\d)__|(\w*view|contexts)\S*\.)?({_PROGRESS})",
        _SMALL,
    ),
    (
        r"toggle top\.bus__(awaddr|awprot|arprot)",
        "addresses of no register, and who asks; the registers' bench has them",
    ),
    (
        r"toggle top\.(channel__\d__)?stores_room",
        "few stores of these kernels leave over the link; the channel's bench fills their room",
    ),
    (
        r"toggle top\.(error_choice\.)?((channels__[25]|errors__2)__)?valid",
        "no issue acknowledgement waits in its memory here; the channel's bench loses some there",
    ),
    (
        r"line top\.error_choice\.\d+ cond_then",
        "no error to choose: none is of an issue acknowledgement, none of stores and tracker stray",
    ),
    (r"toggle top\.bus__[br]resp", "OKAY and SLVERR, which differ in one bit"),
    (
        r"toggle top\.(context_\d\.)?congested",
        "of a memory that is full for thousands of cycles; the criticality unit's bench has it",
    ),
    (
        r"toggle top\.registers__(gone|idle|sent|clearing|error__valid)",
        "what the top itself tells the registers, and no context's unit",
    ),
)
