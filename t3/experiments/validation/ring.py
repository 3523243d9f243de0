"""Ring reduce-scatter and all-gather on the link model alone, without memory and reduction times.

The links are those of :mod:`sysmodel.network.link`, with credit at the link's rate, a latency, a
bounded buffer at the receiver, and one atom per packet. As in the baseline's collectives, a GPU
begins a step when the whole chunk of the previous step has arrived and its own chunk has left.
"""

from typing import NamedTuple

import numpy as np

from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, PACKET, I
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.lib.compiled import compiled
from sysmodel.lib.errors import SimulationError
from sysmodel.memory import accesses as memory
from sysmodel.network import link
from sysmodel.network.link import can_send, deliver, offer_credit, receiver_of, send

__all__ = ["COLLECTIVES", "closed_form_ns", "ring_time_ns"]

COLLECTIVES = ("reduce_scatter", "all_gather")

_CYCLE_NS = 1.0
_STEP_CYCLES = 1000  # shortest step, so that rounding changes its time by a thousandth at most
_BUFFER_PACKETS = 8  # packets that may leave at once after an idle time
_MOST_CHANNELS = 128

_FIXED = np.dtype(
    [("channels", np.int64), *link.FIXED_FIELDS, *memory.FIXED_FIELDS],
    align=True,
)
_GPU = np.dtype([("workgroups", np.int64), *link.GPU_FIELDS, *memory.GPU_FIELDS], align=True)
_CHANNEL = np.dtype(link.CHANNEL_FIELDS, align=True)


class _Ring(NamedTuple):
    """Fields of the cycle loop's state that links use; the tables are empty."""

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
    packet_time: np.ndarray
    wire_packet: np.ndarray
    admission: np.ndarray
    admission_time: np.ndarray
    inputs: np.ndarray  # [word]: the ports of a channel
    outputs: np.ndarray
    step: np.ndarray  # [g]
    unsent: np.ndarray  # [g, c]: atoms of the step still to be sent
    missing: np.ndarray  # [g]: atoms up to this step that have not arrived


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
    cycles = _run(state, chunks, COLLECTIVES.index(collective), limit)
    if cycles < 0:
        raise SimulationError(f"the ring of {gpus} GPUs makes no progress")
    return cycles * cycle_ns


def _new_ring(gpus: int, rate_bytes: float, latency: int) -> _Ring:
    # A channel sends at most one packet per cycle.
    channels = int(np.ceil(rate_bytes / ATOM_BYTES))
    if channels > _MOST_CHANNELS:
        raise ValueError(
            f"link: {channels} atoms a cycle are more than the {_MOST_CHANNELS} that the "
            "model supports"
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
        **link.TABLES,
        inputs=np.zeros(CHANNEL_INPUTS, np.uint64),
        outputs=np.zeros(CHANNEL_OUTPUTS, np.uint64),
        step=np.zeros(gpus, np.int64),
        unsent=np.zeros((gpus, channels), np.int64),
        missing=np.zeros(gpus, np.int64),
    )
    state.fixed["channels"] = channels
    return link.set_up_link(
        state,
        rate_bytes_per_cycle=rate_bytes,
        latency_cycles=latency,
        buffer_packets=_BUFFER_PACKETS,
        mirror=0,
        mirror_shift=0,
        stall_share=0.0,
        seed=0,
        most_admissions=1,
    )


@compiled
def _begin_step(s: _Ring, g: int, chunks: np.ndarray, all_gather: int) -> None:
    """Start a step: GPU g sends a chunk to g - 1 while the following chunk arrives from g + 1."""
    gpus, channels = s.unsent.shape
    chunk = (g + (0 if all_gather else 1) + s.step[g]) % gpus
    for c in range(channels):
        s.unsent[g, c] = (chunks[chunk] + channels - 1 - c) // channels
    s.missing[g] += chunks[(chunk + 1) % gpus]


@compiled
def _run(s: _Ring, chunks: np.ndarray, all_gather: int, limit: int) -> int:
    """Simulate the collective; return the cycle after the last arrival, or -1 at ``limit``."""
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
                deliver(s, s.channel[g * channels + c], now, inputs, True)
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
