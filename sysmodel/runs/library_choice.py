"""Choice of a collective library between its algorithms, as NCCL and RCCL make it.

- NCCL adds and copies in the switches (NVLS) for all-reduces within a node, from a number of GPUs
  and a size on, which its cost model decides; a reduce-scatter or an all-gather gains nothing.
- RCCL ships files for MSCCL by which small all-reduces of eight GPUs of a full mesh go straight
  from every GPU to every other one.
- All else goes around rings.
"""

from typing import NamedTuple

from sysmodel.collectives.schedule import Expanded, Operation
from sysmodel.config.library import Protocol, SwitchProtocol
from sysmodel.config.system import System
from sysmodel.network.fabric import Fabric
from sysmodel.network.switching import switches_merge

from .program.program import Chain
from .run_network import RunNetwork

__all__ = [
    "IN_SWITCH",
    "Choice",
    "chain_choice",
    "in_switch_protocol",
    "library_choice",
    "library_protocol",
    "running",
]

IN_SWITCH, DIRECT = "in-switch", "direct"


def library_choice(network: RunNetwork, operation: Operation, message_bytes: float) -> str:
    """Return the name of the algorithm that the library takes.

    Parameters
    ----------
    message_bytes : float
        Bytes of the whole buffer.
    """
    library, fabric = network.system.collective, network.fabric
    if operation != "all-reduce" or library.algorithm is not None:
        return network.algorithm.name
    in_switch = library.in_switch
    if in_switch and in_switch.takes(network.gpus, message_bytes) and switches_merge(fabric):
        return IN_SWITCH
    if message_bytes <= 1024 * (library.direct_most_kib or 0) and _is_mesh(fabric):
        return DIRECT
    return network.algorithm.name


class Choice(NamedTuple):
    """Collective that the library runs for those of a chain, instead of what ``sequential`` runs.

    Parameters
    ----------
    message_bytes : int
        Bytes of the chain's whole output, on which the costs depend.
    """

    algorithm: str
    operation: Operation
    message_bytes: int


def chain_choice(network: RunNetwork, chain: Chain, message_bytes: int) -> Choice | None:
    """Choose for the collectives of a chain; None if ``sequential`` runs the same.

    A reduce-scatter and the all-gather of it are one all-reduce.
    """
    if any(one.algorithm is not None for one in chain.collectives):
        return None
    reduces_all = chain.gather is not None or (
        chain.reduction is not None and chain.reduction.operation == "all-reduce"
    )
    if not reduces_all:
        return None
    name = library_choice(network, "all-reduce", message_bytes)
    return None if name == network.algorithm.name else Choice(name, "all-reduce", message_bytes)


def running(system: System, schedule: Expanded) -> System:
    """Return the system with the wavefronts of the library's kernel for a schedule."""
    in_switch = system.collective.in_switch
    if in_switch is None or not schedule.merges:
        return system
    names = ("waves_per_cu", "bytes_in_flight_per_wave")
    shape = {name: getattr(in_switch, name) for name in names}
    return system.model_copy(update={"collective": system.collective.model_copy(update=shape)})


def in_switch_protocol(
    system: System, fabric: Fabric, schedule: Expanded, message_bytes: float
) -> SwitchProtocol | None:
    """Protocol of a schedule whose packets switches add; None for any other, or if the library of
    the system has none."""
    in_switch = system.collective.in_switch
    if in_switch is None or not schedule.merges:
        return None
    gpus = schedule.ranks
    chunks = gpus + 1 if schedule.streams else gpus
    return in_switch.protocol(chunks, message_bytes, gpus, fabric.port_bytes_per_ns("stores"))


def library_protocol(network: RunNetwork, choice: Choice) -> Protocol:
    """Protocol of a collective that the library chooses."""
    system, message_bytes = network.system, choice.message_bytes
    schedule = network.schedule(choice.operation, choice.algorithm)
    in_switch = in_switch_protocol(system, network.fabric, schedule, message_bytes)
    return in_switch or network.protocol(message_bytes / network.gpus)


def _is_mesh(fabric: Fabric) -> bool:
    """Test whether a link leads from every GPU to every other one."""
    gpus = range(fabric.gpus)
    return all(len(fabric.leaving[g]) == fabric.gpus - 1 for g in gpus) and not fabric.switches
