"""Timing diagrams, recorded from simulations of blocks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import wavedrom
from amaranth.hdl import Value
from amaranth.lib import enum, wiring
from amaranth.sim import Simulator

__all__ = ["Diagram", "Lane", "record", "svg"]


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One row of a diagram.

    Parameters
    ----------
    signal : str
        Path of the component's member, such as ``"i.payload.dispatch_index"``.
    when : str
        Path of the bit that marks the value as valid; empty for a value that is always valid.
    label : str
        Name in the diagram; empty for the path.
    """

    signal: str
    when: str = ""
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """Stimulus of a component, and the signals to show.

    Parameters
    ----------
    name, title : str
        File name without suffix, and heading.
    settings : mapping
        Constant values of members, by path.
    stimulus : mapping
        Values of members by path, for each cycle; the first shown cycle is 0. A member without a
        value in a cycle is 0 there.
    lanes : sequence of Lane
        Rows, from the top.
    cycles : int
        Number of shown cycles.
    skip : int
        Number of cycles between reset and the first shown cycle.
    """

    name: str
    title: str
    component: wiring.Component
    stimulus: Mapping[int, Mapping[str, Any]]
    lanes: Sequence[Lane]
    cycles: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    skip: int = 0


def _member(component: wiring.Component, path: str) -> Any:
    member = component
    for part in path.split("."):
        member = member[int(part)] if part.isdigit() else getattr(member, part)
    return member


def _text(value: Any) -> str:
    return value.name.lower() if isinstance(value, enum.Enum) else str(int(value))


def _samples(diagram: Diagram) -> list[list[str | None]]:
    """Record the value of each lane in each cycle; None where the value is not valid."""
    component = diagram.component
    shown: list[list[str | None]] = []

    async def bench(ctx) -> None:
        for path, value in diagram.settings.items():
            ctx.set(_member(component, path), value)
        for _ in range(diagram.skip):
            await ctx.tick()
        driven = {path for values in diagram.stimulus.values() for path in values}
        for cycle in range(diagram.cycles):
            values = diagram.stimulus.get(cycle, {})
            for path in sorted(driven):
                ctx.set(_member(component, path), values.get(path, 0))
            row: list[str | None] = []
            for lane in diagram.lanes:
                valid = not lane.when or ctx.get(_member(component, lane.when))
                row.append(_text(ctx.get(_member(component, lane.signal))) if valid else None)
            shown.append(row)
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return shown


def _wave(values: Sequence[str | None], is_bit: bool) -> dict[str, Any]:
    """Write a lane as a wave, with the texts of its values at the changes."""
    wave = []
    texts = []
    before: Any = object()
    for value in values:
        if value == before:
            wave.append(".")
        elif value is None:
            wave.append("x")
        elif is_bit:
            wave.append(value)
        else:
            wave.append("=")
            texts.append(value)
        before = value
    return {"wave": "".join(wave)} | ({"data": texts} if texts else {})


def record(diagram: Diagram) -> dict[str, Any]:
    """Simulate a diagram's component.

    Returns
    -------
    dict
        Diagram in WaveJSON. The value of a cycle is sampled before the clock edge that ends it.
    """
    samples = _samples(diagram)
    lanes = [{"name": "cycle", "wave": "=" * diagram.cycles, "data": [*range(diagram.cycles)]}]
    for index, lane in enumerate(diagram.lanes):
        signal = _member(diagram.component, lane.signal)
        is_bit = not lane.when and len(Value.cast(signal)) == 1
        wave = _wave([row[index] for row in samples], is_bit)
        lanes.append({"name": lane.label or lane.signal} | wave)
    return {"signal": lanes, "head": {"text": diagram.title}}


def svg(wave_json: Mapping[str, Any]) -> str:
    """Draw a diagram in WaveJSON."""
    return wavedrom.render(json.dumps(wave_json)).tostring()
