"""Address map: the region of an atom, and the range of a dispatch index."""

from rtl.interface.encodings import Action
from sysmodel.lib.compiled import inlined

from ..index import natural
from ..payloads.accesses import make_location
from ..records import Record, Records
from ..state import GoldenState

__all__ = [
    "action_of",
    "has_wavefront",
    "is_aborted",
    "is_tracked",
    "locate",
    "range_of",
]

_NONE, _REMOTE = Action.NONE.value, Action.REMOTE.value
_DMA, _OWN = Action.DMA.value, Action.OWN.value


@inlined
def is_tracked(action: int, shares: int) -> bool:
    """Return whether the tracker counts the tiles of a range."""
    return action == _DMA or action == _OWN or (action == _REMOTE and shares != 0)


@inlined
def range_of(
    count: int, ranges: Records, context: int, region: int, dispatch_index: int, tracked: bool
) -> int:
    """Return the number of the context's lowest enabled range with a dispatch index, or -1.

    Parameters
    ----------
    count : int
        Ranges of a context.
    region : int
        Region of the range; -1 for any.
    tracked : bool
        The tracker counts the range's tiles.
    """
    for index in range(count):
        entry = ranges[context, index]
        if (
            entry.enable
            and entry.first <= dispatch_index <= entry.last
            and (region < 0 or entry.region == region)
            and (not tracked or is_tracked(entry.action, entry.shares))
        ):
            return index
    return -1


@inlined
def _slots(own: Record) -> int:
    """Return the end of the dispatch indices and slots of the launch."""
    workgroups, end = own.launch.workgroups, own.launch.tracked_end
    return end if workgroups < end else workgroups


@inlined
def locate(
    s: GoldenState, location: Record, atom: int, context: int, dispatch_index: int, end: bool
) -> bool:
    """First step of the lookup: find the region of a store or a packet.

    Parameters
    ----------
    end : bool
        The request is the end-of-tile marker of a packet, which has no atom.

    Returns
    -------
    bool
        A context owns the address space.
    """
    owner = -1
    for number in range(s.config.contexts):
        space = s.contexts[number].address_space
        if space.enable and space.local == context:
            owner = number
            break
    if owner >= 0 and end:
        own = s.contexts[owner]
        valid = dispatch_index < _slots(own)
        make_location(location, owner, True, own.aborted == 0, 0, valid)
        return True
    if owner >= 0:
        for index in range(s.config.regions):
            region = s.regions[owner, index]
            if region.base <= atom < region.limit and region.enable:
                own = s.contexts[owner]
                valid = dispatch_index < _slots(own)
                make_location(location, owner, True, own.aborted == 0, index, valid)
                return True
    make_location(location, natural(max(owner, 0)), False, False, 0, False)
    return owner >= 0


@inlined
def action_of(
    s: GoldenState, location: Record, dispatch_index: int, end: bool
) -> tuple[int, int, int]:
    """Second step of the lookup: find the range; that of a packet's end-of-tile marker is tracked,
    and of any region.

    Returns
    -------
    action : int
    number, shares : int
        Number of the range, and the shares of its tiles, if there is an action.
    """
    if location.valid:
        owner = natural(location.owner)
        region = -1 if end else location.region
        index = range_of(s.config.ranges, s.ranges, owner, region, dispatch_index, end)
        if index >= 0:
            entry = s.ranges[owner, index]
            return entry.action, index, entry.shares
    return _NONE, 0, 0


@inlined
def has_wavefront(command: Record, wavefront: int) -> bool:
    """Return whether a command has the wavefront in some workgroup, at an edge or elsewhere."""
    for edges in range(4):
        if wavefront < command.waves[edges]:
            return True
    return False


@inlined
def is_aborted(own: Record, location: Record) -> bool:
    """Return whether a request belongs to an aborted launch, or did when it arrived."""
    return location.mapped and (own.aborted or not location.counted)
