"""SystemVerilog assertions and covers of a module, derived from its component's signature."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from amaranth.lib import stream, wiring

from .ports import Port

__all__ = ["MACRO", "assertions"]

MACRO = "T3_ASSERT"
"""Macro that enables the assertions, for simulators with SystemVerilog."""


def assertions(
    component: wiring.Component,
    ports: Sequence[Port],
    clocked: Collection[str],
    registered: Collection[str],
    *,
    holds_inputs: bool = False,
) -> str:
    """Generate the assertions and covers of a module.

    * A stream's valid payload is stable until it is taken. This is asserted for outputs that depend
      only on registers; other outputs follow their inputs, for which the same is asserted at their
      source. It is not asserted for members listed in the component's ``may_change``.
    * An output that depends only on registers, and whose shape is a range, is within the range.
    * At most one bit is set in the members listed in the component's ``one_hot``.
    * An input stream that the component's ``only_while`` maps to an input beside it is valid only
      while this input is high; asserted with ``holds_inputs``.
    * A stall and a transfer of each stream are covered.

    Parameters
    ----------
    ports : sequence of Port
        Ports of the component.
    clocked : collection of str
        Subset of ``clk`` and ``rst`` that the module has. Without a clock there are no assertions.
    registered : collection of str
        Outputs that depend only on registers.
    holds_inputs : bool
        Assert the rules of input streams, too.

    Returns
    -------
    str
        Lines for the end of the module's body, possibly empty.
    """
    by_path = {port.path: port for port in ports}
    lines: list[str] = []
    may_change = getattr(component, "may_change", ())
    only_while: Mapping[str, str] = getattr(component, "only_while", {})
    for path in _streams(component.signature):
        held = () if path[0] in may_change else registered
        lines += _of_stream(by_path, path, held, holds_inputs)
        if holds_inputs and path[-1] in only_while:
            flag = only_while[str(path[-1])]
            valid, high = by_path[(*path, "valid")].name, by_path[(*path[:-1], flag)].name
            name = f"{'_'.join(map(str, path))}_only_while_{flag}"
            lines.append(_assertion(name, f"!{valid} || {high}"))
    for path, member, _ in component.signature.flatten(component):
        port = by_path.get(path)
        if port and isinstance(member.shape, range) and _is_registered(port, registered):
            lines += _of_range(port, member.shape)
    for name in getattr(component, "one_hot", ()):
        lines.append(_assertion(f"{name}_one_hot", f"$onehot0({by_path[name,].name})"))
    if not lines or "clk" not in clocked:
        return ""
    reset = ["default disable iff (rst);"] if "rst" in clocked else []
    lines = ["default clocking @(posedge clk); endclocking", *reset, *lines]
    return "\n".join([f"`ifdef {MACRO}", *(f"  {line}" for line in lines), "`endif\n"])


def _streams(signature: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Iterate over the paths of the streams in a signature."""
    for name, member in signature.members.items():
        if member.is_port:
            continue
        inner = member.signature
        plain = inner.flip() if isinstance(inner, wiring.FlippedSignature) else inner
        for index in _indices(member.dimensions):
            place = (*path, name, *index)
            if isinstance(plain, stream.Signature):
                yield place
            else:
                yield from _streams(plain, place)


def _indices(dimensions: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not dimensions:
        yield ()
        return
    for first in range(dimensions[0]):
        for rest in _indices(dimensions[1:]):
            yield first, *rest


def _of_stream(
    ports: dict[tuple[str | int, ...], Port],
    path: tuple[str | int, ...],
    registered: Collection[str],
    holds_inputs: bool,
) -> Iterator[str]:
    valid, ready, payload = (ports.get((*path, name)) for name in ("valid", "ready", "payload"))
    name = "_".join(map(str, path))
    if valid is None:
        return
    if ready is None:  # always ready
        yield _cover(f"{name}_moved", valid.name)
        return
    offered = [port for port in (valid, payload) if port is not None]
    if valid.direction == "input":
        is_held = holds_inputs
    else:
        is_held = all(_is_registered(port, registered) for port in offered)
    stalled = f"{valid.name} && !{ready.name}"
    if is_held:
        same = f" && $stable({payload.name})" if payload else ""
        yield _assertion(f"{name}_held", f"{stalled} |=> {valid.name}{same}")
    yield _cover(f"{name}_stalled", stalled)
    yield _cover(f"{name}_moved", f"{valid.name} && {ready.name}")


def _is_registered(port: Port, registered: Collection[str]) -> bool:
    return "__".join(map(str, port.path)) in registered


def _of_range(port: Port, values: range) -> Iterator[str]:
    if max(values) < (1 << port.width) - 1:
        yield _assertion(f"{port.name}_in_range", f"{port.name} <= {max(values)}")


def _assertion(name: str, holds: str) -> str:
    return f"assert_{name}: assert property ({holds});"


def _cover(name: str, happens: str) -> str:
    return f"cover_{name}: cover property ({happens});"
