"""Points of a grid: one simulation each, with its coordinates in the table."""

import json
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from sysmodel.config.system import System
from sysmodel.config.workload import Workload
from sysmodel.lib.cache import digest
from sysmodel.runs.options import RunOptions

from .axes import LISTS

__all__ = ["Point"]

# Keys of a system that do not change the simulation.
_NAMES = ("name", "description", "source")
_UNUSED: Any = {**dict.fromkeys(_NAMES, True), "topology": set(_NAMES)}


@dataclass(frozen=True, kw_only=True)
class Point:
    """Point of a grid.

    ``names_program`` adds the program to the coordinates, for a grid that chooses it.
    """

    workload: Workload
    system: System
    options: RunOptions
    names_program: bool = False

    @cached_property
    def identity(self) -> str:
        """Digest of the simulation, without names and configurations."""
        work, options = self.workload, self.options
        gemm = work.m, work.n, work.k, work.tp, work.dtype
        how = options.engine, options.channels_of(self.system), options.gpus, options.seed
        program = options.program.as_dict()["activities"]
        system = self.system.model_dump(mode="json", exclude=_UNUSED)
        return digest([], json.dumps([gemm, how, program, system], sort_keys=True))

    def coordinates(self, system_keys: tuple[str, ...]) -> dict[str, Any]:
        """Coordinates of the point: the first columns of its rows in the table."""
        work, options = self.workload, self.options
        return {
            "model": work.model,
            "layer": work.layer,
            "tp": work.tp,
            "m": work.m,
            "n": work.n,
            "k": work.k,
            "dtype": work.dtype,
            "system": self.system.name,
            **{key: _system_value(self.system, key) for key in system_keys},
            **({"program": options.program.name} if self.names_program else {}),
            "engine": options.engine,
            "channels": options.channels_of(self.system),
            "gpus": options.gpus,
        }

    def title(self, system_keys: tuple[str, ...]) -> str:
        """Title of the point in messages."""
        values = [f"{key} = {_system_value(self.system, key)}" for key in system_keys]
        options = self.options
        how = f"{options.engine}, channels {options.channels}, gpus {options.gpus}"
        if self.names_program:
            how = f"program {options.program.name}, {how}"
        return ", ".join([f"{self.workload.title} on {self.system.name}", *values, how])

    @property
    def expected_cycles(self) -> int:
        """Estimate of the channel cycles to simulate, as the weight of the point."""
        work, system, options = self.workload, self.system, self.options
        gemm_ns = work.flops / system.peak_flops_per_ns
        collective_ns = 2 * work.output_bytes / system.link.stores_gb_per_s
        gpus = work.tp if options.gpus == "all" else 1
        cycles = 1 + system.cycles(gemm_ns + collective_ns)
        channels = options.channels_of(system)
        if channels == "auto":
            channels = system.dram.pseudo_channels
        return cycles * gpus * channels * len(options.configurations)


def _system_value(system: System, key: str) -> Any:
    """Value of a dotted key; JSON text if it is a list, and the name of a topology."""
    if key == "topology":
        return system.topology.name
    *sections, last = key.split(".")
    section = reduce(getattr, sections, system)
    value = getattr(section, last)
    return json.dumps(section.model_dump(mode="json")[last]) if type(value) in LISTS else value
