"""What the last two stages of a tracker bank know of their events."""

from dataclasses import dataclass

from amaranth.hdl import Signal
from amaranth.lib import data

from rtl.parameters import T3Parameters

__all__ = ["Compare", "Outcome", "Update"]


@dataclass(frozen=True)
class Compare:
    """Of the event in the comparison: the row, with what the event two ahead did, and the tile's
    entry in it."""

    two_ahead_in_set: Signal  # a register: the event two ahead is of the same set
    rewritten: Signal  # by way: by the event two ahead
    valid: Signal  # by way
    hits: Signal  # by way: the tile's entry, in the row as it is
    result_hits: Signal  # the event two ahead has written the tile's entry
    hit: Signal
    stored: Signal  # of an entry that is not there, only what is compared or added up matters
    threshold: Signal  # of an end-of-tile marker

    @classmethod
    def of(cls, p: T3Parameters, entry: data.StructLayout) -> "Compare":
        return cls(
            two_ahead_in_set=Signal(name="two_ahead_in_set"),
            rewritten=Signal(p.ways, name="rewritten"),
            valid=Signal(p.ways, name="valid"),
            hits=Signal(p.ways, name="hits"),
            result_hits=Signal(name="result_hits"),
            hit=Signal(name="hit"),
            stored=Signal(entry, name="stored"),
            threshold=Signal(p.count_bits + 1, name="threshold"),
        )


@dataclass(frozen=True)
class Update:
    """Of the event in the update stage, in registers: what the comparison found, and what the
    event one ahead does."""

    follows_set: Signal  # the one ahead is of the same set
    # The one ahead has left the tile's entry, or freed it, or has not written it.
    forwarded: Signal
    freed_ahead: Signal
    stands_alone: Signal
    old_hit: Signal
    old_ways: Signal
    old_free: Signal
    allowed: Signal  # ways in which the tile may find room
    old: Signal
    change: Signal  # without its carry, if an end-of-tile marker's
    no_atoms: Signal
    lossy: Signal  # an entry of the set is lost, in a way of the event's context

    @classmethod
    def of(cls, p: T3Parameters, entry: data.StructLayout) -> "Update":
        return cls(
            follows_set=Signal(name="follows_set"),
            forwarded=Signal(name="forwarded"),
            freed_ahead=Signal(name="freed_ahead"),
            stands_alone=Signal(name="stands_alone"),
            old_hit=Signal(name="old_hit"),
            old_ways=Signal(p.ways, name="old_ways"),
            old_free=Signal(p.ways, name="old_free"),
            allowed=Signal(p.ways, name="allowed"),
            old=Signal(entry, name="old", reset_less=True),
            change=Signal(p.count_bits + 1, name="change", reset_less=True),
            no_atoms=Signal(name="no_atoms"),
            lossy=Signal(name="lossy"),
        )


@dataclass(frozen=True)
class Outcome:
    """What the event in the update stage does."""

    found: Signal
    free: Signal  # by way
    known: Signal  # the entry before the event
    zero: Signal  # the new balance
    full: Signal  # the tile has no entry, and its set no room
    second: Signal  # end-of-tile marker
    keep: Signal  # nothing is written
    above: Signal  # the count is too large
    gone: Signal  # the entry is freed
    complete: Signal

    @classmethod
    def of(cls, p: T3Parameters, entry: data.StructLayout) -> "Outcome":
        return cls(
            found=Signal(name="found"),
            free=Signal(p.ways, name="free"),
            known=Signal(entry, name="known"),
            zero=Signal(name="zero"),
            full=Signal(name="full"),
            second=Signal(name="second"),
            keep=Signal(name="keep"),
            above=Signal(name="above"),
            gone=Signal(name="gone"),
            complete=Signal(name="complete"),
        )
