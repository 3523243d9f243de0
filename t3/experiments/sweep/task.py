"""What a worker does with a point."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.lib.cache import cache_folder
from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.runs.phases import Report
from sysmodel.runs.result import CONFIGURATIONS, RunOptions

from .rows import measured
from .store import CODE

__all__ = ["simulate_point"]


def simulate_point(
    code: str, workload: Workload, system: System, options: RunOptions
) -> dict[str, Any]:
    """Simulate a point on a worker.

    Parameters
    ----------
    code : str
        Hash of the sources of who asks.

    Returns
    -------
    dict
        ``rows``; or ``failure``, one line that says why there are none. An exception would have to
        travel through pickle, which not all of them survive.
    """
    from sysmodel.runs.simulate import run

    if code != CODE:
        return {"failure": "the worker runs other sources of T3 than the sweep"}
    try:
        with _compiling_alone(options.engine) as report:
            return {"rows": measured(run(workload, system, options, report))}
    except (InputError, SimulationError) as error:
        problem = str(error).removeprefix(f"{workload.title} on {system.name}: ")
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return {"failure": " ".join(problem.split())}


@contextlib.contextmanager
def _compiling_alone(engine: str) -> Iterator[Report]:
    """Let one process of a machine compile the cycle loop for its cache, and the others wait.

    The run's reports, which go to what this yields, tell when its first configuration has begun and
    all is compiled. A cache that cannot be written is none, and every process compiles for itself.
    """
    ready = Path(os.environ["NUMBA_CACHE_DIR"]) / f"{engine}.ready"
    with contextlib.ExitStack() as lock:
        if not ready.exists():
            with contextlib.suppress(OSError):
                file = lock.enter_context((cache_folder() / "compiling.lock").open("w"))
                fcntl.flock(file, fcntl.LOCK_EX)

        def report(task: str, share: float) -> None:
            if task.partition(":")[0] in CONFIGURATIONS and not ready.exists():
                with contextlib.suppress(OSError):
                    ready.touch()
                lock.close()

        yield report
