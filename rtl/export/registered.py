"""Analysis of outputs that depend only on registers."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

__all__ = ["registered_outputs"]

_MODULE = re.compile(r"^module \\(\S+)\n(.*?)^end$", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"^  (?:cell (\S+)|process) \S+\n(.*?)^  end$", re.DOTALL | re.MULTILINE)
_PIN = re.compile(r"^    connect \\(\S+) (.*)$", re.MULTILINE)
_CONNECT = re.compile(r"^connect (\{.*?\}|\S+) (.*)$", re.MULTILINE)
_ASSIGN = re.compile(r"^ +assign (\{.*?\}|\S+) (.*)$", re.MULTILINE)
_SWITCH = re.compile(r"^ +switch (.*)$", re.MULTILINE)
_PORT = re.compile(r"^  wire width \d+ (input|output) \d+ +\\(\S+)$", re.MULTILINE)
_NAME = re.compile(r"[\\$]\S+")
_STATE = re.compile(r"\$(?:\w*dff\w*|mem(?!rd)\w+)$")

# Combinational sources of each signal.
_Sources = dict[str, set[str]]


def registered_outputs(rtlil: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Find, for each module, the outputs without a combinational path from an input.

    The analysis is by whole signals: an output depends on an input if any bit on the path does.

    Parameters
    ----------
    rtlil : iterable of str
        Modules, in any order. Other cells are memories and clock gates, whose outputs change with
        the clock.
    """
    bodies = dict(pair for text in rtlil for pair in _MODULE.findall(text))
    follows: dict[str, dict[str, set[str]]] = {}

    def of_module(module: str) -> dict[str, set[str]]:
        """Compute the inputs on which each output depends combinationally."""
        if module not in follows:
            body = bodies[module]
            sources: _Sources = defaultdict(set)
            for kind, block in _BLOCK.findall(body):
                child = kind.removeprefix("\\")
                if not kind:
                    _add_process(sources, block)
                elif child in bodies:
                    _add_instance(sources, block, of_module(child))
                else:
                    _add_cell(sources, kind, block)
            for left, right in _CONNECT.findall(body):
                _add(sources, left, _NAME.findall(right))
            ports: dict[str, list[str]] = {"input": [], "output": []}
            for direction, name in _PORT.findall(body):
                ports[direction].append(name)
            inputs = {f"\\{name}" for name in ports["input"]}
            follows[module] = {
                name: inputs & set(_reached(sources, f"\\{name}")) for name in ports["output"]
            }
        return follows[module]

    return {
        module: frozenset(name for name, inputs in of_module(module).items() if not inputs)
        for module in bodies
    }


def _add(sources: _Sources, left: str, right: Iterable[str]) -> None:
    for target in _NAME.findall(left):
        sources[target].update(right)


def _add_process(sources: _Sources, block: str) -> None:
    switches = [name for text in _SWITCH.findall(block) for name in _NAME.findall(text)]
    for left, right in _ASSIGN.findall(block):
        _add(sources, left, [*switches, *_NAME.findall(right)])


def _add_instance(sources: _Sources, block: str, follows: Mapping[str, set[str]]) -> None:
    pins = {f"\\{pin}": signals for pin, signals in _PIN.findall(block)}
    for output, inputs in follows.items():
        for name in inputs:
            _add(sources, pins.get(f"\\{output}", ""), _NAME.findall(pins.get(name, "")))


def _add_cell(sources: _Sources, kind: str, block: str) -> None:
    """Add an operator or an asynchronous memory read; other cells hold state."""
    if _STATE.match(kind) or not kind.startswith("$") or r"\CLK_ENABLE 1" in block:
        return
    pins = dict(_PIN.findall(block))
    output = pins.pop("Y" if "Y" in pins else "DATA")
    _add(sources, output, [name for signals in pins.values() for name in _NAME.findall(signals)])


def _reached(sources: _Sources, start: str) -> Iterator[str]:
    """Iterate over the transitive sources of a signal."""
    seen, waiting = {start}, [start]
    while waiting:
        name = waiting.pop()
        yield name
        new = sources.get(name, set()) - seen
        seen |= new
        waiting.extend(new)
