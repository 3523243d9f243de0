"""Functions that misbehave in place of ``simulate_point``. Workers import this module by name."""

import os
from pathlib import Path

__all__ = ["die", "die_first", "unable"]


def die(code, workload, system, options):
    """End the worker process."""
    os._exit(1)


def die_first(code, workload, system, options):
    """End the worker process unless the file of ``T3_TEST_MARKER`` exists; make that file."""
    from t3.experiments.sweep.task import simulate_point

    marker = Path(os.environ["T3_TEST_MARKER"])
    if not marker.exists():
        marker.touch()
        os._exit(1)
    return simulate_point(code, workload, system, options)


def unable(code, workload, system, options):
    """Raise an error that cannot be pickled."""

    class Unpicklable(Exception):
        def __reduce__(self):
            raise TypeError("not to be pickled")

    raise Unpicklable("a strange fault")
