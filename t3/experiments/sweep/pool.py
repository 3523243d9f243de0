"""Simulation of a sweep's points in worker processes of this machine."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from loky import cpu_count

from sysmodel.lib.jobs import WorkerDiedError, run_jobs

from .rows import Rows
from .simulations import Simulation
from .task import arguments_of, failure_of, simulate_point

__all__ = ["Done", "Tick", "simulate_here"]

Done = Callable[[Simulation, Rows | None, str | None], None]
"""Called with each simulation as it ends, and with its rows or with the reason of its failure."""

Tick = Callable[[int], None]
"""Called several times a second with the number of points that can be simulated at a time."""


def simulate_here(
    simulations: Sequence[Simulation], done: Done, tick: Tick, *, workers: int | None
) -> None:
    """Simulate in the order of the list.

    Parameters
    ----------
    workers : int or None
        Number of processes; one for each core if None.
    """
    count = min(workers or cpu_count(), len(simulations))

    def ended(index: int, future: "Future[dict[str, Any]]") -> None:
        try:
            outcome = future.result()
        except WorkerDiedError as error:
            outcome = {"failure": str(error)}
        except Exception as error:
            outcome = {"failure": failure_of(error)}
        done(simulations[index], outcome.get("rows"), outcome.get("failure"))

    tick(count)
    run_jobs(
        simulate_point,
        [arguments_of(one) for one in simulations],
        done=ended,
        workers=count,
        tick=lambda: tick(count),
    )
