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
    hooked : :class:`Hooked` or None
        The hardware, if faults of rings are wanted.
    endpoint : Path or None
        The link endpoint's library, if faults of links are.
    """

    def __init__(self, hooked: Hooked | None, endpoint: Path | None):
        self._hooked, self._endpoint = hooked, endpoint
        self._exit = ExitStack()
        self._rings: dict[Setup, Ring] = {}

    def ring(self, setup: Setup) -> Ring:
        """The ring that computes what the setup says."""
        if self._hooked is None:
            raise ValueError("No hardware was built")
        if setup not in self._rings:
            self._rings[setup] = self._exit.enter_context(Ring(self._hooked, setup))
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
