from dataclasses import astuple
from itertools import groupby

import pytest
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.parameters import T3Parameters
from sysmodel.engine import ports
from sysmodel.engine.ports import G, H, I, J, K, O, input_words, output_words, port_words, top_words


def test_names_and_directions():
    signature = wiring.Signature(
        {
            "taken": In(stream.Signature(8)),
            "given": Out(stream.Signature(4)),
            "level": Out(3),
        }
    )
    assert [astuple(word) for word in port_words(signature)] == [
        ("in", "taken", ("taken", "payload"), 0, 8, 0),
        ("in", "taken_valid", ("taken", "valid"), 0, 1, 1),
        ("out", "taken_ready", ("taken", "ready"), 0, 1, 0),
        ("out", "given", ("given", "payload"), 0, 4, 1),
        ("out", "given_valid", ("given", "valid"), 0, 1, 2),
        ("in", "given_ready", ("given", "ready"), 0, 1, 2),
        ("out", "level", ("level",), 0, 3, 3),
    ]


def test_columns_of_the_top():
    assert I.stores_data_3 == I.stores_data_0 + 3
    assert {"reads_valid", "link_out_ready", "occupancy", "nmc_in_op"} <= set(I._fields)
    assert {"reads_ready", "dram_access", "stored", "nmc_out_value_0"} <= set(O._fields)
    assert {"bus_awaddr", "bus_wdata", "tick"} <= set(G._fields)
    assert {"bus_rdata", "bus_bresp"} <= set(H._fields)
    assert {"credit_limit_in_0", "finished"} <= set(J._fields)
    assert {"dispatch_limit", "irq"} <= set(K._fields)


@pytest.mark.parametrize("with_data", [False, True])
def test_every_word_has_its_own_place(with_data):
    p = T3Parameters(channels=3, contexts=2, with_data=with_data)
    words = list(top_words(p))
    for direction, length in ("in", input_words(p)), ("out", output_words(p)):
        places = [word.index for word in words if word.direction == direction]
        assert len(set(places)) == len(places)
        assert set(places) <= set(range(length))
        assert not with_data or len(places) == length


def test_same_places_with_and_without_data():
    places = {
        with_data: {
            word.name: word.index
            for word in top_words(T3Parameters(contexts=1, with_data=with_data))
        }
        for with_data in (False, True)
    }
    assert places[False].items() < places[True].items()


def test_words_cover_their_ports():
    words = sorted(
        top_words(T3Parameters(contexts=1, with_data=True)), key=lambda w: (str(w.path), w.offset)
    )
    for _, parts in groupby(words, key=lambda word: word.path):
        end = 0
        for word in parts:
            assert word.offset == end
            assert word.width <= 64
            end += word.width


def test_second_channel():
    words = {word.name: word for word in top_words(T3Parameters(contexts=1, channels=2))}
    assert words["c1_dram_atom"].index == ports.CHANNEL_OUTPUTS + O.dram_atom
    assert words["c1_dram_atom"].path == ("channel", 1, "dram", "payload")
    assert words["x0_credit_limit_in_0"].index == 2 * ports.CHANNEL_INPUTS + J.credit_limit_in_0


def test_second_context():
    words = {word.name: word for word in top_words(T3Parameters(contexts=2))}
    first, second = (words[f"x{number}_tiles"] for number in (0, 1))
    assert second.index == first.index + ports.CONTEXT_OUTPUTS
    assert second.path == ("context", 1, "tiles")


def test_atom_without_columns():
    with pytest.raises(ValueError, match="^atom_bytes must be at most 32 with data, not 64$"):
        list(top_words(T3Parameters(contexts=1, atom_bytes=64, with_data=True)))
