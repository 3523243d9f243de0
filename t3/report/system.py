"""System in a few lines: peak, memory, links and hardware clock."""

from collections import Counter

from sysmodel.config.system import System
from sysmodel.network.expansion import expand

__all__ = ["summary"]


def summary(system: System) -> list[str]:
    """Summarize a system in a few lines; its links are those of the topology's usual number of
    GPUs."""
    gpu, t3 = system.gpu, system.t3
    peak, memory = system.peak_flops_per_ns, system.dram_bytes_per_ns
    gives = f"memory {memory:,.0f} GB/s in {system.dram.channels} channels"
    return [
        f"{system.name}: {system.description}",
        f"peak {peak / 1e3:,.1f} TFLOP/s fp16, {gpu.compute_units} compute units",
        f"{gives}: {peak / memory:.0f} flop for each byte",
        f"topology {system.topology.name}: {system.topology.description}",
        _links(system),
        f"T3 hardware at {system.clock_mhz:g} MHz, triggered by {t3.granularity}",
    ]


def _links(system: System) -> str:
    """Describe the links that leave a GPU; all GPUs of a topology have equal ones."""
    fabric = expand(system.topology, system.topology.usual_gpus, system.link)
    kinds: Counter[str] = Counter()
    for number in fabric.leaving[0]:
        link = fabric.links[number]
        end = "" if fabric.is_gpu(link.target) else " to a switch"
        rate = f"{link.values.bandwidth_gb_per_s:,.5g} GB/s a direction"
        kinds[f"{rate}{end}, {link.latency_ns:,.5g} ns"] += 1
    shown = "; ".join(f"{count} of {kind}" for kind, count in kinds.items())
    return f"links of each of {fabric.gpus} GPUs: {shown}"
