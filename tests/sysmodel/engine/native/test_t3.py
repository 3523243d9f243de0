import numpy as np
import pytest

from rtl.interface.encodings import Access, Action, PacketKind, Policy, StoreKind
from rtl.parameters import T3Parameters
from rtl.registers.map import load
from rtl.top import T3
from sysmodel.engine.native import Engine
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    G,
    I,
    J,
    K,
    O,
    input_words,
    output_words,
    top_words,
)
from tests.support.random_stimulus import random_inputs, run_simulator, steps

# Tiles of at most one atom with one share, so that random traffic completes some.
PROGRAM = [
    ("WORKGROUPS", {"count": 8}),
    ("TRACKED_END", {"dispatch_index": 8}),
    ("CREDIT_WINDOW", {"workgroups": 8}),
    ("COMMAND_WINDOW", {"workgroups": 16}),
    ("ARBITER", {"policy": Policy.MCA.value, "threshold": 20}),
    ("STARVATION", {"cycles": 5}),
    ("ADDRESS_SPACE", {"enable": 1}),
    ("REGION_LIMIT_LO", {"bytes": 1 << 16}),
    ("REGION_COMMIT", {"index": 0, "enable": 1}),
    (
        "COMMAND_TRANSFER",
        {"kind": PacketKind.UPDATE.value, "marks": 1, "granularity": 0, "wave_inner_log2": 3},
    ),
    ("COMMAND_OUTER", {"outer_extent": 4, "outer_extent_edge": 4}),
    ("COMMAND_INNER", {"inner_extent": 8, "inner_extent_edge": 8}),
    ("COMMAND_STRIDE", {"stride": 256}),
    ("COMMAND_WAVES", {"wave_outer_extent": 4, "waves0": 1, "waves1": 1, "waves2": 1, "waves3": 1}),
    ("COMMAND_COMMIT", {"index": 0}),
    ("RANGE_DISPATCH_INDICES", {"first": 0, "last": 7}),
    ("RANGE_ACTION", {"action": Action.DMA.value, "shares": 1}),
    ("RANGE_PEERS", {"peers": 0b11, "slot_offset": 1}),
    ("RANGE_COMMIT", {"index": 0, "enable": 1}),
    # Behind the rest, when the reset is over.
    ("PEER", {"gpu": 7, "sends_updates": 1, "takes_stores": 1, "takes_updates": 1}),
    ("PEER_COMMIT", {"index": 0, "enable": 1}),
    ("PEER", {"gpu": 9, "rank": 1, "sends_updates": 1}),
    ("PEER_COMMIT", {"index": 1, "enable": 1}),
    ("CONTROL", {"launch": 1}),
]


def traffic(p, cycles, seed):
    """Random inputs in a narrow range of tiles, after the program.

    The traffic begins when the tracker and the command table are empty.
    """
    random = np.random.default_rng(seed)
    inputs = random_inputs(top_words(p), cycles, input_words(p), seed)
    registers = load()
    gpu = inputs[:, p.channels * CHANNEL_INPUTS :]
    gpu[:, [G.bus_awvalid, G.bus_wvalid, G.bus_arvalid]] = 0
    gpu[:, G.bus_bready] = 1
    gpu[:, J.kernel_generation] = 0
    for name, value in ("credit_limit", 1000), ("generation", 0), ("aborted", 0):
        first = getattr(J, f"{name}_in_0")
        gpu[:, first : first + p.peers] = value
    # A write in every fourth cycle, which is as fast as they are answered.
    for index, (name, fields) in enumerate(PROGRAM):
        row = gpu[4 * index]
        row[[G.bus_awvalid, G.bus_wvalid]] = 1
        row[G.bus_wstrb], row[G.bus_awprot] = 15, 1
        row[G.bus_awaddr] = registers[name].address
        row[G.bus_wdata] = registers[name].pack(**fields)
    begin = max(p.credit_window, p.sets) + 4 * len(PROGRAM)
    for channel in range(p.channels):
        block = inputs[:, channel * CHANNEL_INPUTS :][:, :CHANNEL_INPUTS]
        for name in "reads_valid", "stores_valid", "link_in_valid", "issue_acks_valid":
            block[:begin, getattr(I, name)] = 0
        block[:begin, I.returns_valid] = 0
        small = {
            "stores_atom": 2048,
            "stores_context": 1,
            "stores_dispatch_index": 9,
            "stores_wavefront": 1,
            "stores_tile_atoms": 2,
            "stores_shares": 2,
            "stores_generation": 1,
            "link_in_atom": 2100,
            "link_in_context": 1,
            "link_in_source": 2,
            "link_in_slot": 9,
            "link_in_wavefront": 1,
            "link_in_kind": 4,
            "link_in_generation": 1,
            "issue_acks_dispatch_index": 8,
            "issue_acks_wavefront": 1,
            "issue_acks_atom": 2048,
            "occupancy": 40,
        }
        for name, end in small.items():
            block[:, getattr(I, name)] = random.integers(0, end, cycles, np.uint64)
        kinds = [StoreKind.STORE.value, StoreKind.END_OF_TILE.value]
        block[:, I.stores_kind] = random.choice(kinds, cycles)
        block[:, I.issue_acks_access] = random.choice(
            [Access.WRITE.value, Access.UPDATE.value], cycles
        )
    return inputs, begin


@pytest.mark.verify  # builds of their own; tests/lockstep compares the same with the golden model
@pytest.mark.parametrize(("channels", "with_data"), [(2, False), (1, True)])
def test_as_amaranths_simulator(channels, with_data):
    p = T3Parameters(
        contexts=1,
        peers=2,
        channels=channels,
        system_channels=2,
        sets=16,
        ways=2,
        banks=2,
        credit_window=16,
        command_depth=16,
        egress_slots=8,
        with_data=with_data,
    )
    inputs, begin = traffic(p, 250 if with_data else 500, seed=5)
    outputs = np.zeros((len(inputs) + 1, output_words(p)), np.uint64)
    with Engine(p) as engine:
        engine.reset(outputs[0])
        steps(engine.step_address, engine.handle, inputs, outputs[1:])
    expected = run_simulator(T3(p), top_words(p), inputs, output_words(p))
    np.testing.assert_array_equal(outputs, expected)

    # The traffic reached the hardware's depth: tiles, DMA reads, packets, errors.
    gpu = expected[:, p.channels * CHANNEL_OUTPUTS :]
    assert gpu[-1, K.tiles] >= 3
    assert gpu[begin, K.irq] == 0 and gpu[-1, K.irq] == 1
    assert expected[:, O.link_out_valid].any()
    assert (expected[:, O.dram_valid] & (expected[:, O.dram_access] == Access.READ.value)).any()
    assert expected[-1, O.stored] > 0
