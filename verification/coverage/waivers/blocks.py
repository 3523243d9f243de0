"""Coverage waivers of the blocks that contain no other block."""

from collections.abc import Mapping

from .phrases import CODES, OF_A_STREAM

__all__ = ["BLOCKS"]

_REQUEST = "data|tag|owner|dispatch_index|wavefront|access|dtype|op|origin"

_OFF = "a copy never belongs to a disabled region"
_CONTEXT = r"(context_\d\.)?context__(\d__)?"  # the context's ports of the registers

BLOCKS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "link_endpoint": (
        (
            r"toggle .*(\breserved|\bbody(\.\w+)?|\.(stamp|receiver)\.i(__payload)?|\bcrc\.i)",
            "reserved bits, always 0",
        ),
        (r"toggle link_endpoint\.[ab]\.i__0__payload", "reserved bits, always 0"),
        (
            r"(line|toggle) .*\.([ab]\.step|idle_timer\.(step|clock_enable|\d+ else))",
            "a counter that counts in every cycle",
        ),
        (
            r"toggle .*\.arrivals\.(i__ready|stored)",
            "this memory has space for all outstanding flits and never becomes full",
        ),
        (r"toggle .*\b[ab]\.state\b.*", "every control word carries a number"),
        (
            r"toggle .*\.control_sender\.control(\.(session|has_word))?",
            "a field with the same value in all control words",
        ),
    ),
    "nmc_unit": ((r"toggle .*\.largest", "bits that are set in the infinities of all formats"),),
    "trigger": (
        (r"toggle trigger\.follow", "a register with two states that differ in one bit"),
        (
            r"toggle trigger\.groups\.(words?|fixed|\$signature__data\$\d+\.word)",
            "high bits of a count: few groups are that large, and none needs the last bit",
        ),
        (
            r"toggle trigger\.(lookup\.)?tile(\$\d+)?(\.owner)?",
            "a trigger unit receives the tiles of its own context only",
        ),
    ),
    "registers": (
        (r"toggle .*\bbus__[br]resp", "the responses OKAY and SLVERR differ in one bit"),
        (
            rf"toggle registers\.{_CONTEXT}launch_configuration(\$\d+)?\.(credit|command)_window",
            "a launch whose window exceeds the capacity of the hardware is refused",
        ),
        (
            r"toggle registers\.\S*(copies\S*|\.o__payload)\.region(\.enable)?",
            _OFF,
        ),
    ),
    "tracker_bank": (
        (r"toggle tracker_bank\.code", CODES),
        (r"toggle tracker_bank\.announced", "a number of atoms in the width of a balance"),
        (
            r"toggle .*\b(known|old|stored)\b.*",
            "only the added and compared fields of an entry pass to the next stage",
        ),
    ),
    "dma_engine": (
        (r"toggle .*\b[ab]__payload", "a constant that distinguishes the two inputs"),
        (
            r"toggle .*\b(wave_)?rest",
            "with four walkers, a step leaves a wavefront by no row, one row or four rows",
        ),
        (r"toggle dma_engine\.inner_before", "no offset of a wavefront reaches this bit"),
    ),
    "map_table": (
        (
            r"toggle map_table\.(copies.*|o__payload)\.region(\.enable)?",
            _OFF,
        ),
    ),
    "credit_window": (
        (
            r"toggle credit_window\.launch_configuration\.credit_window",
            "no credit window exceeds the number of dispatch indices that the unit stores",
        ),
        (
            r"toggle credit_window\.command_end",
            "issued workgroups lie between the first tracked dispatch index and the last one",
        ),
    ),
    "tracker_front": (
        (
            r"toggle .*\b([ab]__payload|ends__\d__payload)\b.*",
            "an end-of-tile marker carries no atom and no count, an update no size and no edges",
        ),
    ),
    "dma_lane": (
        (rf"toggle .*\breads(__payload\.({_REQUEST})|\.storage)", OF_A_STREAM),
        (r"toggle dma_lane\.index", "an index is smaller than the number of atoms of a segment"),
    ),
    "issue_ack_queue": (
        (
            r"(line|toggle) .*(entries|taken|joins|\d+ if).*",
            "nothing merges with the last entry: a queue that uses it is full",
        ),
    ),
    "round_robin": (
        (r"toggle round_robin\.(merge1__)?clock_enable", "a merge of one input has no state"),
    ),
}
"""Waivers by block name: pattern of the point and reason."""
