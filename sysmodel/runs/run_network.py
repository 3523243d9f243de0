"""Network of a run: the links between its GPUs, and who sends over which of them."""

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from itertools import permutations
from typing import Any

from sysmodel.collectives.algorithm import Algorithm
from sysmodel.collectives.check import check
from sysmodel.collectives.group import Group
from sysmodel.collectives.registry import algorithm, library_algorithm
from sysmodel.collectives.schedule import Expanded, Operation, expanded
from sysmodel.config.library import Protocol
from sysmodel.config.system import System
from sysmodel.lib.errors import InputError
from sysmodel.lib.neighbours import downstream
from sysmodel.machine.sampling import why_not_alike
from sysmodel.network.expansion import expand
from sysmodel.network.fabric import Fabric, Sender
from sysmodel.network.invariance import why_not_invariant
from sysmodel.network.load import load_of
from sysmodel.network.switching import require_switches

__all__ = ["RunNetwork"]

_Pair = tuple[int, int]
_HALVES: tuple[Operation, ...] = ("reduce-scatter", "all-gather")


class RunNetwork:
    """Topology of a system for a number of GPUs, with the collectives of its library.

    T3 sends to the neighbour downstream. The library's algorithm is the system's, or else the
    topology's.

    Parameters
    ----------
    gpus : int
        GPUs of the run; a single one has the links of two, which it does not use.

    Raises
    ------
    InputError
        The number of GPUs does not fit the topology or the algorithm, no such algorithm is known,
        or the topology has no link or switch that T3 or the library needs.
    """

    def __init__(self, system: System, gpus: int):
        self.system, self.gpus = system, max(2, gpus)
        self.topology = system.topology
        self.topology.check_gpus(self.gpus, "tp")
        self.fabric: Fabric = expand(self.topology, self.gpus, system.link)
        self.algorithm = library_algorithm(self.topology, system.collective.algorithm)
        self._schedules: dict[tuple[Operation, str], Expanded] = {}
        self._require(self._neighbours)
        for operation in _HALVES:
            self.schedule(operation)

    def schedule(self, operation: Operation, name: str | None = None) -> Expanded:
        """Schedule of an operation, by an algorithm other than the library's unless that is None.

        Raises
        ------
        InputError
            See the class.
        """
        one = self.algorithm if name is None else algorithm(name, "algorithm")
        key = operation, one.name
        if key not in self._schedules:
            schedule = self._expanded(one, operation)
            check(schedule)
            require_switches(self.fabric, schedule)
            self._require(_pairs(schedule))
            self._schedules[key] = schedule
        return self._schedules[key]

    def _expanded(self, one: Algorithm, operation: Operation) -> Expanded:
        try:
            return expanded(one.schedule(operation, self.gpus))
        except InputError as error:
            if error.field != "ranks":
                raise
            raise InputError("tp", f"{error.problem} (algorithm {one.name})") from error

    def _require(self, pairs: Iterable[_Pair]) -> None:
        """Require a way for each pair of GPUs."""
        for pair in pairs:
            self.fabric.routes(*pair)

    def require_direct(self, name: str) -> None:
        """Require a way between all GPUs that no other GPU forwards, for a configuration.

        Raises
        ------
        InputError
            Two GPUs have no such way.
        """
        if pair := self.indirect_pair:
            raise InputError(
                "configurations",
                f"{name} stores from each GPU to each other one, and {self.fabric.name} has no "
                f"direct way from GPU {pair[0]} to GPU {pair[1]}; allowed: a topology with "
                "direct ways between all GPUs, such as switch or fully-connected",
            )

    @cached_property
    def indirect_pair(self) -> _Pair | None:
        """First two GPUs between which others forward packets; None if all ways are direct."""
        pairs = permutations(range(self.gpus), 2)
        return next((pair for pair in pairs if not self._is_direct(pair)), None)

    def _is_direct(self, pair: _Pair) -> bool:
        fabric = self.fabric
        with suppress(InputError):
            passed = {link for route in fabric.routes(*pair) for link in route[:-1]}
            return not any(fabric.is_gpu(fabric.links[link].target) for link in passed)
        return False

    @cached_property
    def peers_share_links(self) -> bool:
        """True if a GPU sends to all others over the same links."""
        links: dict[int, set[frozenset[int]]] = {}
        for gpu, peer in permutations(range(self.gpus), 2):
            first = frozenset(route[0] for route in self.fabric.routes(gpu, peer))
            links.setdefault(gpu, set()).add(first)
        return all(len(one) == 1 for one in links.values())

    @property
    def _neighbours(self) -> list[_Pair]:
        return [(gpu, int(downstream(gpu, self.gpus))) for gpu in range(self.gpus)]

    @property
    def _library_pairs(self) -> set[_Pair]:
        """Pairs between which the library sends."""
        return set().union(*(_pairs(self.schedule(one)) for one in _HALVES))

    def every_gpu_because(self, schedules: Iterable[Expanded]) -> str | None:
        """Find the reason for which one GPU cannot stand for all that run some schedules; None if
        it can."""
        reason = why_not_alike(self.fabric)
        for one in schedules:
            reason = reason or why_not_invariant(self.fabric, Group((self.gpus,)), one)
            if reason is None and not set(_pairs(one)) <= set(self._neighbours):
                reason = f"{one.name} sends to several neighbours"
        return reason

    @cached_property
    def t3_links(self) -> list[int]:
        """Links of the GPU with the most links over which T3 sends."""
        return self._links(self._neighbours)

    @cached_property
    def library_links(self) -> list[int]:
        """Links of the GPU with the most links over which the library sends."""
        return self._links(self._library_pairs)

    def _links(self, pairs: Iterable[_Pair]) -> list[int]:
        links: list[set[int]] = [set() for _ in range(self.gpus)]
        for gpu, peer in pairs:
            links[gpu] |= {route[0] for route in self.fabric.routes(gpu, peer)}
        most = max(links, key=len)
        return sorted(most)

    @cached_property
    def t3_gb_per_s(self) -> float:
        """Line rate at which a GPU sends in T3's reduce-scatter."""
        return self._rate(self._tracked, "line")

    @cached_property
    def library_gb_per_s(self) -> float:
        """Line rate at which a GPU sends in the library's reduce-scatter."""
        return self._rate(self.schedule("reduce-scatter"), "line")

    @cached_property
    def stores_gb_per_s(self) -> float:
        """Rate of payload at which a GPU sends in the library's reduce-scatter, by plain stores."""
        return self._rate(self.schedule("reduce-scatter"), "stores")

    def protocol(self, chunk_bytes: float) -> Protocol:
        """Protocol of the library for chunks of the output."""
        return self.system.collective.protocol(chunk_bytes, self.gpus, self.stores_gb_per_s)

    def as_dict(self) -> dict[str, Any]:
        """Links of a GPU over which T3 and the library send, and the line rates at which they do,
        for ``result.json``."""
        return {
            "algorithm": self.algorithm.name,
            "t3_links": len(self.t3_links),
            "t3_gb_per_s": self.t3_gb_per_s,
            "library_links": len(self.library_links),
            "library_gb_per_s": self.library_gb_per_s,
        }

    @cached_property
    def unused(self) -> str | None:
        """Sentence on links that the library uses and T3 does not; None if there are none."""
        given = self.as_dict()
        if given["t3_gb_per_s"] >= given["library_gb_per_s"]:
            return None
        return (
            f"T3 sends to one neighbour: over {given['t3_links']} of the "
            f"{given['library_links']} links of a GPU that the library's "
            f"{given['algorithm']} uses, at {given['t3_gb_per_s']:g} of "
            f"{given['library_gb_per_s']:g} GB/s."
        )

    @cached_property
    def slowest_gb_per_s(self) -> float:
        """Lower of the rates of payload at which a GPU sends in a reduce-scatter: T3, or the
        library."""
        return min(self._rate(self._tracked, "t3"), self.stores_gb_per_s)

    @cached_property
    def _tracked(self) -> Expanded:
        """Reduce-scatter of the T3 hardware."""
        return expanded(algorithm("ring").schedule("reduce-scatter", self.gpus))

    def _rate(self, schedule: Expanded, sender: Sender) -> float:
        """Rate of a GPU, where the busiest link of each stage binds."""
        load = load_of(self.fabric, schedule, 1.0 / schedule.parts)
        return (self.gpus - 1) / load.busy_ns(sender)


def _pairs(schedule: Expanded) -> set[_Pair]:
    """Pairs of GPUs between which a schedule sends."""
    stages = (schedule.sends(stage) for stage in range(len(schedule.flows)))
    return {(rank, peer) for stage in stages for rank, peer, _ in stage}
