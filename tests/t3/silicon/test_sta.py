"""Static timing analysis, compared with closed forms."""

import pytest

from t3.silicon.netlist import Instance, Macro, Netlist
from t3.silicon.sta import worst_paths
from tests.support.tiny_library import (
    DFF_PF,
    FO4_SLEW_NS,
    INV_PF,
    NAND2_PF,
    OUTSIDE_PF,
    dff,
    inv,
    nand2,
    setup,
    tiny,
)

IN, OUT = 1, 100


def _chain(loads, rises, slew=FO4_SLEW_NS):
    """Delay and slew through inverters; the first output has the edge ``rises``."""
    total = 0.0
    for load in loads:
        delay, slew = inv(slew, load, rises)
        total += delay
        rises = not rises
    return total, slew


def test_chain_of_inverters():
    length = 5
    nets = [IN, *range(10, 10 + length - 1), OUT]
    netlist = Netlist(
        [Instance("INV", {"A": nets[i], "Y": nets[i + 1]}) for i in range(length)],
        inputs={IN: "a"},
        outputs={OUT: "y"},
    )
    (path,) = worst_paths(netlist, tiny())
    loads = [INV_PF] * (length - 1) + [OUTSIDE_PF]
    assert path.delay_ns == pytest.approx(max(_chain(loads, up)[0] for up in (False, True)))
    assert (path.kind, path.start, path.end, path.gates) == ("in->out", "a", "y", length)
    assert [stage.cell for stage in path.stages] == ["INV"] * length
    assert sum(stage.delay_ns for stage in path.stages) == pytest.approx(path.delay_ns)


def test_from_flip_flop_to_flip_flop():
    """The path has clock to output, a NAND2 with a fanout of two, an inverter, and setup."""
    q, middle, d, side = 2, 3, 4, 5
    netlist = Netlist(
        [
            Instance("DFF", {"C": 9, "D": side, "Q": q}),
            Instance("NAND2", {"A": q, "B": IN, "Y": middle}),
            Instance("INV", {"A": middle, "Y": d}),
            Instance("INV", {"A": middle, "Y": side}),
            Instance("DFF", {"C": 9, "D": d, "Q": 6}),
        ],
        inputs={IN: "enable", 9: "clk"},
        names={q: "state[3]", 6: "next", d: "whatever"},
    )
    paths = {path.kind: path for path in worst_paths(netlist, tiny())}
    assert set(paths) == {"reg->reg", "in->reg"}

    delay, slew = dff(NAND2_PF)
    step, slew = nand2(max(slew, 0.0), 2 * INV_PF)
    ends = []
    # The input is slower than the flip-flop, and slews are merged.
    _, merged = nand2(max(slew, FO4_SLEW_NS), 2 * INV_PF)
    for rises in (False, True):
        last, last_slew = inv(merged, DFF_PF, rises)
        ends.append(delay + step + last + setup(last_slew, rises))
    path = paths["reg->reg"]
    assert path.delay_ns == pytest.approx(max(ends))
    assert (path.start, path.gates) == ("state", 2)
    assert {path.end} <= {"next", "state"}
    assert path.stages[0].cell == "DFF"

    step, slew = nand2(FO4_SLEW_NS, 2 * INV_PF)
    ends = []
    for rises in (False, True):
        last, last_slew = inv(slew, DFF_PF, rises)
        ends.append(step + last + setup(last_slew, rises))
    assert paths["in->reg"].delay_ns == pytest.approx(max(ends))
    assert paths["in->reg"].start == "enable"


def test_memories_begin_and_end_paths():
    read, written = 2, 3
    named = {read: "table read data"}, {written: "table write data"}
    memory = Macro("table", 32, 8, *named, [], False)
    netlist = Netlist([Instance("INV", {"A": read, "Y": written})], [memory])
    (path,) = worst_paths(netlist, tiny())
    expected = max(inv(FO4_SLEW_NS, OUTSIDE_PF, up)[0] for up in (False, True))
    assert path.delay_ns == pytest.approx(expected)
    assert (path.kind, path.start, path.end) == ("reg->reg", "table read data", "table write data")


def test_a_memory_that_reads_without_clock_is_passed_through():
    address, data = 2, 3
    memory = Macro(
        "table", 32, 8, {data: "table read data"}, {address: "table read address"},
        [([address], [data])], False,
    )  # fmt: skip
    netlist = Netlist(
        [
            Instance("INV", {"A": IN, "Y": address}),
            Instance("INV", {"A": data, "Y": OUT}),
        ],
        [memory],
        inputs={IN: "a"},
        outputs={OUT: "y"},
    )
    path = next(p for p in worst_paths(netlist, tiny()) if p.kind == "in->out")
    first = max(inv(FO4_SLEW_NS, OUTSIDE_PF, up)[0] for up in (False, True))
    assert path.delay_ns == pytest.approx(2 * first)


def test_constants_and_undriven_nets_begin_nothing():
    netlist = Netlist(
        [Instance("NAND2", {"A": 2, "Y": OUT}), Instance("INV", {"Y": 2})], outputs={OUT: "y"}
    )
    assert worst_paths(netlist, tiny()) == []


def test_a_loop_of_gates_is_refused():
    netlist = Netlist([Instance("INV", {"A": 1, "Y": 2}), Instance("INV", {"A": 2, "Y": 1})])
    with pytest.raises(ValueError, match="gates form a loop"):
        worst_paths(netlist, tiny())


def test_worst_paths_differ_in_their_ends():
    """Four paths between the bits of two words are two pairs of signals."""
    netlist = Netlist(inputs={1: "a[0]", 2: "a[1]", 3: "b[0]"}, outputs={})
    for source, target, word in ((1, 11, "x[0]"), (2, 12, "x[1]"), (3, 13, "y[0]")):
        netlist.instances.append(Instance("INV", {"A": source, "Y": target}))
        netlist.outputs[target] = word
    # A second inverter makes the path to y longer.
    netlist.instances[2] = Instance("INV", {"A": 3, "Y": 20})
    netlist.instances.append(Instance("INV", {"A": 20, "Y": 13}))
    found = [(path.start, path.end) for path in worst_paths(netlist, tiny(), count=5)]
    assert found == [("b", "y"), ("a", "x")]
    assert len(worst_paths(netlist, tiny(), count=1)) == 1
