"""System as one file: every value, the file that gives it, and its source."""

from itertools import groupby

import tomlkit

from .parameters import Parameter, parameters
from .system import System, load_system

__all__ = ["complete_toml", "differences", "summary"]


def complete_toml(source: str) -> str:
    """Write a system as TOML without a base; a comment behind each value names its file and source.

    Parameters
    ----------
    source : str
        Name of a preset, or a file.

    Raises
    ------
    InputError
        The system is not sound.
    """
    system = load_system(source)
    lines = [f"# {line}" for line in summary(system)]
    lines.append("")
    for key in ("description", "source"):
        lines.append(f"{key} = {tomlkit.string(getattr(system, key)).as_string()}")
    values = sorted(parameters(source), key=_place)
    for section, group in groupby(values, key=_section):
        lines += ["", _header(section)] if section else []
        given = [(one, f"{one.key.rpartition('.')[2]} = {one.value}") for one in group]
        lines += [f"{text:35} # {_origin(one)}" for one, text in given]
    return "\n".join(lines) + "\n"


def summary(system: System) -> list[str]:
    """Summarize a system in a few lines: peak, memory, link and hardware clock."""
    gpu, t3 = system.gpu, system.t3
    peak, memory = system.peak_flops_per_ns, system.dram_bytes_per_ns
    link = system.link
    gives = f"memory {memory:,.0f} GB/s in {system.dram.channels} channels"
    return [
        f"{system.name}: {system.description}",
        f"peak {peak / 1e3:,.1f} TFLOP/s fp16, {gpu.compute_units} compute units",
        f"{gives}: {peak / memory:.0f} flop for each byte",
        f"link {link.bandwidth_gb_per_s:g} GB/s a direction, {link.latency_ns:g} ns",
        f"topology {system.topology.name}: {system.topology.description}",
        f"T3 hardware at {system.clock_mhz:g} MHz, triggered by {t3.granularity}",
    ]


def differences(one: str, other: str) -> list[tuple[str, str, str]]:
    """List the keys whose values differ between two systems, with both values; a dash for none.

    Raises
    ------
    InputError
        One of the systems is not sound.
    """
    values = []
    for field, source in (("one", one), ("other", other)):
        load_system(source, field=field)
        values.append({value.key: value.value for value in parameters(source)})
    keys = dict.fromkeys((*values[0], *values[1]))
    pairs = ((key, *(found.get(key, "-") for found in values)) for key in keys)
    return [(key, first, second) for key, first, second in pairs if first != second]


def _section(one: Parameter) -> str:
    return one.key.rpartition(".")[0]


def _place(one: Parameter) -> tuple[int, str]:
    """Sort key: sections in the order of the schema, each before its subsections."""
    section = _section(one)
    if not section:
        return -1, section
    return list(System.model_fields).index(section.partition(".")[0]), section


def _header(section: str) -> str:
    name, _, last = section.rpartition(".")
    return f"[[{name}]]" if last.isdigit() else f"[{section}]"


def _origin(one: Parameter) -> str:
    return f"{one.file}: {one.source}" if one.source else one.file
