"""Contributions of launches, from their maps: waits for credit that must not form a circle."""

from collections.abc import Sequence

from .launch_map import TrackedSchedule
from .slots import Contributions, Entry

__all__ = ["launch_contributions"]


def launch_contributions(
    tracked: TrackedSchedule, sizes: Sequence[int], group: int = 1
) -> Contributions:
    """List the contributions of all ranks' launches to tracked slots, which count from the first
    one of each rank.

    Parameters
    ----------
    sizes : sequence of int
        Workgroups of the chunk of each owner.
    group : int
        Slots of a range that trigger together, from its first one on.
    """
    maps = [tracked.map(sizes, rank) for rank in range(len(sizes))]
    stores: list[list[Entry]] = [[] for _ in maps]
    sends: list[dict[int, Entry]] = [{} for _ in maps]
    together: list[dict[int, tuple[int, ...]]] = [{} for _ in maps]
    for rank, one in enumerate(maps):
        first = 0
        for mapped in one.ranges:
            end = first + mapped.workgroups
            for slot in range(first, end):
                leaves = tuple(
                    (to, slot + mapped.slot_offset - maps[to].first_slot) for to in mapped.to
                )
                made = one.base <= slot < one.dispatch_end
                here = slot - one.first_slot
                if made:
                    stores[rank].append(((rank, here),) if mapped.shares else leaves)
                if mapped.shares and leaves:
                    sends[rank][here] = leaves
                    from_first = slot - (slot - first) % group
                    members = range(from_first, min(from_first + group, end))
                    together[rank][here] = tuple(m - one.first_slot for m in members if m != slot)
            first = end
    return Contributions(stores, sends, together if group > 1 else ())
