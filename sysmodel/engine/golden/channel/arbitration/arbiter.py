"""Arbiter between the compute stream and the communication stream, in front of the DRAM queue."""

from collections.abc import Callable

from numba import njit

from sysmodel.engine.golden.records import Record, record
from sysmodel.lib.compiled import inlined

from .inputs import ArbiterInputs
from .policies import POLICIES

__all__ = ["ARBITER_STATE", "arbitrate", "reset_waits", "waits"]

ARBITER_STATE = record("arbiter_last starved compute_starved")
"""Stream of the last request (0 for compute, 1 for communication), and the waiting times of the
communication request and of the compute request, in cycles.
"""

_MOST_WAITING = 65535

_Policy = Callable[[ArbiterInputs], int]


def _either(encoding: int, policy: _Policy, otherwise: _Policy) -> _Policy:
    # Not cached, because the key of a closure differs between processes.
    @njit(_nrt=False, forceinline=True)
    def choose(now: ArbiterInputs) -> int:
        if now.configuration.policy == encoding:
            return policy(now)
        return otherwise(now)

    return choose


def _dispatcher() -> _Policy:
    """Make the choice of the configured policy, as a chain of comparisons."""
    (_, choose), *others = POLICIES.items()
    for encoding, policy in others:
        choose = _either(encoding.value, policy, choose)
    return choose


_choose = _dispatcher()


@inlined
def waits(arbiter: Record) -> bool:
    """Return whether a request had to wait in the last cycle."""
    return arbiter.starved | arbiter.compute_starved != 0


@inlined
def reset_waits(arbiter: Record) -> None:
    """Advance the arbiter by one cycle in which neither stream has a request."""
    arbiter.starved = arbiter.compute_starved = 0


@inlined
def arbitrate(
    configuration: Record,
    inputs: Record,
    arbiter: Record,
    measured: int,
    occupancy: int,
    compute: bool,
    communication: bool,
    space: bool,
) -> int:
    """Advance the arbiter by one cycle.

    Parameters
    ----------
    configuration : record
        Record :data:`~sysmodel.engine.golden.payloads.layouts.ARBITER`.
    inputs : record
        Record :data:`~sysmodel.engine.golden.channel.arbitration.ARBITER_INPUTS`.
    arbiter : record
        Record :data:`ARBITER_STATE`.
    measured : int
        Threshold of the measurement.
    occupancy : int
        Entries of the DRAM queue.
    compute, communication : bool
        The stream has a request.
    space : bool
        The queue behind the arbiter has space for a request.

    Returns
    -------
    int
        0 for compute, 1 for communication, -1 for no request.
    """
    choice = -1
    if space:
        choice = _choose(
            ArbiterInputs(
                compute,
                communication,
                arbiter,
                occupancy,
                configuration,
                measured,
                inputs,
            )
        )
        if choice >= 0:
            arbiter.arbiter_last = choice
    if choice == 1 or not communication:
        arbiter.starved = 0
    elif arbiter.starved < _MOST_WAITING:
        arbiter.starved += 1
    if choice == 0 or not compute:
        arbiter.compute_starved = 0
    elif arbiter.compute_starved < _MOST_WAITING:
        arbiter.compute_starved += 1
    return choice
