"""Invariance of fabric and schedule under a group of ranks, by which one GPU can stand for all.

If every shift of the ranks maps the links one to one onto links of equal values, and the routes
onto routes, then all GPUs see the same network. If it also maps the flows of each rank onto those
of the shifted rank, then all GPUs do the same, and one of them is simulated.
"""

from collections.abc import Iterable, Iterator

from sysmodel.collectives.group import Group
from sysmodel.collectives.schedule import Expanded
from sysmodel.lib.errors import InputError

from .fabric import Fabric

__all__ = ["why_not_invariant"]


def why_not_invariant(
    fabric: Fabric,
    group: Group,
    schedule: Expanded | None = None,
    pairs: Iterable[tuple[int, int]] | None = None,
) -> str | None:
    """Find the reason for which one GPU cannot stand for all; None if it can.

    Parameters
    ----------
    group : Group
        Group whose elements shift the ranks.
    schedule : Expanded or None
        Schedule that must be invariant, too; only the routes that it uses are compared. Without a
        schedule, the routes between all GPUs are.
    pairs : iterable of pairs or None
        Senders and receivers between which the routes are compared, instead of these.
    """
    if group.ranks != fabric.gpus:
        return f"the group has {group.ranks} ranks, {fabric.name} {fabric.gpus} GPUs"
    if schedule is not None and schedule.ranks != fabric.gpus:
        return f"the schedule has {schedule.ranks} ranks, {fabric.name} {fabric.gpus} GPUs"
    compared = list(pairs) if pairs is not None else list(_pairs(fabric, schedule))
    # Every element is a sum of these: if their mappings hold, so do all others.
    for shift in _generators(group):
        reason = _other_flows(schedule, group, shift) if schedule else None
        reason = reason or _Mapping(fabric, group, shift).extend(compared)
        if reason:
            return reason
    return None


def _generators(group: Group) -> Iterator[int]:
    """Yield an element for each digit of a group, which counts that digit."""
    for place, size in enumerate(group.sizes):
        if size > 1:
            yield group.rank(tuple(int(place == other) for other in range(len(group.sizes))))


def _pairs(fabric: Fabric, schedule: Expanded | None) -> Iterable[tuple[int, int]]:
    """Pairs of GPUs between which a schedule sends, or all of them."""
    if schedule is None:
        ranks = range(fabric.gpus)
        return ((source, destination) for source in ranks for destination in ranks)
    sends = (schedule.sends(stage) for stage in range(len(schedule.flows)))
    return sorted({(rank, peer) for stage in sends for rank, peer, _ in stage})


def _other_flows(schedule: Expanded, group: Group, shift: int) -> str | None:
    """Describe the first rank whose flows are not those of the rank before the shift."""
    for stage, flows in enumerate(schedule.flows):
        for rank, own in enumerate(flows):
            shifted = group.add(rank, shift)
            if tuple(flow.shifted(group, shift) for flow in own) != flows[shifted]:
                return (
                    f"in stage {stage} of {schedule.name}, rank {shifted} does other than rank "
                    f"{rank}, shifted by {shift}"
                )
    return None


class _Mapping:
    """Mapping of the links that a shift of the ranks induces."""

    def __init__(self, fabric: Fabric, group: Group, shift: int):
        self._fabric, self._group, self._shift = fabric, group, shift
        self._image: dict[int, int] = {}
        self._origin: dict[int, int] = {}

    def extend(self, pairs: Iterable[tuple[int, int]]) -> str | None:
        """Map the routes of pairs of GPUs; return the reason for which one has no image."""
        for source, destination in pairs:
            begin, end = (self._group.add(gpu, self._shift) for gpu in (source, destination))
            for channel in range(self._fabric.planes):
                way = self._route(source, destination, channel)
                reason = self._map(way, self._route(begin, end, channel))
                if reason:
                    one, two = f"{source} to {destination}", f"{begin} to {end}"
                    return (
                        f"the way from GPU {one}, shifted by {self._shift}, is not that from GPU "
                        f"{two}: {reason}"
                    )
        return None

    def _route(self, source: int, destination: int, channel: int) -> tuple[int, ...] | None:
        try:
            return self._fabric.route(source, destination, channel)
        except InputError:
            return None

    def _map(self, way: tuple[int, ...] | None, image: tuple[int, ...] | None) -> str | None:
        if way is None or image is None:
            return None if way is image else "one of them does not exist"
        if len(way) != len(image):
            return f"it has {len(image)} links, not {len(way)}"
        for link, other in zip(way, image, strict=True):
            reason = self._unequal(link, other)
            if reason:
                return reason
            if self._image.setdefault(link, other) != other:
                return f"{self._name(link)} would be both {self._names(self._image[link], other)}"
            if self._origin.setdefault(other, link) != link:
                return f"{self._names(self._origin[other], link)} would both be {self._name(other)}"
        return None

    def _unequal(self, link: int, other: int) -> str | None:
        """Describe the difference between the values of two links and the switches behind them."""
        one, two = self._fabric.links[link], self._fabric.links[other]
        if one.values == two.values and one.latency_ns == two.latency_ns:
            ends = [self._fabric.switch_at(end.target) for end in (one, two)]
            if one.switch == two.switch and ends[0] == ends[1]:
                return None
            return f"{self._names(link, other)} have unlike switches"
        both = [
            f"{self._name(number)} has {values.bandwidth_gb_per_s:g} GB/s and "
            f"{self._fabric.links[number].latency_ns:g} ns"
            for number, values in ((link, one.values), (other, two.values))
        ]
        return ", ".join(both)

    def _names(self, link: int, other: int) -> str:
        return f"{self._name(link)} and {self._name(other)}"

    def _name(self, link: int) -> str:
        found = self._fabric.links[link]
        return f"link {link} from {found.source} to {found.target}"
