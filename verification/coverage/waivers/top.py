"""Coverage waivers of the top."""

from .phrases import ELSEWHERE, LONG_RUNS, WIDE_COUNTS

__all__ = ["TOP"]

_WITH_A_BENCH = (
    r"channel_\d|tracker\.front|tracker\.bank_\d|registers|"
    r"context_\d\.(trigger|engine|credit_window|criticality)"
)
_PROGRAMMED = "maps|launch_configuration|address_space|inbound|former|arbiter|copies__payload"
_STREAMS = (
    "stores|link_in|link_out|dram|issue_acks|tile_issue_acks|end_of_tile_markers|ends|"
    "completions|ready|segments|i|o"
)
_NUMBERS = (
    "dispatch_index|slot|wavefront|atom|tile_atoms|shares|total|context|generation|source|offset|start|"
    "command|dtype"
)
_PROGRESS = (
    "oldest|credit_limit(_in|_out)?|dispatch_limit|complete_dispatch_index|tiles|generation|"
    "(kernel|launch)_generation|dispatched|finished|admitted|limits|least|term|lowest"
)
_PLACE = r"toggle top\.(context_\d\.|tracker\.(merge\.)?)?"
_SETTING = "a setting: this bench programs few values; the benches of the blocks program all"
_SMALL = "high bits of numbers and addresses: this bench runs few, small kernels"

TOP: tuple[tuple[str, str], ...] = (
    (rf"\w+ top\.({_WITH_A_BENCH})\..*", ELSEWHERE),
    (r"\w+ top\.(corrections|scrubs)\..*", WIDE_COUNTS),
    (r"toggle top\.(channel__\d__)?(stored|o|corrected|scrub_corrected)", LONG_RUNS),
    (
        rf"{_PLACE}(end_of_tile_markers|ends__\d)__payload(\$\d+)?(\.(atom|count|end))?",
        "an end-of-tile marker carries no atom and no count",
    ),
    (rf"{_PLACE}((registers|context)__(\d__)?)?({_PROGRAMMED})\b\S*", _SETTING),
    (rf"{_PLACE}(view|contexts\[\d\])(\$\d+)?(\.({_PROGRAMMED})\S*)?", _SETTING),
    (rf"{_PLACE}contexts\$\d+\[\d\](\.({_PROGRAMMED})\S*)?", _SETTING),
    (r"toggle top\.number", _SETTING),
    (rf"{_PLACE}(channel__\d__)?({_STREAMS})(__\d)?__payload(\$\d+)?(\.({_NUMBERS}))?", _SMALL),
    (
        (
            rf"{_PLACE}((outside|registers|context__\d)__|(external_status|peer_status_\d|range_limits)\.|"
            rf"(\w*view|contexts)\S*\.)?({_PROGRESS})"
        ),
        _SMALL,
    ),
    (
        r"toggle top\.bus__(awaddr|awprot|arprot)",
        "addresses without a register, and protection bits; the bench of the registers covers them",
    ),
    (
        r"toggle top\.(channel__\d__)?store_space",
        "few stores of these kernels leave over the link; the channel's bench uses up their space",
    ),
    (
        r"toggle top\.(error_priority_encoder\.)?((channels__[25]|errors__2)__)?valid",
        "no issue acknowledgement waits in the memory here; the channel's bench loses some there",
    ),
    (
        r"line top\.error_priority_encoder\.\d+ cond_then",
        "never occurs here: errors of issue acknowledgements, unowned errors of stores and tracker",
    ),
    (r"toggle top\.bus__[br]resp", "the responses OKAY and SLVERR differ in one bit"),
    (
        r"toggle top\.(context_\d\.)?congested",
        "a memory that is full for thousands of cycles; the criticality unit's bench covers it",
    ),
    (
        r"toggle top\.registers__(drained|idle|dma_idle|clearing|error__valid)",
        "driven by the top itself, not by a unit of a context",
    ),
)
