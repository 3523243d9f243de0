"""Events of tiles: issue acknowledgements, updates, markers and completions."""

from sysmodel.lib.compiled import inlined

from ..records import Record
from .markers import copy_marker

__all__ = [
    "add_update",
    "make_arrived_marker",
    "make_candidate",
    "make_completion",
    "make_issue_ack",
    "make_marker",
    "make_tile",
    "make_updates",
]


@inlined
def make_issue_ack(to: Record, atom: int, owner: int, dispatch_index: int, wavefront: int) -> None:
    """Make an issue acknowledgement of an update."""
    to.atom = atom
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront


@inlined
def make_updates(to: Record, atom: int, owner: int, dispatch_index: int, wavefront: int) -> None:
    """Make an event of one update of a tile."""
    to.atom = atom
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = wavefront
    to.count = 1


@inlined
def add_update(event: Record, atom: int) -> None:
    """Add one more update to an event of its tile."""
    event.count += 1
    event.atom = min(event.atom, atom)


@inlined
def make_marker(to: Record, owner: int, store: Record) -> None:
    """Make the tracker's event of an end-of-tile marker."""
    to.end = 1
    to.owner = owner
    to.dispatch_index = store.dispatch_index
    to.wavefront = store.wavefront
    to.atom = 0
    to.count = 0
    to.total = store.total
    copy_marker(to, store)


@inlined
def make_arrived_marker(
    config: Record, to: Record, owner: int, dispatch_index: int, packet: Record, shares: int
) -> None:
    """Make the tracker's event of an END packet in a range of ``shares``."""
    to.end = 1
    to.owner = owner
    to.dispatch_index = dispatch_index
    to.wavefront = packet.wavefront
    to.atom = 0
    to.count = 0
    above = packet.atom >> config.tile_atom_bits
    to.tile_atoms = packet.atom & (1 << config.tile_atom_bits) - 1
    to.outer_edge, to.inner_edge = above & 1, above >> 1 & 1
    to.shares = above >> 2 & config.share_mask
    to.total = shares


@inlined
def make_tile(to: Record, updates: Record) -> None:
    """Make the tracker's event of issued updates."""
    to.end = 0
    to.owner = updates.owner
    to.dispatch_index = updates.dispatch_index
    to.wavefront = updates.wavefront
    to.atom = updates.atom
    to.count = updates.count
    to.tile_atoms = 0
    to.outer_edge = 0
    to.inner_edge = 0
    to.shares = 0
    to.total = 0


@inlined
def make_candidate(to: Record, bank: int) -> None:
    """Set the tracker bank of a candidate whose tile is already set."""
    to.bank = bank


@inlined
def make_completion(to: Record, tile: Record, start: int, outer_edge: int, inner_edge: int) -> None:
    """Make the completion of a tile."""
    to.owner = tile.owner
    to.dispatch_index = tile.dispatch_index
    to.wavefront = tile.wavefront
    to.start = start
    to.outer_edge = outer_edge
    to.inner_edge = inner_edge
