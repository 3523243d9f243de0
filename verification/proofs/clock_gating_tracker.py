"""Proofs of clock gating in the tracker."""

from dataclasses import replace

from rtl.interface.layouts import Completion
from rtl.lib.round_robin import Merge
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank
from rtl.tracker.front import TrackerFront

from .clock_gating import clock_gating

__all__ = ["PROOFS"]

_P = T3Parameters(
    channels=2,
    system_channels=2,
    contexts=2,
    banks=2,
    sets=4,
    ways=2,
    wavefronts=2,
    workgroup_bits=3,
    tile_atom_bits=2,
    share_bits=2,
    address_bits=11,
    regions=1,
)
_BANK = "2 contexts, 2 sets of 2 entries"
_FRONT = "2 channels, 2 contexts, 2 banks"

PROOFS = (
    # The state of a row depends on the two previous cycles.
    replace(
        clock_gating("tracker-bank", "a tracker bank", TrackerBank, _P, geometry=_BANK), depth=3
    ),
    clock_gating("tracker-front", "the tracker front", TrackerFront, _P, geometry=_FRONT),
    clock_gating(
        "tracker-merge", "the merge of completions", Merge, Completion(_P), 3, geometry="3 streams"
    ),
)
