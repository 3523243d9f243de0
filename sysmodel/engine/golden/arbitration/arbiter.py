"""Compute stream against communication stream, in front of the DRAM queue."""

from collections.abc import Callable

from numba import njit

from sysmodel.lib.compiled import inlined

from .policies import POLICIES

__all__ = ["arbitrate"]


def _either(encoding: int, policy: Callable, otherwise: Callable) -> Callable:
    # Not cached: a closure's key would be another one in each process.
    @njit(_nrt=False, forceinline=True)
    def choose(arbiter, channel, compute, communication):
        if arbiter.policy == encoding:
            return policy(arbiter, channel, compute, communication)
        return otherwise(arbiter, channel, compute, communication)

    return choose


def _dispatcher() -> Callable:
    """The configured policy's choice, as a chain of comparisons."""
    (_, choose), *others = POLICIES.items()
    for encoding, policy in others:
        choose = _either(encoding.value, policy, choose)
    return choose


_choose = _dispatcher()


@inlined
def arbitrate(arbiter, channel, compute, communication, room):
    """Choose among the two candidates of the channel.

    Updates ``arbiter_last`` and ``starved``.

    Parameters
    ----------
    arbiter : record
        The arbiter's configuration.
    compute, communication : bool
        Whether there is a candidate.
    room : bool
        Whether there is room for it.

    Returns
    -------
    int
        0 for compute, 1 for communication, -1 for nothing.
    """
    choice = -1
    if room:
        choice = _choose(arbiter, channel, compute, communication)
        if choice >= 0:
            channel.arbiter_last = choice
    if choice == 1 or not communication:
        channel.starved = 0
    elif channel.starved < 65535:
        channel.starved += 1
    return choice
