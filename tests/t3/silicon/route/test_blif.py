"""Conversion of netlists to BLIF."""

from t3.silicon.netlist import Instance, Macro, Netlist
from t3.silicon.route.blif import blif_text, without_parts
from tests.support.tiny_library import tiny


def _netlist():
    """Two flip-flops and a gate, with a memory between one's output and the other's input."""
    memory = Macro("rows", 32, 1, {5: "rows read data"}, {4: "rows write data"}, [], False)
    return Netlist(
        instances=[
            Instance("DFF", {"C": 1, "D": 2, "Q": 3}),
            Instance("NAND2", {"A": 3, "B": 3, "Y": 4}),
            Instance("DFF", {"C": 1, "D": 5, "Q": 6}),
        ],
        macros=[memory],
        inputs={1: "clk", 2: "i", 7: "unused"},
        outputs={6: "o"},
    )


def test_pins_of_memories_are_inputs_and_outputs():
    cells = without_parts(_netlist())
    assert set(cells.inputs) == {1, 2, 5, 7} and set(cells.outputs) == {4, 6}


def test_the_clock_is_the_port():
    text = blif_text(without_parts(_netlist()), tiny(), "both")
    assert text.splitlines() == [
        ".model both",
        ".inputs n1",
        ".outputs",
        ".gate DFF C=n1 D=n2 Q=n3",
        ".gate NAND2 A=n3 B=n3 Y=n4",
        ".gate DFF C=n1 D=n5 Q=n6",
        ".end",
    ]


def test_the_netlist_stays_as_it_is():
    netlist = _netlist()
    assert without_parts(netlist).macros == []
    assert len(netlist.macros) == 1 and set(netlist.outputs) == {6}
