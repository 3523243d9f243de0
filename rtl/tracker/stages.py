"""Signals of the last two pipeline stages of a tracker bank."""

from dataclasses import dataclass

from amaranth.hdl import Signal
from amaranth.lib import data

from rtl.parameters import T3Parameters

__all__ = ["Compare", "UpdateResult", "Update"]


@dataclass(frozen=True)
class Compare:
    """Signals of the compare stage: the row after the event two ahead, and the tile's entry in
    it."""

    two_ahead_in_set: Signal  # register: the event two ahead is in the same set
    rewritten: Signal  # per way: written by the event two ahead
    valid: Signal  # per way
    hits: Signal  # per way: the tile's entry in the row as read
    result_hits: Signal  # the event two ahead has written the tile's entry
    hit: Signal
    stored: Signal  # the tile's entry; without a hit, neutral values for sum and comparison

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
        )


@dataclass(frozen=True)
class Update:
    """Registers of the update stage: the result of the comparison, and the effect of the event one
    ahead."""

    follows_set: Signal  # the event one ahead is in the same set
    # The event one ahead has written the tile's entry, freed it, or not written it.
    forwarded: Signal
    freed_ahead: Signal
    stands_alone: Signal
    old_hit: Signal
    old_ways: Signal
    old_free: Signal
    allowed: Signal  # ways that the tile may use
    old: Signal
    change: Signal  # change of the balance; for an end-of-tile marker without the carry
    no_share: Signal
    lossy: Signal  # an entry of the set was lost, in a way of the event's context

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
            no_share=Signal(name="no_share"),
            lossy=Signal(name="lossy"),
        )


@dataclass(frozen=True)
class UpdateResult:
    """Effect of the event in the update stage."""

    found: Signal
    free: Signal  # per way
    known: Signal  # the entry before the event
    zero: Signal  # the new balance is zero
    negative: Signal  # the new balance is negative
    full: Signal  # the tile has no entry, and its set has no space
    keep: Signal  # the entry is not written
    excess: Signal  # too many shares, or more updates than all markers announce
    above: Signal  # the tile is in excess, or its count is too large
    freed: Signal  # the entry is freed
    complete: Signal

    @classmethod
    def of(cls, p: T3Parameters, entry: data.StructLayout) -> "UpdateResult":
        return cls(
            found=Signal(name="found"),
            free=Signal(p.ways, name="free"),
            known=Signal(entry, name="known"),
            zero=Signal(name="zero"),
            negative=Signal(name="negative"),
            full=Signal(name="full"),
            excess=Signal(name="excess"),
            keep=Signal(name="keep"),
            above=Signal(name="above"),
            freed=Signal(name="freed"),
            complete=Signal(name="complete"),
        )
