"""Parameters of links from their rate and their latency."""

from math import ceil

from rtl.parameters import T3Parameters

from .parameters import LinkParameters

__all__ = ["fit_link", "round_trip_cycles"]

# From the cycle in which a packet is written into the replay memory to the one in which its place
# is free again, with a link without latency.
_PIPELINES_CYCLES = 18


def round_trip_cycles(channels: int, latency_cycles: int) -> int:
    """Cycles after which a packet's place is free again, if as many channels share the link.

    The packet and what acknowledges it may each wait for a flit of every other channel.
    """
    return _PIPELINES_CYCLES + 2 * latency_cycles + 2 * (channels - 1)


def fit_link(p: T3Parameters, *, packets_per_cycle: float, latency_cycles: int) -> LinkParameters:
    """As few endpoints, and as small ones, as carry a link's packets at its rate.

    An endpoint sends one flit per cycle, and all serve as many channels. Each channel has its share
    of the link's rate: its replay memory and its receive buffer hold what that sends in a round
    trip, and beyond that what a transfer sends to a channel at once.

    Parameters
    ----------
    p : T3Parameters
    packets_per_cycle : float
        Of the whole link to a neighbour, for all channels of the memory.
    latency_cycles : int
        From ``send`` of one endpoint to ``receive`` of the other.

    Raises
    ------
    ValueError
        If a channel has more than a packet per cycle, or none.
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
    round_trip = round_trip_cycles(channels, latency_cycles)
    depth = ceil(share * round_trip) + p.interleave_atoms
    depth += depth % 2
    given = LinkParameters(contexts=p.contexts)
    # Longer than an acknowledgement takes which is lost and told again.
    longest = round_trip + 2 * given.idle_cycles
    return LinkParameters(
        channels=channels,
        replay_depth=max(4, depth),
        receive_depth=max(4, depth),
        timeout_cycles=max(given.timeout_cycles, 1 << longest.bit_length()),
        contexts=p.contexts,
    )
