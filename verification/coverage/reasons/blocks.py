"""Reasons for the holes of blocks that are not made of others."""

from collections.abc import Mapping

from .phrases import CODES, OF_A_STREAM

__all__ = ["BLOCKS"]

_REQUEST = "data|tag|owner|dispatch_index|wavefront|access|dtype|op|origin"

_OFF = "no copy is of a region that is off"
_CONTEXT = r"(context_\d\.)?context__(\d__)?"  # of its ports, in the registers

BLOCKS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "link_endpoint": (
        (
            r"toggle .*(\breserved|\bbody(\.\w+)?|\.(stamp|receiver)\.i(__payload)?|\bcrc\.i)",
            "reserved bits, always 0",
        ),
        (r"toggle link_endpoint\.[ab]\.i__0__payload", "reserved bits, always 0"),
        (
            r"(line|toggle) .*\.([ab]\.step|idle_timer\.(step|awake|\d+ else))",
            "it counts on in every cycle",
        ),
        (
            r"toggle .*\.arrivals\.(i__ready|stored)",
            "all that comes has room in this memory, which is never full",
        ),
        (r"toggle .*\b[ab]\.state\b.*", "no word without a number"),
        (
            r"toggle .*\.teller\.control(\.(session|told))?",
            "what is the same for all words",
        ),
    ),
    "nmc_unit": ((r"toggle .*\.largest", "bits that the infinities of all formats have"),),
    "trigger": (
        (r"toggle trigger\.follow", "two of the states, which differ in one bit"),
        (
            r"toggle trigger\.groups\.(words?|fixed|\$signature__data\$\d+\.word)",
            "bits of large counts: few large groups begin at a row, and none needs the last bit",
        ),
        (
            r"toggle trigger\.(lookup\.)?tile(\$\d+)?(\.owner)?",
            "only its own context's tiles come to a unit",
        ),
    ),
    "registers": (
        (r"toggle .*\bbus__[br]resp", "OKAY and SLVERR, which differ in one bit"),
        (r"toggle .*\bbus__arprot", "who reads does not count"),
        (
            rf"toggle registers\.{_CONTEXT}launch_configuration(\$\d+)?\.(credit|command)_window",
            "a launch with a window that the hardware has no room for does not begin",
        ),
        (
            r"toggle registers\.\S*(copies\S*|\.o__payload)\.region(\.enable)?",
            _OFF,
        ),
    ),
    "tracker_bank": (
        (r"toggle tracker_bank\.code", CODES),
        (r"toggle tracker_bank\.threshold", "no tile of this geometry has so many atoms"),
        (
            r"toggle .*\b(known|old|stored)\b.*",
            "of an entry, only what is added up or compared is carried on",
        ),
    ),
    "dma_engine": (
        (r"toggle .*\b[ab]__payload", "a constant, which tells the two apart"),
        (
            r"toggle .*\b(wave_)?rest",
            "of four walkers: rows beyond whole wavefronts in a step are none, one or all four",
        ),
        (r"toggle dma_engine\.inner_before", "a bit that no wavefront is shifted to"),
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
            "no credit window has more dispatch indices than are remembered",
        ),
        (
            r"toggle credit_window\.command_end",
            "what is issued began at the first tracked dispatch index and ends before the last",
        ),
    ),
    "tracker_front": (
        (
            r"toggle .*\b([ab]__payload|ends__\d__payload)\b.*",
            "an end-of-tile marker has no atom and no count, an update no atoms and no edges",
        ),
    ),
    "dma_lane": (
        (rf"toggle .*\breads(__payload\.({_REQUEST})|\.storage)", OF_A_STREAM),
        (r"toggle dma_lane\.index", "an index is less than the atoms of a segment"),
    ),
    "issue_ack_queue": (
        (
            r"(line|toggle) .*(entries|taken|joins|\d+ if).*",
            "nothing joins the last entry: a queue that has it is full",
        ),
    ),
    "round_robin": (
        (r"toggle round_robin\.(merge1__)?awake", "one input: there is nothing to remember"),
    ),
}
"""By the block's name."""
