"""Simulation of one point by a worker, here or on a cluster."""

import contextlib
from collections.abc import Iterator
from typing import Any

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.lib.cache import cache_folder, locked
from sysmodel.lib.code_folder import code_folder
from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.lib.progress import Report
from sysmodel.runs.options import CONFIGURATIONS, RunOptions

from .simulations import Simulation
from .sources import CODE

__all__ = ["arguments_of", "failure_of", "simulate_point"]


def arguments_of(simulation: Simulation) -> tuple[str, Workload, System, RunOptions]:
    """Arguments of :func:`simulate_point`."""
    point = simulation.point
    return CODE, point.workload, point.system, point.options


def simulate_point(
    code: str, workload: Workload, system: System, options: RunOptions
) -> dict[str, Any]:
    """Simulate a point.

    Parameters
    ----------
    code : str
        Digest of the sources of the sweep.

    Returns
    -------
    dict
        ``rows`` or, after a failure, ``failure``: one line with the reason.
    """
    from sysmodel.runs.columns import measured
    from sysmodel.runs.plan import Plan
    from sysmodel.runs.simulate import simulate

    if code != CODE:
        return {"failure": "the worker runs other sources of T3 than the sweep"}
    try:
        with _compiling_alone(options.engine) as report:
            return {"rows": measured(simulate(Plan(workload, system, options), report))}
    except (InputError, SimulationError) as error:
        problem = str(error).removeprefix(f"{workload.title} on {system.name}: ")
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return {"failure": " ".join(problem.split())}


def failure_of(error: BaseException) -> str:
    """One line about an error that :func:`simulate_point` itself did not report."""
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextlib.contextmanager
def _compiling_alone(engine: str) -> Iterator[Report]:
    """Let one process of a machine compile the cycle loop for its cache while the others wait.

    Everything is compiled when the run reports its first configuration to the function that this
    yields. If the cache cannot be written, every process compiles for itself.
    """
    ready = code_folder("sysmodel.runs.simulate") / f"{engine}.ready"
    with contextlib.ExitStack() as lock:
        if not ready.exists():
            with contextlib.suppress(OSError):
                lock.enter_context(locked(cache_folder() / "compiling.lock"))

        def report(task: str, share: float) -> None:
            if task.partition(":")[0] in CONFIGURATIONS and not ready.exists():
                with contextlib.suppress(OSError):
                    ready.touch()
                lock.close()

        yield report
