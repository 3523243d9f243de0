"""Ring reduce-scatter and all-gather on the link model alone, without memory and reduction times.

The links are those of :mod:`sysmodel.network`, with credit at the link's rate, a latency, a bounded
buffer at the receiver, and one atom per packet. As in the baseline's collectives, a GPU
begins a step when the whole chunk of the previous step has arrived and its own chunk has left.
"""

import numpy as np

from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.engine.ports import I
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.compiled import compiled
from sysmodel.lib.errors import SimulationError
from sysmodel.network.alone import NetworkState, network_alone
from sysmodel.network.capacity import Capacity
from sysmodel.network.expansion import expand
from sysmodel.network.link import can_send, deliver, offer_credit, send
from sysmodel.network.routes import Routes

__all__ = ["COLLECTIVES", "closed_form_ns", "ring_time_ns"]

COLLECTIVES = ("reduce_scatter", "all_gather")

_CYCLE_NS = 1.0
_STEP_CYCLES = 1000  # shortest step, so that rounding changes its time by a thousandth at most
_BUFFER_PACKETS = 8  # packets that may leave at once after an idle time
_MOST_CHANNELS = 128


def closed_form_ns(
    gpus: int, buffer_bytes: float, link_gb_per_s: float, link_latency_ns: float
) -> float:
    """Time of either collective without waiting: (N - 1) x (chunk / rate + latency)."""
    return (gpus - 1) * (buffer_bytes / gpus / link_gb_per_s + link_latency_ns)


def ring_time_ns(
    collective: str,
    gpus: int,
    buffer_bytes: int,
    link_gb_per_s: float,
    link_latency_ns: float,
) -> float:
    """Simulate a collective on one direction of a ring; return its time.

    Chunks are equal up to one atom. The model rounds each step to an atom and a cycle, and the
    latency to a cycle. A cycle is 1 ns, or less if a step would have fewer than a thousand cycles.

    Parameters
    ----------
    collective : str
        One of ``COLLECTIVES``.
    gpus : int
        Number of GPUs, at least 2.
    buffer_bytes : int
        Size of the whole buffer.
    link_gb_per_s : float
        Rate of the used direction in 10^9 bytes/s.
    link_latency_ns : float
        Time from a packet's first byte at the sender to its arrival; at least one cycle.

    Raises
    ------
    ValueError
        If a value is not allowed, or the link is too fast for the model.
    """
    if collective not in COLLECTIVES:
        raise ValueError(f"collective must be one of {COLLECTIVES}, not {collective!r}")
    if gpus < 2:
        raise ValueError(f"gpus must be at least 2, not {gpus!r}")
    if buffer_bytes < 1:
        raise ValueError(f"buffer_bytes must be at least 1, not {buffer_bytes!r}")
    if not 0 < link_gb_per_s < np.inf:
        raise ValueError(f"link_gb_per_s must be a positive number, not {link_gb_per_s!r}")
    if not 0 <= link_latency_ns < np.inf:
        raise ValueError(f"link_latency_ns must be at least 0, not {link_latency_ns!r}")
    step_ns = max(buffer_bytes / gpus, ATOM_BYTES) / link_gb_per_s + link_latency_ns
    cycle_ns = min(_CYCLE_NS, step_ns / _STEP_CYCLES)
    state = _new_ring(gpus, link_gb_per_s * cycle_ns, max(1, round(link_latency_ns / cycle_ns)))
    atoms = -(-buffer_bytes // ATOM_BYTES)
    chunks = np.diff(np.arange(gpus + 1) * atoms // gpus)
    limit = int(2 * gpus * step_ns / cycle_ns) + 10 * gpus * _STEP_CYCLES
    cycles = _run(
        state,
        chunks,
        COLLECTIVES.index(collective),
        limit,
        step=np.zeros(gpus, np.int64),
        unsent=np.zeros((gpus, state.fixed["channels"][0]), np.int64),
        missing=np.zeros(gpus, np.int64),
    )
    if cycles < 0:
        raise SimulationError(f"the ring of {gpus} GPUs makes no progress")
    return cycles * cycle_ns


def _new_ring(gpus: int, rate_bytes: float, latency: int) -> NetworkState:
    # A channel sends at most one packet per cycle.
    channels = int(np.ceil(rate_bytes / ATOM_BYTES))
    if channels > _MOST_CHANNELS:
        raise ValueError(
            f"link: {channels} atoms a cycle are more than the {_MOST_CHANNELS} that the "
            "model supports"
        )
    fabric = expand(load_topology("ring"), gpus, load_system("asplos24").link)
    capacity = Capacity(
        routes=Routes(fabric, channels),
        rate_bytes=[rate_bytes] * gpus,
        latency_cycles=[latency] * gpus,
        system_channels=channels,
        buffer_packets=_BUFFER_PACKETS,
    )
    return network_alone(capacity)


@compiled
def _begin_step(
    g: int, step: int, unsent: np.ndarray, missing: np.ndarray, chunks: np.ndarray, all_gather: int
) -> None:
    """Start a step: GPU g sends a chunk to g - 1 while the following chunk arrives from g + 1.

    ``unsent[g, c]`` are the step's atoms that are still to be sent, ``missing[g]`` the atoms up to
    this step that have not arrived.
    """
    gpus, channels = unsent.shape
    chunk = (g + (0 if all_gather else 1) + step) % gpus
    for c in range(channels):
        unsent[g, c] = (chunks[chunk] + channels - 1 - c) // channels
    missing[g] += chunks[(chunk + 1) % gpus]


@compiled
def _pass_atoms(s: NetworkState, g: int, now: int, unsent: np.ndarray, missing: np.ndarray) -> int:
    """Send and receive on all channels of a GPU in a cycle; return the atoms still to be sent."""
    offer_credit(s, s.gpu[g])
    channels = s.fixed[0].channels
    left: int = np.int64(0)
    for i in range(channels):
        c = (now + i) % channels
        inputs, outputs, channel = s.inputs[g, c], s.outputs[g, c], s.channel[g * channels + c]
        deliver(s, channel, now, inputs, True)
        if inputs[I.link_in_valid]:
            missing[g] -= 1
        if unsent[g, c] > 0 and can_send(s, g, c, channel, outputs):
            send(s, g, c, now, outputs)
            unsent[g, c] -= 1
        left += unsent[g, c]
    return left


@compiled
def _run(
    s: NetworkState,
    chunks: np.ndarray,
    all_gather: int,
    limit: int,
    step: np.ndarray,
    unsent: np.ndarray,
    missing: np.ndarray,
) -> int:
    """Simulate the collective; return the cycle after the last arrival, or -1 at ``limit``."""
    gpus = len(step)
    for g in range(gpus):
        _begin_step(g, 0, unsent, missing, chunks, all_gather)
    running = gpus
    for now in range(limit):
        for g in range(gpus):
            left = _pass_atoms(s, g, now, unsent, missing)
            if left == 0 and missing[g] <= 0 and step[g] < gpus - 1:
                step[g] += 1
                if step[g] < gpus - 1:
                    _begin_step(g, step[g], unsent, missing, chunks, all_gather)
                else:
                    running -= 1
        if running == 0:
            return now + 1
    return -1
