"""The tracker's rooms sleep: a clock while one is not awake changes nothing in it."""

from dataclasses import replace

from rtl.interface.layouts import Completion
from rtl.lib.round_robin import Merge
from rtl.parameters import T3Parameters
from rtl.tracker.bank import TrackerBank
from rtl.tracker.front import TrackerFront

from .sleep import sleeps

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
    address_bits=7,
    regions=1,
)
_BANK = "2 contexts, 2 sets of 2 entries"
_FRONT = "2 channels, 2 contexts, 2 banks"

PROOFS = (
    # Whether a row is at rest follows from the two cycles before.
    replace(
        sleeps("tracker-bank", "a bank of the tracker", TrackerBank, _P, geometry=_BANK), depth=3
    ),
    sleeps("tracker-front", "the tracker's front", TrackerFront, _P, geometry=_FRONT),
    sleeps(
        "tracker-merge", "the merge of completions", Merge, Completion(_P), 3, geometry="3 streams"
    ),
)
