"""Why some of the Verilog cannot be run through, or is not by its block's bench."""

import re

__all__ = ["REASONS", "reason_of"]

_IN_TOP = (
    r"channel_\d+|tracker\.front|tracker\.bank_\d+|trigger|engine|registers|credit_window|"
    r"criticality"
)
_NUMBERS = "dispatch_index|workgroup|wavefront|atom|tile_atoms|context|offset|start|command"
_REQUEST = "data|tag|dispatch_index|wavefront|access|dtype|op|origin"
_IN_CHANNEL = (
    r"access_merge\.(arbiter|compute|communication)|lane|nmc|issue_acks|issue_ack_buffer|"
    r"\w+_location"
)
_ACCESSES = r"channel(\.access_merge(\.lanes)?)?"
_TABLES = "a field of a table that this block does not read"
_COMPARED = "workgroups|tracked_first|tracked_end|shift|credit_window"
_SETTING = "a setting: this bench programs few; those of the blocks that read it have them all"
_SMALL = "high bits of dispatch indices, addresses and counts: this bench's kernels are small"
_UNCORRECTED = "no bit of a memory is wrong in this bench; the memories' own flip them"
_STREAM = "a field that all requests of this stream lack, or have the same"
_ENTRY = "of an entry, only what is added up or compared is carried on"

REASONS: tuple[tuple[str, str, str], ...] = (
    (
        r"top",
        rf"\w+ top\.({_IN_TOP})\..*",
        "in a block with a bench of its own",
    ),
    (
        r"channel",
        rf"\w+ channel\.({_IN_CHANNEL}|\w+_range)\..*",
        "in a block with a bench of its own",
    ),
    (
        r".*",
        r"toggle .*\$\d+",
        "no signal of the source's, but a step of an expression or a second name",
    ),
    (
        r"top|channel",
        r"\w+ .*\.(corrections|stored_count)\..*",
        "blocks of a counter that only long runs reach; benches of others set theirs",
    ),
    (
        r"top|channel",
        r"toggle \w+\.(maps|launch_configuration|arbiter|configuration)(\$\d+)?(\..*)?",
        _SETTING,
    ),
    (r"top", r"toggle top\.(step|o|corrected|tracker\.corrected)", _UNCORRECTED),
    (r"top", r"toggle top\.(stored|channel__\d__stored|tiles)", "counts of long runs"),
    (
        r"top",
        r"toggle top\.(oldest|credit_limit(_in|_out)?|dispatch_limit|complete_dispatch_index)",
        _SMALL,
    ),
    (
        r"top",
        r"toggle top\.(dispatched|finished)",
        _SMALL,
    ),
    (
        r"top",
        rf"toggle top\.(tracker\.(merge\.)?)?\w+__(payload|report)(\$\d+)?(\.({_NUMBERS}))?",
        _SMALL,
    ),
    (
        r"top",
        r"toggle top\.congested",
        "of a memory that is full for thousands of cycles; the criticality unit's bench has it",
    ),
    (
        r"top",
        r"toggle top\.bus__awaddr",
        "addresses of no register; the registers' bench has them",
    ),
    (r"channel", r"toggle channel\.(oldest|segments__payload(\$\d+)?(\.offset)?)", _SMALL),
    (r"channel", r"toggle channel\.(o|stored)", "counts of long runs"),
    (
        r"channel",
        rf"toggle {_ACCESSES}\.(a|b|reads|dma_reads__\d|i__\d)__payload(\$\d+)?\.({_REQUEST})",
        _STREAM,
    ),
    (
        r"channel",
        rf"toggle {_ACCESSES}\.(o|compute|communication)__payload(\$\d+)?\.(tag|origin)",
        _STREAM,
    ),
    (
        r"credit_window",
        r"(line|toggle) .*\bidle\.(step|\d+ else)|toggle credit_window\.step",
        "this counter counts in every cycle",
    ),
    (r".*", r"toggle .*_count\.clear", "a counter that is never cleared"),
    (r".*", r"toggle .*\.drop", "a queue whose payloads are not dropped"),
    (
        r"address_map",
        r"toggle .*\bmaps(\$\d+)?\.commands(\[\d+\]\.(?!op|dtype).*)?",
        _TABLES,
    ),
    (
        r"address_map",
        r"toggle .*\blaunch_configuration(\$\d+)?(\.(?!workgroups|first_workgroup).*)?",
        _TABLES,
    ),
    (r"trigger", r"toggle .*\bmaps(\$\d+)?\.regions.*", _TABLES),
    (
        r"trigger",
        r"toggle .*\bmaps(\$\d+)?\.commands(\[\d+\]\.(?!waves\b|group|granularity).*)?",
        _TABLES,
    ),
    (
        r"dma_engine",
        r"toggle .*\bmaps\.(ranges.*|commands(\[\d+\]\.(waves|group_log2).*)?)",
        _TABLES,
    ),
    (
        r"dma_engine",
        r"toggle .*\blaunch_configuration(\.(?!workgroups|first_workgroup|shift).*)?",
        _TABLES,
    ),
    (
        r"credit_window",
        r"toggle .*\blaunch_configuration(\.(workgroups|first_workgroup|epoch|updates_per_atom))?",
        _TABLES,
    ),
    (
        r"criticality",
        rf"toggle .*\blaunch_configuration(\.(?!{_COMPARED}).*)?",
        _TABLES,
    ),
    (
        r".*",
        r"toggle .*(error|errors__\d|report)__report\b.*",
        "a block reports few causes, and some without a dispatch index or wavefront",
    ),
    (
        r"link_endpoint",
        r"toggle .*(\breserved|\bbody|\.(stamp|receiver)\.i(__payload)?|\bcrc\.i)",
        "reserved bits, always 0",
    ),
    (
        r"link_endpoint",
        r"toggle .*\.stamp\.crc\.shared_\d+",
        "sums of reserved bits",
    ),
    (r"link_endpoint", r"toggle .*\b[ab]\.state\b.*", "no word without a number"),
    (
        r"link_endpoint",
        r"toggle .*\.teller\.control(\.(session|told))?",
        "what is the same for all words",
    ),
    (r"link_endpoint", r"toggle .*\.i__valid", "a flit leaves in every cycle"),
    (r"nmc_unit", r"toggle .*\.largest", "bits that the infinities of all formats have"),
    (r"trigger", r"toggle trigger\.follow", "two of the states, which differ in one bit"),
    (
        r"trigger",
        r"toggle trigger\.groups\.words",
        "bits of large counts: few large groups begin at a row, and none needs the last bit",
    ),
    (
        r"tracker_bank",
        r"toggle tracker_bank\.threshold",
        "no tile of this geometry has so many atoms",
    ),
    (r"tracker_bank", r"toggle .*\b(known|old|stored)\b.*", _ENTRY),
    (
        r"tracker_front|channel|top",
        r"toggle .*\b([ab]__payload|end_of_tile_markers__payload|ends__\d__payload)\b.*",
        "an end-of-tile marker has no atom and no count, an update no atoms and no edges",
    ),
    (
        r"issue_ack_queue",
        r"(line|toggle) .*(entries|taken|joins|\d+ if).*",
        "nothing joins the last entry: a queue that has it is full",
    ),
    (
        r"dma_lane",
        rf"toggle .*\breads(__payload\.({_REQUEST})|\.storage)",
        _STREAM,
    ),
    (r"dma_lane", r"toggle dma_lane\.index", "an index is less than the atoms of a segment"),
    (r"dma_engine", r"toggle .*\b[ab]__payload", "a constant, which tells the two apart"),
    (
        r"dma_engine",
        r"toggle .*\b(wave_)?rest",
        "of four walkers: rows beyond whole wavefronts in a step are none, one or all four",
    ),
    (r"dma_engine", r"toggle dma_engine\.inner_before", "a bit that no wavefront is shifted to"),
    (
        r"credit_window",
        r"toggle credit_window\.launch_configuration\.credit_window",
        "no credit window has more dispatch indices than are remembered",
    ),
    (
        r"credit_window",
        r"toggle credit_window\.command_end",
        "what is issued began at the first tracked dispatch index and ends before the last",
    ),
    (r"round_robin", r"toggle round_robin\.pick1\.first", "one request, to which it always points"),
    (
        r"registers|top",
        r"toggle .*\bbus__[br]resp",
        "OKAY and SLVERR, which differ in one bit",
    ),
)
"""Patterns of the block's and of the hole's whole name, and the reason; the first that match count.
A hole is "line" or "toggle", a space, and the instance with the line or the signal."""


def reason_of(block: str, hole: str) -> str | None:
    """Why a point is not hit; None if nobody has explained it."""
    for blocks, holes, why in REASONS:
        if re.fullmatch(blocks, block) and re.fullmatch(holes, hole):
            return why
    return None
