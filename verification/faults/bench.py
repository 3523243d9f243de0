"""Hardware for fault injection: rings and a link, built when a fault first needs them."""

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from .hook import Hooked
from .link import LinkPair
from .ring import Ring, Setup

__all__ = ["Bench"]


class Bench:
    """Hardware for fault injection; a context manager. A process may have one instance at a time.

    Parameters
    ----------
    hooked : dict of :class:`Hooked`
        Hardware by number of contexts, as the chosen faults of rings need it.
    endpoint : Path or None
        Library of the link endpoint, if faults of links are chosen.
    """

    def __init__(self, hooked: dict[int, Hooked], endpoint: Path | None):
        self._hooked, self._endpoint = hooked, endpoint
        self._exit = ExitStack()
        self._rings: dict[Setup, Ring] = {}

    def ring(self, setup: Setup) -> Ring:
        """Ring of a setup, built on first use."""
        if setup.contexts not in self._hooked:
            raise ValueError(f"No hardware with {setup.contexts} contexts was built")
        if setup not in self._rings:
            hooked = self._hooked[setup.contexts]
            self._rings[setup] = self._exit.enter_context(Ring(hooked, setup))
        return self._rings[setup]

    @cached_property
    def link(self) -> LinkPair:
        if self._endpoint is None:
            raise ValueError("No link endpoint was built")
        return self._exit.enter_context(LinkPair(self._endpoint))

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *exception: object) -> None:
        self._exit.close()
