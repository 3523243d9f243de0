"""Tables of a run on the terminal, for 80 columns."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import fill

from rich.table import Table as RichTable

from sysmodel.config.notices import notices
from sysmodel.runs.bounds import Bound, bounds
from sysmodel.runs.columns import catalogue
from sysmodel.runs.comparison import ROUND_ROBIN, Spread, slower, spreads
from sysmodel.runs.configuration_result import ConfigurationResult
from sysmodel.runs.configurations.registry import BASE, CONFIGURATIONS
from sysmodel.runs.program.activities import Gemm, title_of
from sysmodel.runs.result import RunResult
from sysmodel.runs.rivals import rivals_among
from sysmodel.runs.tuned_library import library_efficiency

from .document import Table
from .terminal import shown_table, terminal
from .units import Unit, unit_of

__all__ = ["print_run"]


Cell = Callable[[ConfigurationResult], str]
"""Text of a cell of a configuration."""

_FIRST = "pipes"
_SHOWN_SLOTS = ((_FIRST, ("pipes",)), ("data", ("l2", "memory")), ("stores", ("stores", "link")))
_WIDE = 6  # columns of traffic from which on they stand closer, to fit into 80 columns
_SCALED = "*"  # mark of columns whose bytes are scaled from the simulated channels
_NAME_WIDTH = 13  # width of a configuration's name, which leaves enough space for the numbers


def print_run(result: RunResult, files: list[Path]) -> None:
    """Print the results of a run and the paths of its files."""
    console = terminal()
    console.print()
    console.print(_times(result))
    for sentence, style in _rivals(result):
        console.print(sentence, style=style, soft_wrap=True)
    for sentence in _simulated(result):
        console.print(sentence, soft_wrap=True)
    for notice in notices(result.system):
        console.print(notice, style="yellow", soft_wrap=True)
    for one in slower(result.repetitions, result.sampling_band):
        console.print(one.sentence, style="yellow", soft_wrap=True)
    console.print()
    if result.varied:
        console.print(_repetitions(result))
        console.print()
    if found := bounds(result):
        console.print(_bounds(result, found))
        console.print()
    console.print(_bytes(result))
    if result.scaled:
        console.print(
            f"{_SCALED} scaled from {result.channels} of {result.system.dram.channels} channels, "
            "as is the energy; other bytes are exact.",
            soft_wrap=True,
        )
    console.print()
    console.print(_energy(result))
    console.print()
    for gemm in result.program.gemms:
        console.print(f"{title_of(gemm.name)} alone: {_efficiency(result, gemm)}.")
    console.print(
        f"Simulated {result.cycles:,} memory cycles in {result.wall_s:.1f} s "
        f"({result.cycles_per_s / 1e6:.2f} M/s), {result.options.engine} engine."
    )
    stalls = max(one.tracker_stall_ns for one in result.configurations.values())
    console.print(
        "The tracker never stalled the memory."
        if stalls == 0
        else f"The tracker stalled the memory for at most {stalls:,.1f} ns (per channel)."
    )
    for file in files:
        console.print(f"  {file}", style="cyan", soft_wrap=True)


def _efficiency(result: RunResult, gemm: Gemm) -> str:
    """Describe a GEMM's share of the peak, beside a library that runs at the peak's clock."""
    share = f"{result.efficiencies[gemm.name]:.1%} of peak"
    clock, boost = result.system.gpu.clock_mhz, result.system.gpu.boost_clock_mhz
    if boost is not None:
        if clock < boost:
            return f"{share}, at the clock under the power limit"
        return f"{share}, at {'the boost clock' if clock == boost else 'more than the boost clock'}"
    k = result.program.workload_of(gemm, result.workload).k
    return f"{share} (a tuned library at K = {k}: {library_efficiency(k):.1%})"


def _rivals(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield sentences on the rivals that are left out, on the fastest rival, and on T3 over it,
    where the run has others than the base; each with its style: a loss is marked."""
    names: dict[str, list[str]] = {}
    for name, reason in result.rivals_left_out.items():
        names.setdefault(reason, []).append(name)
    for reason, each in names.items():
        yield f"{', '.join(each)} left out: {reason}.", ""
    others = [name for name in rivals_among(result.configurations) if name != BASE]
    tracked = {
        name: (one.speedup_over_rival, one.total_ns)
        for name, one in result.configurations.items()
        if CONFIGURATIONS[name].tracked and one.speedup_over_rival is not None
    }
    if not others or not tracked:
        return
    unit, words = _unit(result)
    total = words(next(ratio * total_ns for ratio, total_ns in tracked.values()))
    ratios = ", ".join(f"{name} {ratio:.3f}x" for name, (ratio, _) in tracked.items())
    wins = max(ratio for ratio, _ in tracked.values()) >= 1
    style = "" if wins else "yellow"
    yield f"Fastest rival without T3: {result.fastest_rival}, {total} {unit}.", style
    yield f"Over it: {ratios}.", style


def _simulated(result: RunResult) -> Iterator[str]:
    """Sentences on the simulated GEMMs and channels, unless they are the whole GEMM and GPU."""
    if result.launches > sum(bool(one.collectives) for one in result.program.chains):
        yield (
            f"T3 tracks it in {result.launches} launches, since a chunk of the whole exceeds its "
            "window; each has a reduce-scatter and an all-gather of its own."
        )
    if result.every_gpu_because:
        yield (
            f"Every one of the {result.workload.tp} GPUs is simulated: {result.every_gpu_because}, "
            "so one cannot represent all."
        )
    if result.network.unused:
        yield result.network.unused
    for name, configuration in result.configurations.items():
        for activity, words in configuration.chosen.items():
            yield f"{name}, {title_of(activity)}: {words}."
    if result.library:
        sequential = result.network.algorithm.name
        chosen = (f"{title_of(name)} by {one}" for name, one in result.library.items())
        yield f"library runs {', '.join(chosen)}; sequential runs them by {sequential}."
    for one in result.sampling_errors:
        if one.is_large:
            channels = f"{one.channels} channels"
            other = channels if one.of == "channels" else f"{channels} of every GPU"
            yield f"With {other}, speedups differ by up to {one.difference:.1%}."
    if result.sampling_band:
        whole = "all channels"
        if any(one.is_large and one.of == "gpus" for one in result.sampling_errors):
            whole = "every GPU"
        yield (
            f"Channels simulated: {result.channels} of {result.system.dram.channels}. Speedups are "
            f"within {result.sampling_band:.0%} of those of {whole};"
        )
        yield "a smaller difference between configurations may have either sign."
    if result.extrapolated:
        simulated = (one for gemms in result.simulated.values() for one in gemms)
        sizes = {f"{one.m} x {one.n} x {one.k}": None for one in simulated}
        yield (
            f"Too large to simulate: extrapolated from {', '.join(sizes)}, linearly in rows and "
            "depth."
        )


def _thousandths(value: float) -> str:
    """Thousandth of a number, with a decimal unless there are many digits."""
    return f"{value / 1e3:,.1f}" if value < 1e6 else f"{value / 1e3:,.0f}"


def _unit(result: RunResult) -> tuple[str, Callable[[float], str]]:
    """Unit in which all times have few digits, and the function that writes a time in it."""
    longest = max(one.total_ns for one in result.configurations.values())
    return ("µs", _thousandths) if longest < 1e7 else ("ms", lambda value: f"{value / 1e6:,.2f}")


def _times(result: RunResult) -> RichTable:
    unit, words = _unit(result)
    alone = len(result.program.gemms) == 1  # space for its slow-down by cause
    activities: dict[str, Cell] = {}
    for activity in result.program.activities:
        activities[f"\n\n{title_of(activity.name)}"] = _time_cell(activity.name, words)
        if alone and isinstance(activity, Gemm):
            ratios = "con-\nten-\ntion", "\n\nlink", "\nwait-\ning"
            for heading, ratio in zip(ratios, ("contention", "link", "waiting"), strict=True):
                activities[heading] = _ratio_cell(activity.name, ratio)
    headings = (
        *("\n\nconfiguration", *activities, "comm.\nhid-\nden", "comm.\nex-\nposed"),
        *("\n\ntotal", "\nspeed-\nup"),
    )
    rows = [
        (
            fill(name, _NAME_WIDTH),
            *(cell(one) for cell in activities.values()),
            words(one.overlapped_communication_ns),
            words(one.exposed_communication_ns),
            words(one.total_ns),
            "-" if one.speedup is None else f"{one.speedup:.3f}x",
        )
        for name, one in result.configurations.items()
    ]
    title = f"{result.title} on {result.system.name}: times in {unit}"
    shown = shown_table(title, Table(headings, rows), gap=1)
    shown.columns[-1].style = "bold green"
    return shown


def _time_cell(name: str, words: Callable[[float], str]) -> Cell:
    return lambda one: words(one.ns[name])


def _ratio_cell(name: str, ratio: str) -> Cell:
    return lambda one: f"{getattr(one.gemms[name], ratio):.3f}"


def _bounds(result: RunResult, found: Sequence[Bound]) -> RichTable:
    program = result.program
    shown_slots = _SHOWN_SLOTS if len(program.gemms) == 1 else _SHOWN_SLOTS[:1]
    slots = [(one.name, each) for one in program.gemms for each in shown_slots]
    links = [
        (title_of(one.name), state)
        for one in program.collectives
        for state in ("link", *(["memory"] if one.reduces else []))
    ]
    titles = [title_of(name) for name in program.names]
    headings = (
        "\nconfiguration",
        *(_heading(title_of(name), label, label == _FIRST) for name, (label, _) in slots),
        *(_heading(title, state, state == "link") for title, state in links),
        f"bound by\n{', '.join(titles)}:",
    )
    rows = []
    for name in dict.fromkeys(one.configuration for one in found):
        phases = {one.phase: one for one in found if one.configuration == name}
        gemms = result.configurations[name].gemms
        shares = [(gemms[gemm].slots.shares, states) for gemm, (_, states) in slots]
        by = (phases[title].by if title in phases else "-" for title in titles)
        rows.append(
            (
                name,
                *(
                    f"{100 * sum(share[state] for state in together):.0f}" if share else "-"
                    for share, together in shares
                ),
                *(
                    f"{100 * phases[title].link_time[state]:.0f}" if title in phases else "-"
                    for title, state in links
                ),
                ", ".join(by),
            )
        )
    title = "What bounds it: what GEMM slots and link do or wait for, in %"
    return shown_table(title, Table(headings, rows))


def _heading(title: str, label: str, first: bool) -> str:
    """Heading of a column, with the activity's title over the first of several."""
    return f"{title if first else ''}\n{label}"


def _repetitions(result: RunResult) -> RichTable:
    unit, words = _unit(result)
    headings = (
        *("\nconfiguration", "total\nmean", "\nleast", "\nmost"),
        *("speed-\nup", "\nleast", "\nmost", "over\nmean", "\nleast", "\nmost"),
    )
    rows = [
        (
            one.configuration,
            *_extent(one.total_ns, words),
            *_extent(one.speedup, "{:.3f}".format),
            *_extent(one.over_round_robin, _percent),
        )
        for one in spreads(result.repetitions)
    ]
    title = (
        f"{len(result.repetitions)} repetitions: times in {unit}, time over {ROUND_ROBIN}'s in %"
    )
    return shown_table(title, Table(headings, rows))


def _extent(spread: Spread | None, words: Callable[[float], str]) -> tuple[str, ...]:
    if spread is None:
        return ("-",) * 3
    return words(spread.mean), words(spread.least), words(spread.most)


def _percent(share: float) -> str:
    """Percentage in five characters."""
    return f"{share * 1e2:+.{2 if abs(share) < 0.0999 else 1}f}"


def _tenths(share: float) -> str:
    """Percentage to a tenth, without the sign of one that rounds to zero."""
    return f"{round(share, 3) + 0.0:.1%}"


def _bytes(result: RunResult) -> RichTable:
    dram = {name: one for name, one in catalogue(result.program).dram.items() if name != "total"}
    marks = [_SCALED if f"dram_bytes.{name}" in result.scaled else "" for name in dram]
    titles = (column.title.replace(" ", "\n") for column in dram.values())
    headings = (
        "configuration",
        *(f"{title}{mark}" for title, mark in zip(titles, marks, strict=True)),
        f"DRAM\ntotal{max(marks)}",
        "\nlink",
    )
    counts = {
        name: (*one.dram_bytes.as_dict().values(), one.dram_bytes.total, one.link_bytes.total)
        for name, one in result.configurations.items()
    }
    most = max(max(of) for of in counts.values())
    # Six digits of MB would not fit into 80 columns.
    unit = Unit("MB", 1e6) if most < 1e11 else unit_of("bytes", most)
    rows = [
        (name, *(_thousandths(unit.of(one) * 1e3) for one in of)) for name, of in counts.items()
    ]
    gap = 1 if len(dram) > _WIDE else 2
    return shown_table(f"One GPU's traffic in {unit.name}", Table(headings, rows), gap=gap)


def _energy(result: RunResult) -> RichTable:
    headings = (
        *("configuration", "DRAM", "NMC", "link", "wires", "CUs", "T3", "total", "saved"),
        "T3's mW",
    )
    rows = []
    for name, one in result.configurations.items():
        energy = one.energy_j
        parts = (energy.dram, energy.nmc, energy.link, energy.network, energy.cu, energy.t3)
        rows.append(
            (
                name,
                *(f"{part * 1e3:.2f}" for part in (*parts, one.energy_total_j)),
                "-" if one.energy_reduction is None else _tenths(one.energy_reduction),
                f"{one.t3_power_w * 1e3:.0f}",
            )
        )
    title = (
        "One GPU's dynamic energy in mJ, without the GEMM's on the CUs; T3's power in mW, beside "
        f"the board's {result.system.gpu.board_power_w:g} W"
    )
    return shown_table(title, Table(headings, rows))
