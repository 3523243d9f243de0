"""A system as one file: every value, from which file it comes, and why it is what it is."""

from itertools import groupby

from .parameters import Parameter, parameters
from .system import System, load_system

__all__ = ["complete_toml", "differences", "summary"]


def complete_toml(source: str) -> str:
    """TOML that needs no base, with a comment behind each value: the file that gives it, and its
    source.

    Parameters
    ----------
    source : str
        A preset's name or a file.

    Raises
    ------
    InputError
        It is no sound system.
    """
    system = load_system(source)
    lines = [f"# {line}" for line in summary(system)]
    lines += ["", f"description = {_text(system.description)}", f"source = {_text(system.source)}"]
    values = sorted(parameters(source), key=_place)
    for section, group in groupby(values, key=_section):
        lines += ["", _header(section)]
        given = [(one, f"{one.key.rpartition('.')[2]} = {one.value}") for one in group]
        lines += [f"{text:35} # {_origin(one)}" for one, text in given]
    return "\n".join(lines) + "\n"


def summary(system: System) -> list[str]:
    """What a system amounts to, in a few lines."""
    gpu, t3 = system.gpu, system.t3
    peak, memory = system.peak_flops_per_ns, system.dram_bytes_per_ns
    gives = f"memory {memory:,.0f} GB/s in {system.dram.channels} channels"
    return [
        f"{system.name}: {system.description}",
        f"peak {peak / 1e3:,.1f} TFLOP/s fp16, {gpu.compute_units} compute units",
        f"{gives}: {peak / memory:.0f} flop for each byte",
        f"link {system.link.bandwidth_gb_per_s:g} GB/s a direction, {system.link.latency_ns:g} ns",
        f"T3 hardware at {system.clock_mhz:g} MHz, triggered by {t3.granularity}",
    ]


def differences(one: str, other: str) -> list[tuple[str, str, str]]:
    """Keys whose values differ between two systems, with both values; a dash for none.

    Raises
    ------
    InputError
        One of them is no sound system.
    """
    values = []
    for source in (one, other):
        load_system(source)
        values.append({value.key: value.value for value in parameters(source)})
    keys = dict.fromkeys((*values[0], *values[1]))
    pairs = ((key, *(found.get(key, "-") for found in values)) for key in keys)
    return [(key, first, second) for key, first, second in pairs if first != second]


def _section(one: Parameter) -> str:
    return one.key.rpartition(".")[0]


def _place(one: Parameter) -> tuple[int, str]:
    """Sections as the schema has them; their own values before those of the sections in them."""
    section = _section(one)
    return list(System.model_fields).index(section.partition(".")[0]), section


def _header(section: str) -> str:
    name, _, last = section.rpartition(".")
    return f"[[{name}]]" if last.isdigit() else f"[{section}]"


def _text(words: str) -> str:
    escaped = words.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _origin(one: Parameter) -> str:
    return f"{one.file}: {one.source}" if one.source else one.file
