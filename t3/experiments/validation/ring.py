"""Ring reduce-scatter and all-gather on the link model alone: memory and reduction take no time.

The links are those of :mod:`sysmodel.network.link`: credit at their rate, latency, a bounded
buffer at the receiver, one atom a packet. A GPU begins a step when the chunk of the step before it
has arrived whole and its own has left, as the baseline's collectives do.
"""

from typing import NamedTuple

import numpy as np

from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, PACKET, I
from sysmodel.gpu.kernel import ATOM_BYTES
from sysmodel.lib.compiled import compiled
from sysmodel.lib.errors import SimulationError
from sysmodel.memory import accesses as memory
from sysmodel.network import link
from sysmodel.network.link import can_send, deliver, offer_credit, receiver_of, send

__all__ = ["COLLECTIVES", "closed_form_ns", "ring_time_ns"]

COLLECTIVES = ("reduce_scatter", "all_gather")

_CYCLE_NS = 1.0
_STEP_CYCLES = 1000  # at least: the shortest step is resolved to a thousandth
_BUFFER_PACKETS = 8  # what an idle link has saved up may leave at once
_MOST_CHANNELS = 128

_FIXED = np.dtype(
    [("channels", np.int64), *link.FIXED_FIELDS, *memory.FIXED_FIELDS],
    align=True,
)
_GPU = np.dtype([("workgroups", np.int64), *link.GPU_FIELDS, *memory.GPU_FIELDS], align=True)
_CHANNEL = np.dtype(link.CHANNEL_FIELDS, align=True)


class _Ring(NamedTuple):
    """The fields of the cycle loop's state that links look at; all tables but these are empty."""

    fixed: np.ndarray
    gpu: np.ndarray
    channel: np.ndarray
    output_start: np.ndarray
    output_atom: np.ndarray
    output_channel: np.ndarray
    chunk_start: np.ndarray
    chunk_atom: np.ndarray
    per_wave: np.ndarray
    wave_entries: np.ndarray
    wave_entry: np.ndarray
    wave_sent: np.ndarray
    copied_start: np.ndarray
    copied_atom: np.ndarray
    copied_channel: np.ndarray
    packet: np.ndarray
    inputs: np.ndarray  # [word]: the ports of a channel
    outputs: np.ndarray
    step: np.ndarray  # [g]
    unsent: np.ndarray  # [g, c]: atoms of the step
    missing: np.ndarray  # [g]: atoms of the step and before that have not arrived


def closed_form_ns(
    gpus: int, buffer_bytes: float, link_gb_per_s: float, link_latency_ns: float
) -> float:
    """Time of either collective in which nothing waits: (N - 1) x (chunk / rate + latency)."""
    return (gpus - 1) * (buffer_bytes / gpus / link_gb_per_s + link_latency_ns)


def ring_time_ns(
    collective: str,
    gpus: int,
    buffer_bytes: int,
    link_gb_per_s: float,
    link_latency_ns: float,
) -> float:
    """Time of a collective on a ring of which one direction is used.

    Chunks are equal to an atom. What the model rounds is an atom and a cycle in each step, and the
    latency to a cycle. A cycle is 1 ns; less where a step takes less than a thousand of them, more
    where the wire would be longer than the link model's.

    Parameters
    ----------
    collective : str
        One of ``COLLECTIVES``.
    gpus : int
        At least 2.
    buffer_bytes : int
        The whole buffer.
    link_gb_per_s : float
        In the direction that is used; 10^9 bytes/s.
    link_latency_ns : float
        From a packet's first byte at the sender to its arrival; at least one cycle is modelled.

    Raises
    ------
    ValueError
        A value is not allowed, or more is on the wire than the model has room for.
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
    cycle_ns = max(cycle_ns, link_latency_ns / (link.ADMISSIONS - 1))
    state = _new_ring(gpus, link_gb_per_s * cycle_ns, max(1, round(link_latency_ns / cycle_ns)))
    atoms = -(-buffer_bytes // ATOM_BYTES)
    chunks = np.diff(np.arange(gpus + 1) * atoms // gpus)
    limit = int(2 * gpus * step_ns / cycle_ns) + 10 * gpus * _STEP_CYCLES
    cycles = _run(state, chunks, COLLECTIVES.index(collective), limit)
    if cycles < 0:
        raise SimulationError(f"the ring of {gpus} GPUs came to a halt")
    return cycles * cycle_ns


def _new_ring(gpus: int, rate_bytes: float, latency: int) -> _Ring:
    # A channel sends a packet a cycle at most, and its wire has so much room.
    room = link.PACKETS - _BUFFER_PACKETS - 1
    atoms = rate_bytes / ATOM_BYTES
    channels = int(max(np.ceil(atoms), np.ceil(atoms * latency / room)))
    if channels > _MOST_CHANNELS:
        raise ValueError(
            f"link: {atoms * latency:.0f} atoms on the wire, {atoms:.0f} a cycle, are more than "
            f"the {_MOST_CHANNELS * room} and {_MOST_CHANNELS} that the model has room for"
        )
    none, table = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
    state = _Ring(
        fixed=np.zeros(1, _FIXED),
        gpu=np.zeros(gpus, _GPU),
        channel=np.zeros(gpus * channels, _CHANNEL),
        output_start=none,
        output_atom=none,
        output_channel=none,
        chunk_start=table,
        chunk_atom=table,
        per_wave=table,
        wave_entries=table,
        wave_entry=none,
        wave_sent=table,
        copied_start=none,
        copied_atom=none,
        copied_channel=none,
        packet=np.zeros(len(PACKET), np.uint64),
        inputs=np.zeros(CHANNEL_INPUTS, np.uint64),
        outputs=np.zeros(CHANNEL_OUTPUTS, np.uint64),
        step=np.zeros(gpus, np.int64),
        unsent=np.zeros((gpus, channels), np.int64),
        missing=np.zeros(gpus, np.int64),
    )
    state.fixed["channels"] = channels
    link.set_up_link(
        state,
        rate_bytes_per_cycle=rate_bytes,
        latency_cycles=latency,
        buffer_packets=_BUFFER_PACKETS,
        mirror=0,
        mirror_shift=0,
        stall_share=0.0,
        seed=0,
    )
    return state


@compiled
def _begin_step(s: _Ring, g: int, chunks: np.ndarray, all_gather: int) -> None:
    """GPU g sends a chunk to g - 1 while the following one arrives from g + 1."""
    gpus, channels = s.unsent.shape
    chunk = (g + (0 if all_gather else 1) + s.step[g]) % gpus
    for c in range(channels):
        s.unsent[g, c] = (chunks[chunk] + channels - 1 - c) // channels
    s.missing[g] += chunks[(chunk + 1) % gpus]


@compiled
def _run(s: _Ring, chunks: np.ndarray, all_gather: int, limit: int) -> int:
    """The cycle after the last arrival, or -1 if there is none before ``limit``."""
    f = s.fixed[0]
    gpus, channels = s.unsent.shape
    inputs, outputs = s.inputs, s.outputs
    for g in range(gpus):
        _begin_step(s, g, chunks, all_gather)
    running = gpus
    for now in range(limit):
        for g in range(gpus):
            gpu = s.gpu[g]
            offer_credit(f, gpu)
            left = np.int64(0)
            for i in range(channels):
                c = (now + i) % channels
                deliver(f, s.channel[g * channels + c], now, inputs, True)
                if inputs[I.link_in_valid]:
                    s.missing[g] -= 1
                receiver = receiver_of(s, g, c)
                if s.unsent[g, c] > 0 and can_send(s, gpu, s.channel[g * channels + c], receiver):
                    send(s, gpu, receiver, c, now, outputs)
                    s.unsent[g, c] -= 1
                left += s.unsent[g, c]
            if left == 0 and s.missing[g] <= 0 and s.step[g] < gpus - 1:
                s.step[g] += 1
                if s.step[g] < gpus - 1:
                    _begin_step(s, g, chunks, all_gather)
                else:
                    running -= 1
        if running == 0:
            return now + 1
    return -1
