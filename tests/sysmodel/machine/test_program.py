import numpy as np
import pytest

from driver.python import DOWNSTREAM
from rtl.interface.encodings import Action, Granularity, PacketKind, Policy
from rtl.registers.map import load
from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.gpu.atoms import ATOM_BYTES
from sysmodel.gpu.geometry.placement import MOST_OUTPUT_ATOMS, OUTPUT_ATOM
from sysmodel.lib.errors import InputError
from sysmodel.lib.interleave import channel_of_atom
from sysmodel.machine.credits import credit_windows, group_workgroups
from sysmodel.machine.program import (
    collective_writes,
    copy_writes,
    launch_writes,
    map_writes,
    measure_writes,
    place_offsets,
)
from sysmodel.network.windows import PLACE_ATOM_BITS
from tests.support.small_kernel import OFFSET_BITS, small_kernel
from tests.support.small_system import scaled, small_system


class Programmed:
    """State of the hardware after a list of register writes."""

    def __init__(self, writes):
        self._by_address = {register.address: register for register in load().values()}
        self.values = {}
        self.regions, self.ranges, self.commands, self.copies = {}, {}, {}, []
        for address, word in writes:
            register = self._by_address[address]
            assert register.writable
            assert 0 <= word < 1 << 32
            assert word & ~sum(field.mask for field in register.fields) == 0
            self.values[register.name] = register.unpack(word)
            self._commit(register.name)

    def __getitem__(self, name):
        register, field = name.split(".")
        return self.values[register][field]

    def _bytes(self, name):
        return self[f"{name}_LO.bytes"] | self[f"{name}_HI.bytes"] << 32

    def _commit(self, name):
        tables = {
            "REGION_COMMIT": (self.regions, self._region),
            "RANGE_COMMIT": (self.ranges, self._range),
        }
        if name in tables:
            table, staged = tables[name]
            index = self[f"{name}.index"]
            table.pop(index, None)
            if self[f"{name}.enable"]:
                table[index] = staged()
        elif name == "COMMAND_COMMIT":
            command = {"offset": self._bytes("COMMAND_OFFSET")}
            for part in ("TRANSFER", "OUTER", "INNER", "STRIDE", "WAVES"):
                command |= self.values.get(f"COMMAND_{part}", {})
            self.commands[self["COMMAND_COMMIT.index"]] = command
        elif name == "COPY":
            self.copies.append((self._bytes("COPY_START"), self.commands[self["COPY.command"]]))

    def _region(self):
        return self._bytes("REGION_BASE"), self._bytes("REGION_LIMIT")

    def _range(self):
        parts = ("RANGE_DISPATCH_INDICES", "RANGE_ACTION", "RANGE_PEERS")
        return {name: value for part in parts for name, value in self.values.get(part, {}).items()}

    def action(self, dispatch_index):
        """Return the action of a dispatch index; at most one range has it."""
        found = [
            one for one in self.ranges.values() if one["first"] <= dispatch_index <= one["last"]
        ]
        assert len(found) <= 1
        return Action(found[0]["action"]) if found else Action.NONE


def walked(command, start, outer_edge=False, inner_edge=False):
    """Atoms that the DMA engine visits from the byte ``start`` on."""
    outer = command["outer_extent_edge" if outer_edge else "outer_extent"]
    inner = command["inner_extent_edge" if inner_edge else "inner_extent"]
    assert start % ATOM_BYTES == 0
    first = start // ATOM_BYTES
    return [first + r * command["stride"] + o for r in range(outer) for o in range(inner)]


KERNELS = {
    "whole tiles": dict(),
    "edges": dict(m=250, n=31),
    "row-major": dict(tile_m=8, tile_n=64, n=250, m=31, waves_m=4, waves_n=2, column_major=False),
    "four by two": dict(waves_m=4, waves_n=2),
    "wavefronts beyond both edges": dict(m=200, n=27, waves_m=4, waves_n=2),
    "one wavefront": dict(tile_m=48, waves_m=1, m=192),
}


@pytest.fixture(params=KERNELS, ids=str)
def kernel(request):
    return small_kernel(gpus=4, **KERNELS[request.param])


def ring_of(kernel):
    return tracked_schedule("ring", kernel.gpus)


def programmed(kernel, gpu=0, system=None, **options):
    system = small_system() if system is None else system
    return Programmed(map_writes(kernel, system, gpu, ring_of(kernel), address_space=1, **options))


def test_command_walks_every_tile(kernel):
    command = programmed(kernel).commands[0]
    output_atoms = kernel.output_atoms(1, OFFSET_BITS, 1)
    first, _, _, outer_edge, inner_edge = kernel.walk
    for w in range(kernel.workgroups):
        walk = walked(command, int(first[w]) * ATOM_BYTES, outer_edge[w], inner_edge[w])
        assert walk == output_atoms.atom[output_atoms.start[w] : output_atoms.start[w + 1]].tolist()


def test_command_distinguishes_the_wavefronts(kernel):
    command = programmed(kernel).commands[0]
    output_atoms = kernel.output_atoms(1, OFFSET_BITS, 1)
    first, _, _, outer_edge, inner_edge = kernel.walk
    for w in range(kernel.workgroups):
        mine = slice(output_atoms.start[w], output_atoms.start[w + 1])
        row, offset = np.divmod(output_atoms.atom[mine] - first[w], kernel.layout.stride)
        wave = (row // command["wave_outer_extent"] << command["waves_inner_log2"]) + (
            offset >> command["wave_inner_log2"]
        )
        assert np.array_equal(wave, output_atoms.wave[mine])
        ending = command[f"waves{2 * inner_edge[w] + outer_edge[w]}"]
        assert ending == 1 + output_atoms.wave[mine].max()


def test_command_sends_updates_to_the_same_address(kernel):
    command = programmed(kernel, op="min", dtype="bf16").commands[0]
    assert command["kind"] == PacketKind.UPDATE.value
    assert (command["op"], command["dtype"]) == (2, 1)
    assert command["offset"] == 0


def test_region_is_the_output(kernel):
    atoms = kernel.output_atoms(1, OFFSET_BITS, 1).atom
    mapped = programmed(kernel)
    base, limit = mapped.regions[0]
    assert base == OUTPUT_ATOM * ATOM_BYTES == atoms.min() * ATOM_BYTES
    assert limit == (atoms.max() + 1) * ATOM_BYTES
    assert mapped.values["ADDRESS_SPACE"] == {"local": 1, "enable": 1}


@pytest.mark.parametrize("gpus", [2, 3, 4, 7])
def test_ring_of_chunks(gpus):
    """The first chunk leaves, the own one stays, those between go on."""
    kernel = small_kernel(gpus=gpus)
    total, start = kernel.workgroups, kernel.chunks.start
    firsts = [start[(g + 1) % gpus] for g in range(gpus)]  # workgroups that are dispatched first
    for g in range(gpus):
        program = programmed(kernel, g)
        for dispatch_index in range(total):
            workgroup = (firsts[g] + dispatch_index) % total
            chunk = int(np.searchsorted(start, workgroup, side="right")) - 1
            if chunk == g:
                expected = Action.OWN
            else:
                expected = Action.REMOTE if chunk == (g + 1) % gpus else Action.DMA
            assert program.action(dispatch_index) == expected
            tracked = (
                program["TRACKED_FIRST.dispatch_index"]
                <= dispatch_index
                < program["TRACKED_END.dispatch_index"]
            )
            assert tracked == (expected != Action.REMOTE)
            if expected != Action.OWN:
                (own,) = (
                    one
                    for one in program.ranges.values()
                    if one["first"] <= dispatch_index <= one["last"]
                )
                assert own["peers"] == 1 << DOWNSTREAM
                slot = dispatch_index + own["slot_offset"]
                assert slot < total and (firsts[g - 1] + slot) % total == workgroup
        assert program.action(total) == Action.NONE
        assert program["WORKGROUPS.count"] == total
        assert {one["command"] for one in program.ranges.values()} == {0}


def test_policies_and_limits():
    system = small_system()
    program = programmed(small_kernel(), system=system, policy="mca")
    assert program["ARBITER.policy"] == Policy.MCA.value
    assert program["ARBITER.automatic"] == 1
    # The kernel's contribution, and that of the upstream GPU; the downstream GPU tracks, too.
    tracked = [one for one in program.ranges.values() if Action(one["action"]) != Action.REMOTE]
    assert tracked and {one["shares"] for one in tracked} == {2}
    assert program.commands[0]["marks"] == 1
    # Within a stage of all resident workgroups, and more than half of it.
    flops_per_ns = system.peak_flops_per_ns * system.gpu.matrix_issue_rate
    tiling, resident = (
        small_kernel().tiling,
        system.gpu.compute_units * system.gpu.workgroups_per_cu,
    )
    stage_ns = resident * tiling.steps * tiling.step_flops / flops_per_ns
    measured_ns = (1 << program["MEASURE.log2"]) * system.cycle_ns
    assert stage_ns / 2 < measured_ns <= stage_ns
    plain = programmed(small_kernel())
    assert plain["ARBITER.policy"] == Policy.ROUND_ROBIN.value
    assert plain["ARBITER.automatic"] == 0
    credit_window, commands = credit_windows(small_kernel().chunks, system)
    assert plain["CREDIT_WINDOW.workgroups"] == credit_window
    assert plain["COMMAND_WINDOW.workgroups"] == commands


@pytest.mark.parametrize(
    "policy,depth,levels,cuts",
    [
        ("mca-paper", 64, (30, 10, 5), (4, 16, 32)),
        ("mca-paper", 16, (30, 10, 5), (4, 16, 32)),
        ("mca", 64, (30, 10, 5), (4, 16, 32)),
        ("mca", 32, (15, 5, 2), (2, 8, 16)),
        ("mca", 8, (4, 1, 1), (1, 2, 4)),
        ("mca", 256, (120, 40, 20), (16, 64, 127)),
    ],
)
def test_only_the_papers_policy_has_the_papers_queue(policy, depth, levels, cuts):
    """All other policies measure occupancy in shares of the queue."""
    t3 = {"mca_levels": (30, 10, 5), "mca_cuts": (4, 16, 32), "starvation_limit_cycles": 256}
    timing = small_system().dram.timing_cycles
    dram = {"queue_depth": depth, "clock_mhz": 1000.0, "read_latency_ns": 100.0}
    system = scaled(small_system(), dram=dram, t3=t3 | {"starvation_latencies": 2.0})
    program = programmed(small_kernel(), system=system, policy=policy)
    assert program["ARBITER.automatic"] == 1
    assert tuple(program[f"LEVELS.level{i}"] for i in range(3)) == levels
    assert tuple(program[f"CUTS.cut{i}"] for i in range(3)) == cuts
    of_latencies = round(2 * (100 + timing.read_latency))
    assert program["STARVATION.cycles"] == (256 if policy == "mca-paper" else of_latencies)


@pytest.mark.parametrize("depth,threshold", [(64, 56), (10, 8), (1, 1), (128, 112), (256, 126)])
def test_critical_leaves_an_eighth_of_the_queue(depth, threshold):
    """In queues beyond the hardware's count it is the largest threshold, since 127 is none."""
    system = scaled(small_system(), dram={"queue_depth": depth})
    program = programmed(small_kernel(), system=system, policy="critical")
    assert program["ARBITER.policy"] == Policy.CRITICAL.value
    assert (program["ARBITER.automatic"], program["ARBITER.threshold"]) == (0, threshold)
    assert program["CUTS.cut2"] == threshold


@pytest.mark.parametrize(
    "granularity,group,value,log2",
    [
        ("wavefront", 1, Granularity.WAVEFRONT, 0),
        ("workgroup", 1, Granularity.WORKGROUP, 0),
        ("workgroup", 8, Granularity.WORKGROUP, 3),
    ],
)
def test_granularity(granularity, group, value, log2):
    t3 = {"granularity": granularity, "group_workgroups": group}
    command = programmed(small_kernel(), system=scaled(small_system(), t3=t3)).commands[0]
    assert (command["granularity"], command["group_log2"]) == (value.value, log2)


def test_value_too_large_for_its_field_is_refused():
    with pytest.raises(ValueError, match=r"ADDRESS_SPACE\.local must be .* less than 16"):
        kernel = small_kernel()
        map_writes(kernel, small_system(), 0, ring_of(kernel), address_space=16)


def test_strobes():
    (launch,) = Programmed(launch_writes()).values.values()
    assert launch == {"launch": 1, "abort": 0, "measure": 0, "clear_error": 0, "drop_error": 0}
    (measure,) = Programmed(measure_writes()).values.values()
    assert measure == {"launch": 0, "abort": 0, "measure": 1, "clear_error": 0, "drop_error": 0}


@pytest.mark.parametrize(
    "t3,windows",
    [
        # 64 sets of 8 ways hold two wavefronts of each of 256 workgroups.
        (dict(tracker_sets=64, tracker_ways=8), (256, 1024)),
        (dict(tracker_sets=64, tracker_ways=5), (128, 1024)),
        (dict(credit_window_workgroups=128), (128, 1024)),
        (dict(credit_window_workgroups=128, group_workgroups=8), (120, 1024)),
        (dict(granularity="wavefront"), (512 - 8, 512)),
        (dict(command_depth=64), (56, 64)),
    ],
)
def test_credit_windows(t3, windows):
    kernel = small_kernel()
    assert kernel.chunks.sizes[0] == 8
    defaults = dict(
        granularity="workgroup", group_workgroups=1, tracker_sets=256, tracker_ways=8,
        credit_window_workgroups=512, command_depth=1024,
    )  # fmt: skip
    assert credit_windows(kernel.chunks, scaled(small_system(), t3=defaults | t3)) == windows


@pytest.mark.parametrize(
    "t3,field,message",
    [
        (
            dict(tracker_sets=2, tracker_ways=4),
            "t3.credit_window_workgroups",
            "a chunk of 8 workgroups",
        ),
        (dict(tracker_ways=1), "t3.credit_window_workgroups", "exceeds the 0 that the tracker's"),
        (
            dict(credit_window_workgroups=4),
            "t3.credit_window_workgroups",
            "a credit window of 4 hold",
        ),
        (dict(command_depth=8), "t3.command_depth", "allowed: at least twice a chunk, 16"),
        (
            dict(command_depth=16, granularity="wavefront"),
            "t3.command_depth",
            "16 commands hold 8 workgroups; allowed: at least twice a chunk, 32",
        ),
    ],
)
def test_ring_that_could_not_move_is_refused(t3, field, message):
    system = scaled(small_system(), t3={"granularity": "workgroup"} | t3)
    with pytest.raises(InputError, match=message) as refused:
        credit_windows(small_kernel().chunks, system)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "gpus,chunk,group,expected",
    [(2, 8, 1, 1), (2, 8, 8, 8), (2, 8, 16, 8), (2, 8, 128, 8), (3, 5, 4, 4), (3, 5, 8, 4)],
)
def test_a_group_is_at_most_a_chunk(gpus, chunk, group, expected):
    """With three GPUs, 16 workgroups make chunks of 5, 5 and 6."""
    chunks = small_kernel(gpus=gpus).chunks
    assert min(chunks.sizes) == chunk
    system = scaled(small_system(), t3={"granularity": "workgroup", "group_workgroups": group})
    assert group_workgroups(chunks, system) == expected


@pytest.mark.parametrize("t3", [dict(tracker_sets=4, tracker_ways=4), dict(command_depth=16)])
def test_smallest_ring_that_moves_is_allowed(t3):
    system = scaled(small_system(), t3={"granularity": "workgroup"} | t3)
    credit_window, commands = credit_windows(small_kernel().chunks, system)
    assert credit_window == 8 and commands >= 16


@pytest.mark.parametrize("channels", range(1, 257))
def test_places_are_elsewhere_in_the_same_channel(channels):
    first, second, *others = place_offsets(channels, 72)
    random = np.random.default_rng(channels)
    output = OUTPUT_ATOM + random.integers(0, MOST_OUTPUT_ATOMS, 100)
    for offset in (first, second, *others[::13]):
        for atom in output:
            assert channel_of_atom(atom, OFFSET_BITS, channels) == channel_of_atom(
                atom + offset, OFFSET_BITS, channels
            )
    assert first == 0
    between = np.diff([first, second, *others])
    assert (between >= MOST_OUTPUT_ATOMS).all()
    # The hardware of a ring has addresses of 40 bits; the network's windows begin further up.
    assert OUTPUT_ATOM + MOST_OUTPUT_ATOMS + second <= (1 << 40) // ATOM_BYTES
    assert OUTPUT_ATOM + MOST_OUTPUT_ATOMS + others[-1] <= 1 << PLACE_ATOM_BITS


@pytest.mark.parametrize("chunk", range(4))
def test_copy_walks_its_chunk(kernel, chunk):
    output_atoms = kernel.output_atoms(1, OFFSET_BITS, 1)
    first, end = output_atoms.start[kernel.chunks.start[chunk : chunk + 2]]
    (writes,) = copy_writes(kernel, chunk)
    ((start, command),) = Programmed(writes).copies
    assert walked(command, start) == sorted(output_atoms.atom[first:end])
    assert walked(command, start, True, True) == walked(command, start)
    assert command["kind"] == PacketKind.STORE.value
    assert command["offset"] == 0


def test_copy_leaves_the_map_as_it_is(kernel):
    mapped = programmed(kernel)
    both = Programmed(
        map_writes(kernel, small_system(), 0, ring_of(kernel), address_space=1)
        + copy_writes(kernel, 0)[0]
    )
    assert (both.regions, both.ranges) == (mapped.regions, mapped.ranges)
    assert both.commands[0] == mapped.commands[0]


def test_collective_maps_output_and_staging_copy():
    kernel, (_, offset) = small_kernel(), place_offsets(2, 2)
    first = Programmed(collective_writes(kernel, 2, staged=(offset, offset)))
    end = OUTPUT_ATOM + 32 * 16
    assert first.regions == {
        0: (OUTPUT_ATOM * ATOM_BYTES, end * ATOM_BYTES),
        1: ((OUTPUT_ATOM + offset) * ATOM_BYTES, (end + offset) * ATOM_BYTES),
    }
    assert first.values["ADDRESS_SPACE"] == {"local": 2, "enable": 1}
    assert first.action(0) == Action.REMOTE
    command = first.commands[0]
    assert command["kind"] == PacketKind.STORE.value
    assert command["offset"] == 0
    second = Programmed(collective_writes(kernel, 2, staged=None))
    assert list(second.regions) == [0]
    assert second.commands[0]["offset"] == 0
