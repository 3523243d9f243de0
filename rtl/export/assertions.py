"""Assertions and covers of a module, in SystemVerilog, from the signature of its component."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from amaranth.lib import stream, wiring

from .ports import Port

__all__ = ["MACRO", "assertions"]

MACRO = "T3_ASSERT"
"""With it defined, simulators that know SystemVerilog check what the Verilog asserts."""


def assertions(
    component: wiring.Component,
    ports: Sequence[Port],
    clocked: Collection[str],
    registered: Collection[str],
    *,
    holds_inputs: bool = False,
) -> str:
    """What holds in every cycle, and what should come about in some.

    * A stream that is offered stays, unchanged, until it is taken. This is asserted of outputs that
      follow from registers alone: others change with what they follow, which is asserted there. It
      is not asserted of those that the component has in ``may_change``.
    * An output that follows from registers alone, and whose shape is a range, is within it.
    * Of the members that the component has in ``one_hot``, at most one bit is set.
    * Covered are a stall and a transfer of each stream.

    Parameters
    ----------
    component : Component
    ports : sequence of Port
        Of it.
    clocked : collection of str
        Which of ``clk`` and ``rst`` the module has. Without a clock nothing is asserted.
    registered : collection of str
        Outputs that follow from registers alone.
    holds_inputs : bool
        The same is asserted of streams that come in.

    Returns
    -------
    str
        Lines for the end of the module's body, or nothing.
    """
    by_path = {port.path: port for port in ports}
    lines: list[str] = []
    may_change = getattr(component, "may_change", ())
    for path in _streams(component.signature):
        held = () if path[0] in may_change else registered
        lines += _of_stream(by_path, path, held, holds_inputs)
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
    """Paths of the streams in a signature."""
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
    if ready is None:  # which is then always high
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
