"""Load of a schedule on a fabric: bytes on every link, and the least time that they take."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sysmodel.collectives.schedule import Chunk, Expanded, Flow

from .chains import chain_ns
from .fabric import Fabric, Sender

__all__ = ["Load", "StageLoad", "load_of"]

_Route = tuple[int, ...]


@dataclass(frozen=True)
class StageLoad:
    """Load of one stage.

    Parameters
    ----------
    link_bytes : tuple of float
        Payload on each link, by its number.
    head_ns, tail_ns : tuple of float
        Least latency of a packet before it enters a link, and from there to its receiver; 0 where
        no packet goes.
    chain_ns : float
        Latencies of the longest chain of packets, each of which waits for the one before.
    """

    fabric: Fabric = field(repr=False)
    link_bytes: tuple[float, ...]
    head_ns: tuple[float, ...]
    tail_ns: tuple[float, ...]
    chain_ns: float

    def busy_ns(self, link: int, sender: Sender) -> float:
        """Time in which a link transfers its bytes."""
        return self.link_bytes[link] / self.fabric.links[link].payload_bytes_per_ns(sender)

    def busiest(self, sender: Sender) -> int:
        """Number of the link that takes the longest time for its bytes."""
        return max(range(len(self.link_bytes)), key=lambda link: self.busy_ns(link, sender))

    def bound_ns(self, sender: Sender) -> float:
        """Lower bound of the stage's time, which neither a link nor a chain of packets can beat."""
        return Load((self,)).bound_ns(sender)


@dataclass(frozen=True)
class Load:
    """Load of a schedule, by stage."""

    stages: tuple[StageLoad, ...]

    @property
    def link_bytes(self) -> tuple[float, ...]:
        """Payload of all stages on each link, by its number."""
        return tuple(map(sum, zip(*(stage.link_bytes for stage in self.stages), strict=True)))

    def busy_ns(self, sender: Sender) -> float:
        """Time in which the busiest link of each stage transfers its bytes, without latencies."""
        return sum(stage.busy_ns(stage.busiest(sender), sender) for stage in self.stages)

    def bound_ns(self, sender: Sender) -> float:
        """Lower bound of the schedule's time, also if its stages overlap."""
        return max(*self._link_bounds_ns(sender), *(stage.chain_ns for stage in self.stages))

    def _link_bounds_ns(self, sender: Sender) -> Iterator[float]:
        """Yield a lower bound for each link, which transfers its bytes one after the other."""
        for number, sent in enumerate(self.link_bytes):
            using = [stage for stage in self.stages if stage.link_bytes[number]]
            head = min((stage.head_ns[number] for stage in using), default=0.0)
            tail = min((stage.tail_ns[number] for stage in using), default=0.0)
            rate = self.stages[0].fabric.links[number].payload_bytes_per_ns(sender)
            yield head + sent / rate + tail


def load_of(
    fabric: Fabric, schedule: Expanded, chunk_bytes: float | Callable[[Chunk], float]
) -> Load:
    """Find the load of a schedule, each channel of which carries an equal share of each chunk.

    Parameters
    ----------
    chunk_bytes : float or callable
        Bytes of each chunk, or a function of the chunk.

    Raises
    ------
    InputError
        The topology has no way from a sender to its receiver.
    ValueError
        The schedule and the fabric differ in the number of GPUs, or packets wait for each other in
        a circle.
    """
    if schedule.ranks != fabric.gpus:
        raise ValueError(f"a schedule of {schedule.ranks} ranks on {fabric.gpus} GPUs")
    stages = range(len(schedule.flows))
    return Load(tuple(_stage_load(fabric, schedule, stage, chunk_bytes) for stage in stages))


def _stage_load(
    fabric: Fabric,
    schedule: Expanded,
    stage: int,
    chunk_bytes: float | Callable[[Chunk], float],
) -> StageLoad:
    count = len(fabric.links)
    shares = [0.0] * count  # bytes times planes: exact for whole bytes
    heads: list[float | None] = [None] * count
    tails: list[float | None] = [None] * count
    summed: set[tuple[Chunk, int, int]] = set()
    for rank, flows in enumerate(schedule.flows[stage]):
        for flow in flows:
            size = chunk_bytes(flow.chunk) if callable(chunk_bytes) else chunk_bytes
            for channel in range(fabric.planes):
                routes = [fabric.route(rank, peer, channel) for peer in flow.to]
                if flow.merged and not flow.to:
                    routes = [fabric.turn(rank, channel)]
                for link, packets in _packets(fabric, flow, routes).items():
                    if flow.merged and _is_summed(fabric, link):
                        if (flow.chunk, channel, link) in summed:
                            continue
                        summed.add((flow.chunk, channel, link))
                    shares[link] += packets * size
                for route in routes:
                    _note_latencies(fabric, route, heads, tails)
    return StageLoad(
        fabric,
        tuple(share / fabric.planes for share in shares),
        tuple(head or 0.0 for head in heads),
        tuple(tail or 0.0 for tail in tails),
        chain_ns(fabric, schedule, stage),
    )


def _is_summed(fabric: Fabric, link: int) -> bool:
    """Test whether a link has a switch in front that adds packets."""
    switch = fabric.switch_at(fabric.links[link].source)
    return switch is not None and switch.reduces


def _note_latencies(
    fabric: Fabric, route: _Route, heads: list[float | None], tails: list[float | None]
) -> None:
    """Reduce the least latencies before and behind each link of a route."""
    before, behind = 0.0, fabric.latency_ns(route)
    for link in route:
        head, tail = heads[link], tails[link]
        heads[link] = before if head is None else min(head, before)
        tails[link] = behind if tail is None else min(tail, behind)
        before += fabric.links[link].latency_ns
        behind -= fabric.links[link].latency_ns


def _packets(fabric: Fabric, flow: Flow, routes: Sequence[_Route]) -> dict[int, int]:
    """Count the packets of each link that carry one piece of a chunk to all receivers.

    A multicast packet is one packet up to the last switch that can copy it for all receivers
    behind; any other vertex gets a packet for each receiver.
    """
    packets: dict[int, int] = {}
    ways = [route for route in routes if route]
    if not flow.multicast:
        for route in ways:
            for link in route:
                packets[link] = packets.get(link, 0) + 1
        return packets
    _copy(fabric, ways, packets)
    return packets


def _copy(fabric: Fabric, ways: Sequence[_Route], packets: dict[int, int]) -> int:
    """Count the packets of the links behind a vertex; return how many must reach the vertex if it
    does not copy."""
    branches: dict[int, list[_Route]] = {}
    for way in ways:
        if way:
            branches.setdefault(way[0], []).append(way[1:])
    needed = sum(not way for way in ways)
    for link, rest in branches.items():
        behind = _copy(fabric, rest, packets)
        switch = fabric.switch_at(fabric.links[link].target)
        count = 1 if switch is not None and switch.multicasts else behind
        packets[link] = packets.get(link, 0) + count
        needed += count
    return needed
