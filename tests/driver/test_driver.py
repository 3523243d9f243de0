"""The driver over the golden model's register port, with a kernel's traffic around it."""

from collections import Counter

import numpy as np
import pytest

from rtl.interface.encodings import ConfigurationError
from rtl.registers.map import load
from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.simulated_bus import SMALL, SimulatedBus
from t3.driver import (
    T3,
    Context,
    Datatype,
    ErrorCode,
    InjectTarget,
    MappedRegisters,
    Operation,
    PacketKind,
    Peer,
    Policy,
    RefusedError,
    ReportedError,
    Ring,
    T3Error,
    Transfer,
    WaitTimeoutError,
)
from tests.support.driver_identity import IDENTITY
from tests.support.two_gpus import NEIGHBOUR, join_ring

P = SMALL
BASE, SIZE = 1 << 17, 1 << 20
TILE = Transfer(rows=2, run_atoms=2, stride_atoms=8, wave_rows=2, waves=(1, 1, 1, 1))
RING = Ring(
    workgroups=6,
    leaving=2,
    staying=2,
    credit_window=4,
    command_window=8,
    shares=2,
    generation=5,
)


@pytest.fixture
def bus():
    with GoldenEngine(P) as engine:
        yield SimulatedBus(P, engine)


@pytest.fixture
def gpu(bus):
    gpu = T3(bus)
    while gpu.context(1).status["aborting"] or gpu.context(0).status["aborting"]:
        pass  # the end of the reset
    return gpu


def base_of(number):
    """Return the address of a context's region; contexts share no memory."""
    return BASE + number * SIZE


def ready(gpu, number=0):
    context = gpu.context(number)
    context.assign(3 + number)
    context.reset_epochs()
    join_ring(context, 3 + number)
    context.region(0, base_of(number), base_of(number) + SIZE)
    context.reduce_scatter(RING, TILE)
    return context


def test_identify(gpu):
    assert gpu.identify() == P.contexts


@pytest.mark.parametrize("number", range(P.contexts))
def test_a_reduce_scatter(gpu, bus, number):
    """The tile of every workgroup is handled, from its stores and the neighbour's updates to the
    end.
    """
    context = ready(gpu, number)
    context.enable_interrupts(done=True, error=True)
    assert context.take_interrupts() <= {"idle"}
    context.launch()
    bus.play(RING, number, 3 + number, base_of(number))
    context.wait()
    assert context.tiles == RING.workgroups - RING.leaving
    assert context.oldest == RING.workgroups
    context.wait_idle()
    assert {"done", "idle"} <= context.take_interrupts() and not context.take_interrupts()
    assert context.take_errors() == [] and gpu.take_errors() == []
    # Tiles that leave immediately, and tiles that are sent on when they are complete; each has a
    # marker.
    middle = RING.workgroups - RING.leaving - RING.staying
    kinds = Counter(packet["kind"] for packet in bus.sent)
    tiles = RING.leaving + middle
    assert kinds == {PacketKind.UPDATE.value: 4 * tiles, PacketKind.END.value: tiles}
    assert {packet["generation"] for packet in bus.sent} == {5}


def test_launches_follow_each_other(gpu, bus):
    context = ready(gpu)
    for generation in range(5, 8):
        context.reduce_scatter(Ring(**vars(RING) | {"generation": generation}), TILE)
        context.launch()
        bus.play(RING, 0, 3, BASE, generation=generation)
        context.wait()
    assert context.next_epoch == 4


def test_what_is_refused_is_an_exception(gpu):
    context = ready(gpu)
    with pytest.raises(RefusedError, match=r"REGION_COMMIT of context 0: OVERLAP") as info:
        context.region(1, base_of(1) - 32, base_of(1) + 32)
    assert info.value.code is ConfigurationError.OVERLAP
    context.window(workgroups=4, tracked=(4, 3))
    with pytest.raises(RefusedError, match=r"CONTROL of context 0: LAUNCH_RANGE"):
        context.launch()


def test_a_value_that_does_not_fit_its_field(gpu):
    with pytest.raises(ValueError, match=r"ADDRESS_SPACE\.local must be .* less than 16, not 16"):
        gpu.context(0).assign(16)
    with pytest.raises(ValueError, match=r"group must be a power of two, not 3"):
        Transfer(group=3)


def test_errors_are_exceptions(gpu, bus):
    context = ready(gpu)
    context.launch()
    bus.play(RING, 0, 3, BASE, workgroups=1)
    bus.store(generation=4, context=3, dispatch_index=2, atom=BASE // 32 + 7)
    with pytest.raises(ReportedError, match=r"STORE_STALE \(dispatch index 2, .*0x200e0") as info:
        context.wait()
    (error,) = info.value.errors
    assert (error.code, error.address) == (ErrorCode.STORE_STALE, BASE + 7 * 32)
    assert context.error_count(ErrorCode.STORE_STALE) == 1
    context.clear_errors()
    assert context.error_count(ErrorCode.STORE_STALE) == 0
    with pytest.raises(
        WaitTimeoutError, match=r"context 0: the end of the launch did not occur within 9"
    ):
        context.wait(polls=9)
    context.abort()
    context.wait_idle()


def test_packets_of_no_context_are_the_gpus(gpu, bus):
    ready(gpu)
    bus.packet(context=9, source=107, atom=99, slot=3)
    for _ in range(10):
        bus.cycle()
    (error,) = gpu.take_errors()
    assert (error.code, error.source, error.address) == (ErrorCode.PACKET_UNMAPPED, 107, 99 * 32)
    assert gpu.take_errors() == []
    assert gpu.take_interrupts() == {"error"} and gpu.take_interrupts() == set()
    assert gpu.error_count(ErrorCode.PACKET_UNMAPPED) == 1
    gpu.clear_errors()
    assert gpu.error_count(ErrorCode.PACKET_UNMAPPED) == 0


def test_errors_that_come_meanwhile_are_for_the_next_call(gpu, bus):
    """A neighbour that never stops sending does not keep the software in the call."""
    ready(gpu)
    read = bus.read

    def neighbour(address):
        bus.packet(context=9, source=107, atom=99, slot=3)
        return read(address)

    bus.read = neighbour
    assert len(gpu.take_errors()) <= 8
    bus.read = read
    assert gpu.take_errors()


def test_whose_packets_a_context_takes(gpu, bus):
    """Packets of a rank and a kind are taken if a peer of this rank may send this kind."""
    context = ready(gpu)
    store, update = PacketKind.STORE.value, PacketKind.UPDATE.value
    context.wait_idle()
    context.peer(1, Peer(gpu=9, rank=77, space=2, takes_stores=True))
    context.peer(6, Peer(gpu=9, rank=100, space=2, takes_updates=True))
    context.launch()
    taken = {
        (rank, kind)
        for rank in (NEIGHBOUR, 5, 9, 36, 77, 100, 127)
        for kind in (store, update)
        if takes(gpu, bus, kind=kind, source=rank)
    }
    assert taken == {(77, store), (100, update)}


def test_peers_of_a_launch(gpu, bus):
    """A launch, or a copy, that lacks a peer is refused; peers change while the context is idle."""
    context, chunk = ready(gpu), Transfer(rows=1, run_atoms=2, stride_atoms=2)
    context.remove_peer(0)
    for refused in (context.launch, lambda: context.copy(BASE, chunk)):
        with pytest.raises(RefusedError, match="NO_PEER"):
            refused()
    context.peer(7, Peer(gpu=99, rank=4, space=2, sends_stores=True))
    context.copy(BASE, chunk, peers=[7])
    context.wait_idle()
    assert [packet["destination"] for packet in bus.sent] == [99, 99]
    join_ring(context, 3)
    context.launch()
    for change in (lambda: join_ring(context, 3), lambda: context.remove_peer(7)):
        with pytest.raises(RefusedError, match=r"PEER_COMMIT of context 0: IN_USE"):
            change()
    context.abort()


def test_what_a_context_takes(gpu, bus):
    """Updates of other operations and types are refused, plain stores are not."""
    context = ready(gpu)
    context.launch()
    context.accept(ops=[Operation.MAX], dtypes=[Datatype.BF16])
    taken = {
        (op, dtype): takes(gpu, bus, kind=PacketKind.UPDATE.value, op=op.value, dtype=dtype.value)
        for op in Operation
        for dtype in Datatype
    }
    assert {kind for kind, is_taken in taken.items() if is_taken} == {
        (Operation.MAX, Datatype.BF16)
    }
    assert takes(gpu, bus, kind=PacketKind.STORE.value, op=Operation.SUM.value)
    context.accept()
    assert takes(gpu, bus, kind=PacketKind.UPDATE.value, op=Operation.SUM.value)


def takes(gpu, bus, **packet):
    """Return whether a packet is valid, apart from its time."""
    context = gpu.context(0)
    context.clear_errors()
    bus.packet(**{"context": 3, "source": NEIGHBOUR, "atom": BASE // 32, "slot": 3} | packet)
    for _ in range(10):
        bus.cycle()
    return not context.error_count(ErrorCode.PACKET_FORBIDDEN)


def test_chunks_are_copied(gpu, bus):
    """Each chunk is copied as soon as it has arrived, as plain stores."""
    context = ready(gpu)
    context.launch()
    bus.play(RING, 0, 3, BASE)
    context.wait()
    context.wait_idle()
    bus.sent.clear()
    order = []
    chunk = Transfer(rows=2, run_atoms=3, stride_atoms=10)
    starts = [BASE, BASE + 100 * 32]
    context.copy_chunks([(start, chunk) for start in starts], order.append)
    context.wait_idle()
    assert order == [1]
    atoms = [
        start // 32 + row * 10 + atom for start in starts for row in (0, 1) for atom in range(3)
    ]
    assert [packet["atom"] for packet in bus.sent] == atoms
    assert "copy" in context.take_interrupts()


def test_inject(gpu, bus):
    """A single-bit error of a ready command is corrected as the command leaves its queue; a
    double-bit error is reported to the command's context.
    """
    for number, double in enumerate((False, True)):
        context = ready(gpu, number)
        gpu.inject(InjectTarget.COMMANDS, number, double=double)
        assert gpu.armed
        context.launch()
        bus.play(RING, number, 3 + number, base_of(number))
        if double:
            while not context._page.read("ERRORS")["count"]:  # the command has not left its queue
                bus.cycle()
            with pytest.raises(ReportedError, match="TRIGGER_CORRUPT"):
                context.wait_idle()
        else:
            context.wait()
            context.wait_idle()
        assert not gpu.armed and gpu.corrected == 1
    corrected = gpu.corrected
    for target, instance in ((InjectTarget.TRACKER, P.banks), (InjectTarget.GROUPS, P.contexts)):
        with pytest.raises(T3Error, match="refused INJECT"):
            gpu.inject(target, instance)
    gpu.inject(InjectTarget.COMMANDS, 1)
    assert gpu.armed
    gpu.inject(InjectTarget.NONE)
    assert not gpu.armed and gpu.corrected == corrected


def test_scrubber(gpu, bus):
    """The scrubber corrects a bit error in a workgroup's row that is never read again."""
    context = ready(gpu)
    gpu.inject(InjectTarget.TILES)
    context.launch()
    bus.play(RING, 0, 3, BASE)
    context.wait()
    assert (gpu.armed, gpu.corrected, gpu.scrub_corrected) == (False, 0, 0)
    gpu.scrub(1)
    for _ in range(200):
        bus.cycle()
    assert gpu.scrub_corrected == 1
    gpu.scrub(0)


def test_locks(gpu, bus):
    context = ready(gpu)
    context.lock()
    gpu.lock()
    bus.privileged = False
    with pytest.raises(RefusedError, match=r"REGION_COMMIT of context 0: LOCKED"):
        context.remove_region(0)
    with pytest.raises(RefusedError, match=r"ADDRESS_SPACE of context 0: LOCKED"):
        context.assign(1)
    with pytest.raises(RefusedError, match=r"INBOUND_KINDS of context 0: LOCKED"):
        context.accept(ops=[Operation.SUM])
    for call, register in (
        (lambda: context.peer(0, Peer(gpu=1, rank=1, space=1)), "PEER"),
        (lambda: context.remove_peer(0), "PEER_COMMIT"),
        (lambda: context.set_rank(1), "RANK"),
    ):
        with pytest.raises(RefusedError, match=rf"{register} of context 0: LOCKED"):
            call()
    with pytest.raises(T3Error, match=r"refused ARBITER"):
        gpu.set_arbitration(Policy.MCA)
    with pytest.raises(T3Error, match=r"refused INJECT"):
        gpu.inject(InjectTarget.TRACKER)
    with pytest.raises(T3Error, match=r"refused GPU_INTERRUPT_ENABLE"):
        gpu.enable_interrupts(error=False)
    bus.packet(context=9, source=107, atom=99, slot=3)
    for _ in range(10):
        bus.cycle()
    with pytest.raises(T3Error, match=r"refused GPU_CONTROL"):
        gpu.take_errors()
    bus.privileged = True
    assert len(gpu.take_errors()) == 1
    context.accept(ops=[Operation.SUM])
    gpu.set_arbitration(Policy.MCA, automatic=True)


def identify(words):
    """Write the constants by which the driver recognizes the hardware."""
    for address, word in IDENTITY.items():
        words[address // 4] = word


def test_mapped_registers():
    """The driver accesses a register at its mapped address."""
    memory = bytearray(0x3000)
    words = np.frombuffer(memory, "<u4")
    identify(words)
    words[load()["CONTEXTS"].address // 4] = 2
    before = words.copy()
    Context(MappedRegisters(memoryview(memory)), 1).timeout(0x12345 * 64)
    address = load()["TIMEOUT"].address_in(1)
    assert words[address // 4] == 0x12345 + 1
    assert np.count_nonzero(words != before) == 1


def test_mapped_registers_report_a_refusal_by_the_status():
    memory = memoryview(bytearray(0x3000))
    status = load()["STATUS"]
    words = memory.cast("B").cast("I")
    identify(words)
    words[load()["CONTEXTS"].address // 4] = 1
    words[status.address // 4] = status.pack(configuration_error=ConfigurationError.EMPTY.value)
    with pytest.raises(RefusedError, match=r"REGION_BASE_LO of context 0: EMPTY"):
        Context(MappedRegisters(memory)).region(0, 32, 32)
