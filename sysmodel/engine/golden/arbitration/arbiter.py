"""Compute stream against communication stream, in front of the DRAM queue."""

from collections.abc import Callable

from numba import njit

from sysmodel.lib.compiled import inlined

from .policies import POLICIES

__all__ = ["arbitrate"]


def _either(encoding: int, policy: Callable, otherwise: Callable) -> Callable:
    # Not cached: a closure's key would be another one in each process.
    @njit(_nrt=False, forceinline=True)
    def choose(s, channel, compute, communication):
        if s.config.arbiter.policy == encoding:
            return policy(s, channel, compute, communication)
        return otherwise(s, channel, compute, communication)

    return choose


def _dispatcher() -> Callable:
    """The configured policy's choice, as a chain of comparisons."""
    (_, choose), *others = POLICIES.items()
    for encoding, policy in others:
        choose = _either(encoding.value, policy, choose)
    return choose


_choose = _dispatcher()


@inlined
def arbitrate(s, channel, compute, communication, room):
    """Choose among the two candidates of the channel.

    Updates ``arbiter_last`` and how long each has waited.

    Parameters
    ----------
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
        choice = _choose(s, channel, compute, communication)
        if choice >= 0:
            channel.arbiter_last = choice
    if choice == 1 or not communication:
        channel.starved = 0
    elif channel.starved < 65535:
        channel.starved += 1
    if choice == 0 or not compute:
        channel.compute_starved = 0
    elif channel.compute_starved < 65535:
        channel.compute_starved += 1
    return choice
