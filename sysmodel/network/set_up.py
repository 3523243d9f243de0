"""Set-up of the network in a machine's state: records of links, queues and hops, and tables."""

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from sysmodel.engine.ports import PACKET
from sysmodel.gpu.atoms import ATOM_BYTES

from .capacity import Capacity
from .records import MOST_SUMS, NO_HOP, TABLES, TAG
from .routes import Hop, Routes

__all__ = ["set_up_network"]

_State = TypeVar("_State", bound=Any)


def set_up_network(
    state: _State,
    capacity: Capacity,
    *,
    mirror: int = 0,
    tile_atom_bits: int = 0,
    stall_share: float = 0.0,
    receivers: Sequence[Sequence[int]] | None = None,
    seed: int = 0,
    most_packets: int = sys.maxsize,
    most_admissions: int = sys.maxsize,
) -> _State:
    """Join the GPUs of ``state`` by a network.

    END packets announce atoms in ``tile_atom_bits``. T3's packets of each GPU go to ``receivers``,
    which they name, by default to its neighbour downstream. ``mirror`` is ``EVEN`` or ``UNEVEN`` if
    one GPU stands for all, otherwise 0. Without windows, a channel never has more than
    ``most_packets`` packets on its way, and a context never more than ``most_admissions`` changes
    of its admission in flight.

    Returns the state with tables of the lengths that the network needs.
    """
    routes, fixed = capacity.routes, state.fixed
    fixed["gpus"] = len(routes.senders)
    fixed["link_stall"] = round(stall_share * 65536)
    fixed["mirror"] = mirror
    fixed["announces"] = mirror != 0 or routes.channels < capacity.system_channels
    fixed["tile_atom_bits"] = tile_atom_bits
    fixed["packet_atoms"], fixed["packet_gap"] = capacity.packet_atoms, capacity.packet_gap
    hops = _hop_numbers(routes)
    tables = _links(capacity) | _hops(capacity, hops) | _hop_tables(routes, hops) | _sums(routes)
    fixed["sum_places"] = len(tables["sum_entry"]) // routes.channels
    fixed["by_destination"] = receivers is not None
    tables["receiver"] = np.array(receivers or [[to] for _, to in routes.neighbours()], np.int64)
    _set_up_gpus(state, capacity, tables["receiver"])
    random = np.random.default_rng(seed)
    state.channel["stall_random"] = random.integers(1, 1 << 62, len(state.channel))
    state.channel["plane"] = np.arange(len(state.channel)) % routes.channels % routes.fabric.planes
    replaced: _State = state._replace(
        **tables,
        **_admissions(state, most_admissions),
        **_packets(state, capacity, tables, sys.maxsize if routes.windows else most_packets),
    )
    return replaced


def _places(least: int) -> int:
    """Smallest power of two that is not less than a number of places."""
    return 1 << (least - 1).bit_length()


def _links(capacity: Capacity) -> dict[str, np.ndarray]:
    """Make the records of links and queues."""
    routes = capacity.routes
    link = np.zeros(len(routes.fabric.links), TABLES["link"].dtype)
    link["rate_bytes"] = [capacity.rate(e) for e in range(len(link))]
    link["atom_bytes"] = ATOM_BYTES
    if capacity.packets is not None:
        link["atom_bytes"] = capacity.packets.atom_bytes
        link["header_bytes"] = capacity.packets.header_bytes
    link["latency"] = capacity.latency_cycles
    at_port = [e for gpu in routes.senders for e in routes.links_of(gpu)]
    link["at_port"][at_port] = 1
    queue = np.zeros(len(routes.queue_links), TABLES["queue"].dtype)
    queue["link"] = routes.queue_links
    # The first of a link's queues has the lowest number.
    for number, e in reversed(list(enumerate(routes.queue_links))):
        link["first_queue"][e] = number
        link["queues"][e] += 1
    # After a pause, a packet of each channel passes at once, on every link of a way alike.
    at_once = np.array([max(1, capacity.channels(e)) for e in range(len(link))])
    for plane in routes.planes:
        for gpu in routes.senders:
            port = routes.port_link(gpu, plane)
            if port is not None:
                link["turn"][port] = plane % routes.port_planes
    link["most_bytes"] = link["rate_bytes"] + ATOM_BYTES * at_once
    return {"link": link, "queue": queue, "own_link": np.array(at_port, np.int64)}


def _hop_numbers(routes: Routes) -> dict[Hop, int]:
    """Number of the first record of each hop."""
    numbers: dict[Hop, int] = {}
    count = 0
    for hop in routes.hops():
        if hop not in numbers:
            numbers[hop] = count
            count += routes.channels if hop.by_channel else 1
    return numbers


def _hops(capacity: Capacity, numbers: dict[Hop, int]) -> dict[str, np.ndarray]:
    """Make the records of hops."""
    channels = capacity.routes.channels
    count = sum(channels if one.by_channel else 1 for one in numbers)
    hop = np.zeros(count, TABLES["hop"].dtype)
    for one, number in numbers.items():
        same = hop[number : number + (channels if one.by_channel else 1)]
        same["queue"] = -1 if one.queue is None else one.queue
        same["gpu"] = one.gpu
        same["by_channel"] = one.by_channel
        same["most"] = capacity.places(one)
    return {"hop": hop}


def _hop_tables(routes: Routes, numbers: dict[Hop, int]) -> dict[str, np.ndarray]:
    """Make the tables of hops by destination."""
    planes, senders = len(routes.planes), len(routes.senders)
    windows, gpus = routes.window_count, routes.fabric.gpus
    destinations = 1 if routes.mirror else gpus * (1 + max(routes.multicasts, 2 * routes.merges))
    first = np.full((planes, senders, windows), NO_HOP, np.int64)
    following = np.full((planes, len(routes.queue_links), destinations), NO_HOP, np.int64)
    copies: list[int] = []
    starts = [0]
    for table, steps in ((first, routes.first), (following, routes.following)):
        for place, step in steps.items():
            if len(step) == 1:
                table[place] = numbers[step[0]]
                continue
            table[place] = -1 - len(starts)
            copies += [numbers[one] for one in step]
            starts.append(len(copies))
    window = np.zeros((senders, windows), np.int64)
    if not routes.mirror:
        window[:] = [[routes.destination(g, w) for w in range(windows)] for g in routes.senders]
    ports = [[routes.port_link(g, plane) for g in routes.senders] for plane in routes.planes]
    return {
        "first_hop": first,
        "next_hop": following,
        "copy_hop": np.array(copies, np.int64),
        "copy_start": np.array(starts, np.int64),
        "window_destination": window,
        "port_link": np.array([[-1 if e is None else e for e in row] for row in ports], np.int64),
    }


def _sums(routes: Routes) -> dict[str, np.ndarray]:
    """Make the tables of the sums in switches; half of the places stay free."""
    channels = routes.channels if routes.merges else 0
    packets = np.ones((len(routes.planes), len(routes.queue_links), routes.fabric.gpus), np.int64)
    for place, senders in routes.merged.items():
        packets[place] = len(senders)
    return {
        "sum_entry": np.zeros(channels * 2 * MOST_SUMS, TABLES["sum_entry"].dtype),
        "sums": np.zeros(channels, np.int64),
        "sum_packets": packets,
    }


def _set_up_gpus(state: Any, capacity: Capacity, receivers: np.ndarray) -> None:
    """Set up the fields of GPUs and of their ports. A GPU's admission takes as long to all senders
    as to the one farthest away."""
    routes = capacity.routes
    state.gpu["first_send"] = -1
    first = 0
    for gpu in routes.senders:
        links = routes.links_of(gpu)
        row = state.gpu[gpu : gpu + 1]
        row["first_link"], row["links"] = first, len(links)
        row["link_rate_bytes"] = sum(capacity.rate(link) for link in links)
        first += len(links)
    for sender, gpu in ((g, peer) for g in routes.senders for peer in receivers[g]):
        to = routes.destination(sender, 0) if routes.mirror else gpu
        ways = [routes.way(sender, to, plane) for plane in routes.planes]
        latency = max(sum(capacity.latency_cycles[link] for link in way) for way in ways)
        known = state.context["admission_latency"][gpu]
        state.context["admission_latency"][gpu] = np.maximum(known, latency)
    state.fixed["port_planes"] = routes.port_planes
    state.fixed["port_in_turn"] = routes.ports_in_turn


def _admissions(state: Any, most_admissions: int) -> dict[str, np.ndarray]:
    context = state.context
    admissions = _places(min(int(context["admission_latency"].max()) + 1, most_admissions))
    state.fixed["admission_mask"] = admissions - 1
    context["admission_base"] = np.arange(context.size).reshape(context.shape) * admissions
    places = context.size * admissions
    return {name: np.zeros(places, np.int64) for name in ("admission", "admission_time")}


def _packets(
    state: Any, capacity: Capacity, tables: dict[str, np.ndarray], most_packets: int
) -> dict[str, np.ndarray]:
    """Make the circular buffers of receivers and queues."""
    hop, queue, channels = tables["hop"], tables["queue"], capacity.routes.channels
    receiving = hop[hop["queue"] < 0]
    at_gpu = np.zeros(len(capacity.routes.senders), np.int64)
    np.add.at(at_gpu, receiving["gpu"], receiving["most"])
    # If the tiles of uneven chunks differ, several packets may arrive for a packet sent.
    at_once = int(state.per_wave.max(initial=1))
    places = _places(min(int(at_gpu.max()) // channels, most_packets) + at_once)
    receivers = len(at_gpu) * channels
    state.fixed["packet_mask"] = places - 1
    state.channel["packet_base"] = np.arange(receivers) * places
    count = receivers * places
    for number, one in enumerate(queue):
        behind = int(hop["most"][hop["queue"] == number].sum())
        one["base"], one["mask"] = count, _places(behind) - 1
        count += _places(behind)
    return {
        "packet_time": np.zeros(count, np.int64),
        "packet_place": np.arange(count),
        "packet_tag": np.zeros((count, len(TAG)), np.int64),
        "wire_packet": np.zeros((count, len(PACKET)), np.uint64),
    }
