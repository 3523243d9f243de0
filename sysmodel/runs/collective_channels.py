"""Simulated memory channels of a collective alone."""

from sysmodel.config.system import System
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.errors import InputError
from sysmodel.machine.sampling import samples, stands_for_all

__all__ = ["simulated_channels"]

# Cycles times channels of all GPUs: about two seconds of the golden engine.
_MOST_WORK = 4_000_000
_MOST_CHANNELS = 2048  # of all GPUs: about half a GB


def simulated_channels(
    system: System, buffer: Kernel, bound_ns: float, asked: int | None = None
) -> int:
    """Find how many channels of each GPU to simulate.

    Without ``asked``, it is the largest number that is little work and memory, or the smallest that
    represents all.

    Raises
    ------
    InputError
        The channels that are asked for do not represent all.
    """
    numbers = [*samples(system)]
    if asked is None:
        cycles = buffer.gpus * bound_ns / system.cycle_ns
        few = [one for one in numbers if one * buffer.gpus <= _MOST_CHANNELS]
        little = sum(one * cycles <= _MOST_WORK for one in few)
        candidates = numbers[max(0, little - 1) :]
        return next(one for one in candidates if stands_for_all(system, buffer, one))
    if asked not in numbers or not stands_for_all(system, buffer, asked):
        fit = [str(one) for one in numbers if stands_for_all(system, buffer, one)]
        problem = f"{asked} is not allowed; allowed for this message: {', '.join(fit)}"
        raise InputError("channels", problem)
    return asked
