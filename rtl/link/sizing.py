"""Sizing of links by their rate and their latency."""

from math import ceil

from rtl.parameters import T3Parameters

from .layouts import FRAME_ATOMS
from .parameters import LinkParameters

__all__ = ["fit_link", "fit_ports", "round_trip_cycles"]

# Cycles from the write of a packet into the replay memory until its row is free again, over a link
# without latency.
_PIPELINES_CYCLES = 18


def round_trip_cycles(channels: int, latency_cycles: int) -> int:
    """Compute the cycles after which a packet's row in the replay memory is free again.

    The packet may wait for a frame of every other channel on the link, and for the last flit of its
    own frame; its acknowledgement for a control flit of every other channel. In the other direction
    there are no packets, as in a ring; frames there would delay the acknowledgement, too.
    """
    frames = (FRAME_ATOMS + 1) * (channels - 1) + FRAME_ATOMS - 1
    return _PIPELINES_CYCLES + 2 * latency_cycles + frames


def fit_link(p: T3Parameters, *, packets_per_cycle: float, latency_cycles: int) -> LinkParameters:
    """Derive the fewest and smallest endpoints that sustain a link's rate.

    An endpoint sends one flit per cycle, and all endpoints serve the same number of channels. Each
    channel has its share of the link's rate: its replay memory and its receive buffer hold the
    packets of a round trip at that share, plus the packets that a transfer sends to a channel at
    once.

    Parameters
    ----------
    packets_per_cycle : float
        Rate of the whole link to a neighbour, for all channels of the memory. On wires with a rate
        in bytes it depends on the lengths of the frames: the endpoints must sustain the rate of the
        longest ones, in which :func:`~rtl.link.layouts.frame_bytes` is shared by eight packets.
    latency_cycles : int
        Latency from ``send`` of one endpoint to ``receive`` of the other.

    Raises
    ------
    ValueError
        If the rate is 0, or more than one packet per cycle and channel.
    """
    share = packets_per_cycle / p.system_channels
    if not 0 < share <= 1:
        raise ValueError(
            f"packets_per_cycle must be more than 0 and at most {p.system_channels}, "
            f"not {packets_per_cycle!r}"
        )
    channels = max(
        count for count in range(1, p.channels + 1) if not p.channels % count and count * share <= 1
    )
    return _fit(p, channels, share, round_trip_cycles(channels, latency_cycles))


def fit_ports(
    p: T3Parameters, *, packets_per_cycle: float, latency_cycles: int, ports: int
) -> tuple[LinkParameters, int]:
    """Derive the smallest endpoint of a port, and the fewest lanes of the fabric, that sustain the
    rate of all ports together.

    In the other direction there are packets, too: an acknowledgement may wait for a frame of them.

    Parameters
    ----------
    packets_per_cycle, latency_cycles
        See :func:`fit_link`; the ports divide the rate.

    Raises
    ------
    ValueError
        If the rate of a port is 0, or more than one packet per cycle, or the lanes cannot have it.
    """
    share = packets_per_cycle / ports
    if not 0 < share <= 1 or packets_per_cycle > p.channels:
        raise ValueError(
            f"packets_per_cycle must be more than 0 and at most {min(ports, p.channels)}, "
            f"not {packets_per_cycle!r}"
        )
    fits = (n for n in range(1, p.channels + 1) if not p.channels % n and n >= packets_per_cycle)
    round_trip = round_trip_cycles(1, latency_cycles) + FRAME_ATOMS + 1
    return _fit(p, 1, share, round_trip), min(fits)


def _fit(p: T3Parameters, channels: int, share: float, round_trip: int) -> LinkParameters:
    """Derive an endpoint whose channels have this share of packets per cycle each."""
    depth = ceil(share * round_trip) + p.interleave_atoms
    depth += depth % 2
    given = LinkParameters(contexts=p.contexts)
    # Longer than the time of an acknowledgement that is lost once and repeated.
    longest = round_trip + 2 * given.idle_cycles
    return LinkParameters(
        channels=channels,
        replay_depth=max(4, depth),
        receive_depth=max(4, depth),
        timeout_cycles=max(given.timeout_cycles, 1 << longest.bit_length()),
        contexts=p.contexts,
    )
