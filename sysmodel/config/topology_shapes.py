"""Kinds of topologies: the keys of a topology's file, and the numbers of GPUs that fit it."""

from math import prod
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from sysmodel.lib.errors import InputError

from .link import Link
from .schema import PowerOfTwo, Strict, integer, number, power_of_two, text

__all__ = [
    "LARGEST_GPUS",
    "FullyConnected",
    "Nodes",
    "Ring",
    "Switch",
    "Switched",
    "Topology",
    "Torus",
    "Wires",
]

LARGEST_GPUS = 512
"""Largest number of GPUs of a topology."""

_USUAL_GPUS = 8


class Wires(Strict):
    """Links of one kind; a value that is left out is the system's.

    Without a rate, the links of a GPU share the system's rate equally. ``port_gb_per_s`` is the
    rate that they share, ``bandwidth_gb_per_s`` the rate of each. ``port_links`` is the number of
    links that share the rate, also where fewer GPUs use fewer links. All rates are line rates of
    one direction.
    """

    bandwidth_gb_per_s: Annotated[float | None, number(0.1, 100_000)] = None
    port_gb_per_s: Annotated[float | None, number(0.1, 100_000)] = None
    port_links: Annotated[int | None, integer(1, LARGEST_GPUS)] = None
    latency_ns: Annotated[float | None, number(0, 1e7)] = None
    stores_payload_share: Annotated[float | None, number(0.01, 1)] = None
    t3_payload_bytes: Annotated[PowerOfTwo | None, power_of_two(32, 256)] = None
    t3_overhead_bytes: Annotated[int | None, integer(0, 256)] = None

    @model_validator(mode="after")
    def _one_rate(self) -> "Wires":
        for port in ("port_gb_per_s", "port_links"):
            if getattr(self, port) is not None and self.bandwidth_gb_per_s is not None:
                raise InputError(port, "is given with bandwidth_gb_per_s; allowed: one")
        return self

    def completed(self, system: Link, sharing: int, latency_ns: float) -> Link:
        """Complete these links with the values of a system's link.

        Parameters
        ----------
        sharing : int
            Links that leave a GPU and share its rate, unless ``port_links`` says how many do.
        latency_ns : float
            Latency of a link that gives none.
        """
        given = self.model_dump(exclude_none=True)
        links = given.pop("port_links", max(1, sharing))
        shared = given.pop("port_gb_per_s", system.bandwidth_gb_per_s) / links
        defaults = {"bandwidth_gb_per_s": shared, "latency_ns": latency_ns}
        return system.model_copy(update={**defaults, **given})


class Switch(Strict):
    """Switches of one kind: each of ``planes`` joins all GPUs.

    ``latency_ns`` is the time from an input to an output, ``queue_bytes`` the length of the queue
    of each output. A switch may copy a packet to several outputs, or add packets of several inputs.
    """

    planes: int = integer(1, 64)
    latency_ns: float = number(0, 1e6)
    queue_bytes: int = integer(32, 1 << 30)
    multicasts: bool
    reduces: bool


class _Shape(Strict):
    """Keys that every topology has.

    Parameters
    ----------
    most_gpus : int or None
        Largest number of GPUs that the links of a GPU, or the ports of a switch, allow.
    algorithm : str
        Algorithm of the collective library on this topology, unless the system names another.
    """

    name: str = text()
    description: str = text()
    source: str = text()
    most_gpus: Annotated[int | None, integer(2, LARGEST_GPUS)] = None
    algorithm: Annotated[str, text()] = "ring"
    link: Wires = Wires()

    @property
    def usual_gpus(self) -> int:
        """Number of GPUs where none is given."""
        return self.next_fit(_USUAL_GPUS) or self.next_fit(2) or _USUAL_GPUS

    def fits(self, gpus: int) -> bool:
        """Test whether the topology can have a number of GPUs."""
        return 2 <= gpus <= (self.most_gpus or LARGEST_GPUS) and self._divides(gpus)

    def next_fit(self, gpus: int) -> int | None:
        """Smallest number from ``gpus`` on that fits; None if no number does."""
        return next((n for n in range(gpus, LARGEST_GPUS + 1) if self.fits(n)), None)

    def check_gpus(self, gpus: int, field: str = "gpus") -> None:
        """Check that a number of GPUs fits.

        Raises
        ------
        InputError
            The number does not fit; the message names the next that does.
        """
        if self.fits(gpus):
            return
        following = self.next_fit(gpus)
        last = next((n for n in range(LARGEST_GPUS, 1, -1) if self.fits(n)), None)
        next_one = f"; the next is {following}" if following else f"; the largest is {last}"
        raise InputError(
            field, f"{gpus} is not allowed; {self.name} allows {self.allowed_gpus}{next_one}"
        )

    @property
    def allowed_gpus(self) -> str:
        """Description of the numbers of GPUs that fit."""
        return f"2 to {self.most_gpus or LARGEST_GPUS}"

    def _divides(self, gpus: int) -> bool:
        return True


class Ring(_Shape):
    """Each GPU has a link to the GPU before it; with both directions, also to the next."""

    kind: Literal["ring"]
    directions: Literal["one", "both"]
    forwards: bool


class FullyConnected(_Shape):
    """Each GPU has a link to every other GPU."""

    kind: Literal["fully-connected"]


class Switched(_Shape):
    """Each GPU has a link to every plane of a switch."""

    kind: Literal["switch"]
    switch: Switch


_Size = Annotated[int, integer(0, LARGEST_GPUS)]


class Torus(_Shape):
    """GPUs in a grid of two or three dimensions, each of which is a ring in both directions.

    The first size counts fastest in a GPU's number. A size of 0 is as large as the number of GPUs
    makes it.
    """

    kind: Literal["torus"]
    sizes: Annotated[
        tuple[_Size, ...],
        Field(strict=False, min_length=2, max_length=3, description="a list of 2 or 3 sizes"),
    ]
    forwards: bool

    @model_validator(mode="after")
    def _sound(self) -> "Torus":
        if self.sizes.count(0) > 1 or self._known > LARGEST_GPUS or self._known < 2:
            allowed = f"at most one 0, and a product of 2 to {LARGEST_GPUS} of the others"
            raise InputError("sizes", f"{list(self.sizes)} is not allowed; allowed: {allowed}")
        return self

    @property
    def _known(self) -> int:
        return prod(size for size in self.sizes if size)

    @property
    def allowed_gpus(self) -> str:
        shown = " x ".join(str(size or "any") for size in self.sizes)
        return f"{shown}, a multiple of {self._known}" if 0 in self.sizes else shown

    def sizes_of(self, gpus: int) -> tuple[int, ...]:
        """Sizes of the grid of a number of GPUs that fits."""
        return tuple(size or gpus // self._known for size in self.sizes)

    def _divides(self, gpus: int) -> bool:
        return gpus % self._known == 0 if 0 in self.sizes else gpus == self._known


Inside: TypeAlias = Ring | FullyConnected | Switched | Torus


class Nodes(_Shape):
    """Nodes of GPUs: a topology inside each node, and a network of switches between them.

    Each GPU has a network port of its own, and ``link`` and ``switch`` are the network's. With
    ``between = "rails"``, each rail joins the GPUs that have the same place in their nodes, and a
    packet for another place first goes to the GPU of that place in its own node, if GPUs forward.
    With ``between = "switch"``, one network joins all GPUs.
    """

    kind: Literal["nodes"]
    gpus_per_node: int = integer(2, LARGEST_GPUS)
    inside: Inside = Field(description="the name of a topology that is not of nodes, or a file")
    between: Literal["rails", "switch"]
    forwards: bool
    switch: Switch

    @model_validator(mode="after")
    def _sound(self) -> "Nodes":
        self.inside.check_gpus(self.gpus_per_node, "gpus_per_node")
        if self.forwards and self.between == "switch":
            raise InputError("forwards", 'is true; allowed with between = "switch": false')
        return self

    @property
    def usual_gpus(self) -> int:
        """Two nodes, where no number is given."""
        return self.next_fit(2 * self.gpus_per_node) or self.gpus_per_node

    @property
    def allowed_gpus(self) -> str:
        return f"a multiple of {self.gpus_per_node}, the GPUs of a node"

    def _divides(self, gpus: int) -> bool:
        return gpus % self.gpus_per_node == 0


Topology: TypeAlias = Inside | Nodes
