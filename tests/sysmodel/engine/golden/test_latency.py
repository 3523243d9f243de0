"""Cycles through the golden top, from port to port, as the page counts them."""

import numpy as np
import pytest

from rtl.interface.encodings import (
    Access,
    Action,
    ErrorCode,
    Granularity,
    PacketKind,
    StoreKind,
)
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from sysmodel.engine.golden import new_state, reset, step
from sysmodel.engine.golden.registers.errors import oldest_error
from sysmodel.engine.golden.registers.words import F, R
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    I,
    J,
    K,
    O,
    input_words,
    output_words,
)

CONTEXT = 3


class Gpu:
    """A GPU of one channel, cleared and launched, whose region 0 maps all atoms to one range.

    Attributes
    ----------
    cycle : int
        The cycle that is next, counted from the first after the launch.
    """

    def __init__(self, action=Action.DMA, **command):
        parameters = T3Parameters(
            contexts=1,
            system_channels=1,
            address_bits=28,
            sets=8,
            ways=2,
            credit_window=16,
            banks=2,
        )
        self.state = new_state(parameters)
        self.inputs = np.zeros(input_words(parameters), np.uint64)
        self.outputs = np.zeros(output_words(parameters), np.uint64)
        reset(self.state, self.outputs)
        own = self.state.contexts[0]
        own["address_space"]["enable"], own["address_space"]["local"] = 1, CONTEXT
        for name in ("enable", "sends_stores", "sends_updates", "takes_stores", "takes_updates"):
            own["peers"][0][name] = 1
        launch = own["programmed"]
        launch["workgroups"] = launch["tracked_end"] = 24
        launch["credit_window"] = launch["command_window"] = 16
        region, range_ = self.state.programmed_regions[0, 0], self.state.programmed_ranges[0, 0]
        region["enable"], region["limit"] = 1, 1 << 20
        range_["enable"], range_["last"], range_["action"] = 1, 23, action.value
        range_["shares"] = range_["peers"] = 1
        fields = dict(
            outer_extent=1,
            inner_extent=1,
            wave_outer_extent=1,
            granularity=Granularity.WAVEFRONT.value,
        )
        programmed = self.state.programmed_commands[0, 0]
        for name, value in (fields | command).items():
            programmed[name] = value
        programmed["waves"][0] = 1
        self.cycle = 0
        self.inputs[CHANNEL_INPUTS + J.credit_limit_in_0] = 100
        self.inputs[[I.dram_ready, I.link_out_ready, I.link_space]] = 1
        # The values of the launch apply once it has begun.
        self.region = self.state.regions[0, 0]
        self.range = self.state.ranges[0, 0]
        self.command = self.state.commands[0, 0]
        while own["control"]["aborting"]:
            self.step()
        self.launch()

    def launch(self):
        self.state.contexts[0]["control"]["pending"] = 1
        self.wake()
        self.settle()

    def wake(self):
        """End the quiescence, as a write of a register does."""
        self.state.gpu["quiescent"] = 0

    def strobe(self, name):
        """Set the strobe of this bit of CONTROL for the next cycle."""
        _, low, mask = getattr(F, f"CONTROL_{name}")
        self.state.contexts[0]["control"]["strobes"] = mask << low
        self.wake()

    def step(self, **inputs):
        """Run one cycle with these words of the channel's inputs, which are 0 again afterwards."""
        for name, value in inputs.items():
            self.inputs[getattr(I, name)] = value
        step(self.state, self.inputs, self.outputs)
        for name in inputs:
            self.inputs[getattr(I, name)] = 0
        self.cycle += 1

    def update(self, dispatch_index, atom=5, wavefront=0):
        self.step(
            issue_acks_valid=1,
            issue_acks_access=Access.UPDATE.value,
            issue_acks_atom=atom,
            issue_acks_dispatch_index=dispatch_index,
            issue_acks_wavefront=wavefront,
        )

    def store(self, dispatch_index, atom=5, **fields):
        self.step(
            stores_valid=1,
            stores_atom=atom,
            stores_dispatch_index=dispatch_index,
            stores_context=CONTEXT,
            **{f"stores_{name}": value for name, value in fields.items()},
        )

    def end(self, dispatch_index, tile_atoms=1, shares=1):
        marker = {"tile_atoms": tile_atoms, "shares": shares}
        self.store(dispatch_index, kind=StoreKind.END_OF_TILE.value, **marker)

    def packet(self, dispatch_index, kind=PacketKind.UPDATE, atom=5):
        self.step(
            link_in_valid=1,
            link_in_kind=kind.value,
            link_in_atom=atom,
            link_in_slot=dispatch_index,
            link_in_context=CONTEXT,
        )

    def settle(self):
        """Run until all requests are done, and count cycles from 0 again."""
        for _ in range(20):
            self.step()
        self.cycle = 0

    def first(self, condition, limit=60):
        """Return the first cycle in which ``condition`` of the outputs or of the state holds."""
        while not condition(self):
            assert self.cycle < limit
            self.step()
        return self.cycle


def out(name):
    """An output of the channel."""
    return lambda gpu: gpu.outputs[getattr(O, name)]


def interrupts(gpu):
    return gpu.outputs[CHANNEL_OUTPUTS + K.irq]


def errors(gpu):
    return int(gpu.state.logs[register_map.CONTEXT]["log_total"])


def counts(gpu):
    """Return the counters that are not 0."""
    registers = gpu.state.registers[register_map.CONTEXT]["contents"]
    words = {code: getattr(R, f"COUNT_{code.name}", None) for code in ErrorCode}
    return {code: int(registers[word]) for code, word in words.items() if word and registers[word]}


@pytest.fixture
def gpu():
    return Gpu()


def test_last_update_to_command_and_read(gpu):
    gpu.end(2)
    gpu.settle()
    gpu.update(2)  # in cycle 0
    # issue acknowledgements 1, candidates 2 (choose), address 3, check 4, compare 5, update 6,
    # completion 7.
    assert gpu.first(lambda g: g.state.gpu["merge"]["completions_waiting"]) == 7
    # Taken in 7; the ready command is pushed two cycles later, in TILE.
    assert gpu.first(lambda g: g.outputs[CHANNEL_OUTPUTS + K.tiles] == 1) == 8
    assert gpu.first(lambda g: g.state.contexts[0]["ready"]["checked"]) == 12
    # Taken in 12, walked in 15, expanded in 16, merged in 17.
    assert gpu.first(out("dram_valid")) == 18
    assert gpu.outputs[O.dram_access] == Access.READ.value and gpu.outputs[O.dram_atom] == 5


def test_end_of_tile_to_completion(gpu):
    gpu.update(2)
    gpu.settle()
    gpu.end(2)  # stores 1, classified 2, ends 3
    assert gpu.first(lambda g: g.state.gpu["merge"]["completions_waiting"]) == 9


def test_read_data_to_link(gpu):
    gpu.end(2)
    gpu.update(2)
    gpu.first(out("dram_valid"))
    gpu.settle()
    gpu.step(returns_valid=1)  # read in 1, ahead in 2, in `link` 3
    assert gpu.first(out("link_out_valid")) == 3


def test_idle_counts_the_geometry_of_an_empty_walk():
    gpu = Gpu(outer_extent=0)
    gpu.end(2)
    gpu.settle()
    gpu.update(2)
    idle = []
    for _ in range(20):
        idle.append(int(gpu.outputs[CHANNEL_OUTPUTS + K.idle]))
        gpu.step()
    # The tile has an entry until its last update in 6, which is counted in 7; the trigger unit
    # works on its completion until 9. The command is stored in 10, corrected in 11, visible and
    # taken in 12; SCALE 13, SHAPE 14. The register is one cycle behind.
    busy = [cycle for cycle, on in enumerate(idle, 1) if not on]
    assert busy == [*range(1, 16)]


def test_a_store_and_a_packet_through_the_map(gpu):
    gpu.store(2)  # stores 1, classified 2, writes 3
    assert gpu.first(out("dram_valid")) == 4
    gpu.settle()
    gpu.packet(2)  # inbound 1, updates 2
    assert gpu.first(out("dram_valid")) == 3


@pytest.mark.parametrize(
    ("provoke", "cycle"),
    [
        (lambda gpu: gpu.store(20), 1),  # ahead of the region: found at the head of `stores`
        (lambda gpu: gpu.packet(20), 1),
        (lambda gpu: gpu.end(2, shares=0), 8),  # ends 3, candidates 4, update stage 8
        (lambda gpu: gpu.packet(20, kind=PacketKind.END), 1),
        (lambda gpu: gpu.packet(2, kind=PacketKind.END), 7),  # ends 2: a marker without a share
    ],
    ids=["store", "packet", "tracker", "END packet", "tracker of an END packet"],
)
def test_an_error_is_logged_in_the_cycle_after_its_event_then_counted(gpu, provoke, cycle):
    provoke(gpu)
    # Registered in the cycle after, it is logged there, and shows one later; its count another one.
    assert gpu.first(interrupts) == cycle + 2
    assert errors(gpu) == 0
    gpu.step()
    assert errors(gpu) == 1


def test_errors_of_one_cycle_count_as_one(gpu):
    """The tracker's error goes before the channel's in the log; each kind is counted."""
    gpu.end(2, shares=0)
    for _ in range(6):
        gpu.step()
    gpu.store(20)
    assert gpu.first(interrupts) == 10
    gpu.step()
    log = gpu.state.logs[register_map.CONTEXT]
    assert errors(gpu) == log["log_level"] == 1 and oldest_error(log) >> 24 == 2
    gpu.settle()
    assert errors(gpu) == log["log_level"] == 1
    assert counts(gpu) == {ErrorCode.NO_SHARE: 1, ErrorCode.STORE_AHEAD: 1}


@pytest.mark.parametrize(("strobe", "left"), [(1, 1), (2, 1), (3, 0)])
def test_clear_error_clears_what_counted_before(gpu, strobe, left):
    """The store's error is in cycle 1; its log entry in cycle 2 goes before the strobe."""
    gpu.store(20)
    while gpu.cycle < strobe:
        gpu.step()
    gpu.strobe("clear_error")
    for _ in range(3):
        gpu.step()
    assert errors(gpu) == interrupts(gpu) == left


@pytest.mark.parametrize("after", range(1, 10))
def test_an_abort_forgets_what_came_before_it(gpu, after):
    """A tile's last update is chosen in cycle 2, and its completion taken in 7."""
    gpu.end(2)
    gpu.settle()
    gpu.update(2)
    while gpu.cycle < after:
        gpu.step()
    gpu.strobe("abort")
    gpu.step()
    own = gpu.state.contexts[0]
    while own["control"]["aborting"]:
        assert gpu.cycle < 100
        gpu.step()
    assert gpu.outputs[CHANNEL_OUTPUTS + K.idle]
    gpu.launch()
    before = after >= 7
    gpu.end(2)
    gpu.settle()
    assert gpu.outputs[CHANNEL_OUTPUTS + K.tiles] == before
    gpu.update(2)
    gpu.settle()
    assert gpu.outputs[CHANNEL_OUTPUTS + K.tiles] == before + 1
    assert errors(gpu) == 0


def test_what_comes_during_an_abort_stays_out(gpu):
    """Stores and packets are dropped, without an error, also if they leave their queue later."""
    gpu.strobe("abort")
    gpu.step()
    for _ in range(8):
        gpu.store(2)
        gpu.packet(3)
    while gpu.state.contexts[0]["control"]["aborting"]:
        assert gpu.cycle < 100
        gpu.step()
    gpu.launch()
    assert errors(gpu) == 0
    gpu.store(2)
    assert gpu.first(out("dram_valid")) == 4


def test_an_abort_ends_while_its_stores_go_on(gpu):
    gpu.strobe("abort")
    gpu.step()
    while gpu.state.contexts[0]["control"]["aborting"]:
        assert gpu.cycle < 100
        gpu.store(2)


def test_a_store_belongs_where_the_tables_put_it_when_it_was_taken():
    gpu = Gpu(action=Action.NONE)
    gpu.inputs[I.dram_ready] = 0
    gpu.store(2, atom=9)  # located in cycle 0
    gpu.region["base"] = 10
    gpu.range["action"] = Action.OWN.value  # the range is found in cycle 1
    gpu.store(2, atom=9)
    assert gpu.first(out("dram_valid")) == 4
    gpu.inputs[I.dram_ready] = 1
    found = []
    for _ in range(4):
        if gpu.outputs[O.dram_valid]:
            found.append(int(gpu.outputs[O.dram_access]))
        gpu.step()
    assert found == [Access.UPDATE.value, Access.WRITE.value]


def test_a_packet_belongs_where_the_tables_put_it_when_it_was_taken(gpu):
    gpu.packet(2, kind=PacketKind.STORE)
    gpu.region["enable"] = 0
    gpu.packet(2, kind=PacketKind.STORE)
    assert gpu.first(out("dram_valid")) == 3
    gpu.settle()
    assert errors(gpu) == 1


def test_a_remote_store_takes_its_destination_at_routing():
    """A packet has the command's operation and type of cycle 1, and kind, slot offset and address
    offset of cycle 2; GPU and address space of its peer as it is put into `link`."""
    gpu = Gpu(action=Action.REMOTE)
    names = "op dtype kind atom_offset".split()
    peer = gpu.state.contexts[0]["peers"][0]
    for cycle, values in enumerate([(0, 0, 0, 70, 7), (1, 2, 0, 80, 8), (2, 1, 1, 90, 9)]):
        for name, value in zip(names, values[:-1], strict=True):
            gpu.command[name] = value
        gpu.range["slot_offset"] = values[-1]
        gpu.store(2, atom=5) if cycle == 0 else gpu.step()
    for name in names:
        gpu.command[name] = 0
    gpu.range["slot_offset"] = 0
    # Put into `remote` in 2, at its end in 4, in `link` in 5.
    gpu.step()
    peer["gpu"], peer["space"] = 77, 6
    assert gpu.first(out("link_out_valid")) == 5
    of_packet = ("op", "dtype", "kind", "slot", "destination", "context")
    found = [int(gpu.outputs[getattr(O, f"link_out_{name}")]) for name in of_packet]
    assert found == [1, 2, 1, 11, 77, 6] and gpu.outputs[O.link_out_atom] == 95
