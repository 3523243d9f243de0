import re

import numpy as np
import pytest

from rtl.parameters import T3Parameters
from sysmodel.engine.native import Instance, Trace, build_component
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    I,
    J,
    K,
    O,
    input_words,
    output_words,
    top_words,
)
from tests.support.random_stimulus import random_inputs, run_simulator, steps
from tests.support.toy_top import Toy

PARAMETERS = T3Parameters(contexts=1, channels=2, with_data=True)
INPUTS, OUTPUTS = input_words(PARAMETERS), output_words(PARAMETERS)


def build_toy(trace=False):
    return build_component(Toy(PARAMETERS), top_words(PARAMETERS), INPUTS, OUTPUTS, trace=trace)


@pytest.fixture(scope="module")
def library():
    return build_toy()


@pytest.fixture
def toy(library):
    with Instance(library, INPUTS, OUTPUTS) as instance:
        yield instance


def run(instance, inputs):
    outputs = np.zeros((len(inputs) + 1, OUTPUTS), np.uint64)
    instance.reset(outputs[0])
    steps(instance.step_address, instance.handle, inputs, outputs[1:])
    return outputs


def test_as_amaranths_simulator(toy):
    words = list(top_words(PARAMETERS))
    inputs = random_inputs(words, 200, INPUTS, seed=1)
    expected = run_simulator(Toy(PARAMETERS), words, inputs, OUTPUTS)
    assert np.unique(expected[:, O.link_out_data_3]).size > 50
    np.testing.assert_array_equal(run(toy, inputs), expected)


def test_outputs_follow_the_edge(toy):
    inputs = np.zeros((3, INPUTS), np.uint64)
    second = CHANNEL_INPUTS
    inputs[0, second + I.reads_valid] = 1
    inputs[0, second + I.reads_atom] = 0x123456789
    inputs[1, second + I.dram_ready] = 1
    inputs[0, 2 * CHANNEL_INPUTS + J.credit_limit_in_0] = 77
    outputs = run(toy, inputs)
    valid = CHANNEL_OUTPUTS + O.dram_valid
    assert outputs[:, valid].tolist() == [0, 1, 0, 0]
    assert outputs[1, CHANNEL_OUTPUTS + O.dram_atom] == 0x123456789
    assert outputs[:, O.dram_valid].tolist() == [0, 0, 0, 0]
    assert outputs[:, 2 * CHANNEL_OUTPUTS + K.tiles].tolist() == [0, 1, 2, 3]
    assert outputs[:, 2 * CHANNEL_OUTPUTS + K.credit_limit_out].tolist() == [0, 77, 0, 0]


def test_bits_beyond_a_port_are_cut(toy):
    inputs = np.full((1, INPUTS), (1 << 64) - 1, np.uint64)
    outputs = run(toy, inputs)
    assert outputs[1, O.dram_atom] == (1 << PARAMETERS.atom_address_bits) - 1
    assert outputs[1, O.stored] == PARAMETERS.egress_slots - 1


def test_always_ready_stream(toy):
    assert run(toy, np.zeros((1, INPUTS), np.uint64))[:, O.returns_ready].tolist() == [1, 1]


def test_reset_goes_back_to_power_up(toy):
    inputs = random_inputs(top_words(PARAMETERS), 50, INPUTS, seed=2)
    first = run(toy, inputs)
    assert (first[0] != first[-1]).any()
    np.testing.assert_array_equal(run(toy, inputs), first)


def test_instances_are_independent(library, toy):
    inputs = random_inputs(top_words(PARAMETERS), 50, INPUTS, seed=3)
    expected = run(toy, inputs)
    with Instance(library, INPUTS, OUTPUTS) as other:
        assert other.handle != toy.handle
        outputs = np.zeros((50, OUTPUTS), np.uint64)
        rest = np.zeros((50, OUTPUTS), np.uint64)
        toy.reset(np.zeros(OUTPUTS, np.uint64))
        for row in range(50):
            steps(toy.step_address, toy.handle, inputs[row:][:1], outputs[row:][:1])
            steps(other.step_address, other.handle, inputs[-1 - row :][:1], rest[row:][:1])
    np.testing.assert_array_equal(outputs, expected[1:])
    assert (rest != outputs).any()


@pytest.mark.parametrize(
    "outputs",
    [
        [0] * OUTPUTS,
        np.zeros(OUTPUTS, np.int64),
        np.zeros(OUTPUTS - 1, np.uint64),
        np.zeros(2 * OUTPUTS, np.uint64)[::2],
    ],
)
def test_reset_with_other_arrays(toy, outputs):
    with pytest.raises(ValueError, match=f"^Outputs must be a contiguous array of {OUTPUTS} words"):
        toy.reset(outputs)


def test_library_of_another_size(library):
    with pytest.raises(RuntimeError, match=f"has {INPUTS} words of inputs and {OUTPUTS} of outp"):
        Instance(library, INPUTS, OUTPUTS + 1)


def test_closed(library):
    instance = Instance(library, INPUTS, OUTPUTS)
    instance.close()
    instance.close()
    assert instance.handle == 0
    with pytest.raises(ValueError, match="^Instance is closed$"):
        instance.reset(np.zeros(OUTPUTS, np.uint64))


def test_waveform(library, toy, tmp_path):
    inputs = random_inputs(top_words(PARAMETERS), 30, INPUTS, seed=4)
    path = tmp_path / "wave.vcd"
    with Instance(build_toy(trace=True), INPUTS, OUTPUTS, Trace(path, 10, 12)) as traced:
        np.testing.assert_array_equal(run(traced, inputs), run(toy, inputs))
        assert not path.exists()
    assert list(tmp_path.iterdir()) == [path]
    header, body = path.read_text().split("$enddefinitions $end")
    assert "$timescale 1ps $end" in header
    names = {name: code for code, name in re.findall(r"\$var wire +\d+ (\S+) (\w+) ", header)}
    values, seen = {}, {}
    for line in body.split("\n"):
        if line.startswith("#"):
            time = int(line[1:])
        elif line.startswith("b"):
            value, code = line[1:].split()
            values[code] = int(value, 2)
        elif line:
            values[line[1:]] = int(line[0])
        if line:
            seen[time] = {name: values.get(code) for name, code in names.items()}
    # Two halves of each cycle, with the state and the inputs of that cycle.
    assert list(seen) == [10000, 10500, 11000, 11500, 12000, 12500]
    for time, drawn in seen.items():
        cycle = time // 1000
        assert drawn["clk"] == (time % 1000 == 0)
        assert drawn["x0_tiles"] == cycle
        limit = int(inputs[cycle, 2 * CHANNEL_INPUTS + J.credit_limit_in_0])
        assert drawn["x0_credit_limit_in_0"] == limit % (1 << PARAMETERS.credit_limit_bits)


def test_waveform_begins_anew_with_a_reset(tmp_path):
    path = tmp_path / "wave.vcd"
    inputs = np.zeros((5, INPUTS), np.uint64)
    with Instance(build_toy(trace=True), INPUTS, OUTPUTS, Trace(path, 0, 100)) as traced:
        run(traced, inputs)
        run(traced, inputs[:2])
    times = [int(line[1:]) for line in path.read_text().split("\n") if line.startswith("#")]
    assert times == [0, 500, 1000, 1500]


def test_waveform_where_none_can_be_written(tmp_path):
    with pytest.raises(FileNotFoundError):
        Instance(build_toy(trace=True), INPUTS, OUTPUTS, Trace(tmp_path / "no" / "wave.vcd", 0, 1))


@pytest.mark.parametrize("cycles", [(-1, 3), (4, 3)])
def test_cycles_of_a_waveform(tmp_path, cycles):
    with pytest.raises(ValueError, match="^A waveform's cycles must not be negative"):
        Trace(tmp_path / "wave.vcd", *cycles)
