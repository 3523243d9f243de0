"""Transfers by copy engines between GPUs that all do the same at the same time."""

from collections.abc import Iterator

from sysmodel.config.system import System
from sysmodel.network.fabric import Fabric

__all__ = ["Copies"]


class Copies:
    """Event model of the links that the GPUs' copy engines use.

    GPU g sends to GPU g + 1, then to g + 2, and so on, all GPUs at the same time. A link transfers
    the bytes of one distance after those of another, in the order of the calls, at the copy
    engines' share of its rate. A transfer holds every link of its way from its first to its last
    byte. An engine is free for each transfer. Left out are the memories and the other traffic on
    the links, which would only delay the copies.
    """

    def __init__(self, system: System, fabric: Fabric):
        self._engine, self._fabric = system.copy_engine, fabric
        self._free_ns = [0.0] * len(fabric.links)

    def send(self, distance: int, copied_bytes: float, ready_ns: float) -> float:
        """Copy so many bytes from each GPU to the one at a distance, from a time on; return the
        time of their arrival."""
        busy_ns = self._busy_ns(distance, copied_bytes)
        begin_ns = max(
            ready_ns + self._engine.copy_ns, *(self._free_ns[link] for link in busy_ns), 0.0
        )
        for link, time_ns in busy_ns.items():
            self._free_ns[link] = begin_ns + time_ns
        return begin_ns + max(busy_ns.values()) + self._latency_ns(distance)

    def gather(self, chunk_bytes: float, ready_ns: float) -> list[float]:
        """Copy a chunk of each GPU to all others; return the times at which a GPU has each chunk,
        its own first."""
        distances = range(1, self._fabric.gpus)
        return [ready_ns, *(self.send(one, chunk_bytes, ready_ns) for one in distances)]

    def _busy_ns(self, distance: int, copied_bytes: float) -> dict[int, float]:
        """Time in which each link on the ways transfers the bytes of all GPUs."""
        fabric, found = self._fabric, dict[int, float]()
        for route in self._routes(distance):
            for number in route:
                line = fabric.links[number].values.bandwidth_gb_per_s
                time_ns = copied_bytes / (line * self._engine.payload_share * fabric.planes)
                found[number] = found.get(number, 0.0) + time_ns
        return found

    def _latency_ns(self, distance: int) -> float:
        return max(self._fabric.latency_ns(route) for route in self._routes(distance))

    def _routes(self, distance: int) -> Iterator[tuple[int, ...]]:
        gpus = self._fabric.gpus
        for gpu in range(gpus):
            yield from self._fabric.routes(gpu, (gpu + distance) % gpus)
