"""What faults are put into: rings and a link, made when a fault first needs them."""

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from .hook import Hooked
from .link import LinkPair
from .ring import Ring, Setup

__all__ = ["Bench"]


class Bench:
    """Hardware to put faults into; a context manager. Only one at a time in a process.

    Parameters
    ----------
    hooked : dict of :class:`Hooked`
        The hardware by its contexts, for those with which faults of rings are wanted.
    endpoint : Path or None
        The link endpoint's library, if faults of links are.
    """

    def __init__(self, hooked: dict[int, Hooked], endpoint: Path | None):
        self._hooked, self._endpoint = hooked, endpoint
        self._exit = ExitStack()
        self._rings: dict[Setup, Ring] = {}

    def ring(self, setup: Setup) -> Ring:
        """The ring that computes what the setup says."""
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
