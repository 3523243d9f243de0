"""Parameters of the hardware that a system describes."""

from typing import Any

from rtl.link.parameters import LinkParameters
from rtl.link.sizing import fit_link, fit_ports
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from sysmodel.config.system import System
from sysmodel.lib.errors import InputError

__all__ = ["MOST_PEERS", "hardware_parameters", "link_parameters", "port_parameters"]

MOST_PEERS = T3Parameters.peers
"""Most GPUs with which a GPU exchanges packets."""

_RING_PEERS = 2  # of a GPU in a ring; other peers of the reference would change nothing
_RING_RANGES = 4


def hardware_parameters(
    system: System,
    *,
    channels: int = 1,
    first_channel: int = 0,
    contexts: int = 1,
    with_data: bool = False,
    address_bits: int = T3Parameters.address_bits,
    peers: int = 0,
    ranges: int = 0,
) -> T3Parameters:
    """Compute the parameters of the T3 hardware that serves ``channels`` of the memory's channels.

    The hardware gets only the active contexts, because idle contexts would change nothing.
    With windows of other GPUs' memories, addresses are wider than usual. There are at least the
    peers and the ranges of a ring.

    Raises
    ------
    InputError
        If, with ``with_data``, the memory is faster than the reduce unit.
    """
    dram, t3 = system.dram, system.t3
    # The second update of an atom must find the result of the first one.
    between = (dram.timing_cycles.tCCD_WL or 0) // t3.clock_divider
    if with_data and between < NmcUnit.LATENCY:
        raise InputError(
            "dram.timing.tCCD_WL",
            f"{between} cycles of the T3 hardware are not allowed with real values; allowed: the "
            f"{NmcUnit.LATENCY} of the reduce unit, or more",
        )
    return T3Parameters(
        channels=channels,
        first_channel=first_channel,
        system_channels=dram.channels,
        interleave_atoms=dram.interleave_bytes // dram.atom_bytes,
        atom_bytes=dram.atom_bytes,
        sets=t3.tracker_sets,
        ways=t3.tracker_ways,
        # A share of the banks, so that the tracker of a sample has the relative speed of the whole.
        banks=_power_of_two(t3.tracker_banks * channels // dram.channels),
        credit_window=t3.credit_window_workgroups,
        command_depth=t3.command_depth,
        dma_walkers=t3.dma_walkers,
        egress_slots=t3.egress_slots,
        contexts=contexts,
        peers=max(_RING_PEERS, peers),
        ranges=max(_RING_RANGES, ranges),
        with_data=with_data,
        address_bits=address_bits,
    )


def link_parameters(system: System, p: T3Parameters) -> LinkParameters:
    """Compute the parameters of the link endpoints.

    They fit the latency of the system's link, and give each channel its share of the link's rate.
    """
    packets_per_cycle = system.link.t3_gb_per_s * system.cycle_ns / p.atom_bytes
    return fit_link(
        p,
        packets_per_cycle=packets_per_cycle / system.dram.channels * p.system_channels,
        latency_cycles=system.cycles(system.link.latency_ns),
    )


def port_parameters(system: System, p: T3Parameters, ports: int) -> dict[str, Any]:
    """Compute the arguments of the links to fully connected GPUs, whose ports divide the rate of
    the system's link."""
    link, lanes = fit_ports(
        p,
        packets_per_cycle=system.link.t3_gb_per_s * system.cycle_ns / p.atom_bytes,
        latency_cycles=system.cycles(system.link.latency_ns),
        ports=ports,
    )
    return {"link": link, "ports": ports, "lanes": lanes}


def _power_of_two(most: int) -> int:
    """Largest power of two up to ``most``, at least 1."""
    return 1 << max(0, most.bit_length() - 1)
