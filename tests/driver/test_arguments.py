"""The first value beyond an argument's field is refused by the Python driver, before any access."""

import inspect
from dataclasses import fields as fields_of
from dataclasses import replace

import pytest

from rtl.registers.map import MAX_CONTEXTS
from t3.driver import T3, Collective, Context, Gate, Part, Peer, Recorder, Ring, Transfer
from tests.support.driver_limits import (
    ADDRESS,
    COLLECTIVE,
    GATE,
    INDEX,
    OF_COLLECTIVE,
    OF_CONTEXT,
    OF_GATE,
    OF_GPU,
    OF_PART,
    OF_PATTERNS,
    OF_PEER,
    OF_RING,
    OF_TRANSFER,
    PATTERNS,
    PEER,
    PEERS,
    RING,
    SLOT_OFFSET,
    TRANSFER,
)

# Calls without a value that is written to a field: polls, codes that are read, and transfers, whose
# fields have a test of their own.
WITHOUT = {"launch", "measure", "wait", "wait_idle", "abort", "take_errors", "error_count"}
WITHOUT |= {"clear_errors", "take_interrupts", "identify", "context", "reset_epochs"}
WITHOUT |= {"hold", "hand_over"}
OF_STRUCTS = {"command", "copy", "copy_chunks", "collective", "reduce_scatter", "peer", *PATTERNS}


def calls_of(kind):
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}


def test_every_call_and_argument_is_tried():
    contexts = calls_of(Context) - WITHOUT - OF_STRUCTS - {"enable_interrupts"}
    assert contexts == set(OF_CONTEXT)
    assert calls_of(T3) - WITHOUT - {"lock"} == set(OF_GPU)
    for kind, table in ((Context, OF_CONTEXT), (T3, OF_GPU)):
        for name, (valid, invalid) in table.items():
            parameters = set(inspect.signature(getattr(kind, name)).parameters) - {"self"}
            assert parameters == set(valid) == set(invalid), name
    assert {field.name for field in fields_of(Transfer)} == set(OF_TRANSFER)
    assert {field.name for field in fields_of(Ring)} == set(OF_RING)
    assert {field.name for field in fields_of(Peer)} == set(OF_PEER)
    assert {field.name for field in fields_of(Collective)} - {"parts"} == set(OF_COLLECTIVE)
    assert {field.name for field in fields_of(Gate)} == set(OF_GATE)
    of_part = {field.name for field in fields_of(Part)} - {"stores_leave", "gate", "transfer"}
    assert of_part == set(OF_PART)
    for name, pattern in PATTERNS.items():
        of_pattern = {field.name for field in fields_of(pattern)} - {"sent", "ring"}
        assert of_pattern == set(OF_PATTERNS[name])


def variants(value):
    """Return the values, of which a tuple has several."""
    return value if isinstance(value, tuple) else (value,)


CASES = [
    pytest.param(kind, name, {**valid, argument: value}, id=f"{name}-{argument}-{number}")
    for kind, table in ((Context, OF_CONTEXT), (T3, OF_GPU))
    for name, (valid, invalid) in table.items()
    for argument, values in invalid.items()
    for number, value in enumerate([*variants(values), -1])
    # A tuple, a list or a gate has no negative value.
    if not (value == -1 and isinstance(values, tuple | list | Gate))
]


class Accesses(Recorder):
    """Recorder that also counts reads."""

    def __init__(self):
        super().__init__()
        self.reads = 0

    def read(self, address):
        self.reads += 1
        return super().read(address)


def refused(call, *arguments, **named):
    """Return whether a call is refused without an access."""
    bus = Accesses()
    kind = call.__qualname__.split(".")[0]
    instance = T3(bus) if kind == "T3" else Context(bus, 1)
    bus.reads = 0
    try:
        call(instance, *arguments, **named)
    except ValueError:
        return not bus.writes and not bus.reads
    assert bus.writes
    return False


@pytest.mark.parametrize("kind, name, arguments", CASES)
def test_python(kind, name, arguments):
    table = OF_CONTEXT if kind is Context else OF_GPU
    assert not refused(getattr(kind, name), **table[name][0])
    assert refused(getattr(kind, name), **arguments)


@pytest.mark.parametrize("name", OF_TRANSFER)
def test_python_transfer(name):
    """A field of a transfer is refused by the transfer, or by each call that takes one."""
    for value in [*variants(OF_TRANSFER[name]), *([] if name == "waves" else [-(1 << 64)])]:
        try:
            wrong = replace(TRANSFER, **{name: value})
        except ValueError:
            continue
        assert refused(Context.command, 0, wrong)
        if name != "marks":  # a reduce-scatter sets them
            assert refused(Context.reduce_scatter, RING, wrong)
        if name != "kind":  # a copy sends stores
            assert refused(Context.copy, 0, wrong)
            assert refused(Context.copy_chunks, [(0, TRANSFER), (0, wrong)], print)


def test_python_calls_with_a_transfer():
    for index, region in ((INDEX, 0), (0, INDEX), (-1, 0), (0, -1)):
        assert refused(Context.command, index, TRANSFER, region=region)
    for start, region in ((ADDRESS, 0), (-1, 0), (0, INDEX), (0, -1)):
        assert refused(Context.copy, start, TRANSFER, region=region)
        assert refused(
            Context.copy_chunks, [(0, TRANSFER), (start, TRANSFER)], print, region=region
        )
    for peers in (PEERS, [-1]):
        assert refused(Context.copy, 0, TRANSFER, peers=peers)
        assert refused(Context.copy_chunks, [(0, TRANSFER)], print, peers=peers)
    assert refused(Context.reduce_scatter, RING, TRANSFER, region=INDEX)
    assert not refused(Context.reduce_scatter, RING, TRANSFER)


@pytest.mark.parametrize("name", OF_RING)
@pytest.mark.parametrize("negative", [False, True])
def test_python_ring(name, negative):
    wrong = replace(RING, **{name: -1 if negative else OF_RING[name]})
    assert refused(Context.reduce_scatter, wrong, TRANSFER)


@pytest.mark.parametrize(
    ("call", "name"), [(call, name) for call, names in OF_PATTERNS.items() for name in names]
)
def test_python_pattern(call, name):
    pattern, value = PATTERNS[call], OF_PATTERNS[call][name]
    assert not refused(getattr(Context, call), pattern, TRANSFER)
    negative = (-1,) if name == "peers" else -SLOT_OFFSET - 1 if name == "slot_offset" else -1
    for wrong in (value, negative):
        assert refused(getattr(Context, call), replace(pattern, **{name: wrong}), TRANSFER)


def test_python_too_many_transfers():
    """There are three command templates for the tiles of a collective."""
    others = [replace(TRANSFER, offset_bytes=32 * at) for at in range(3)]
    parts = [Part(1, transfer=other) for other in others]
    assert not refused_collective(parts=(Part(4), *parts[:2], *parts[:2]))
    assert refused_collective(parts=(Part(4), *parts))
    # Equal objects are not the same one.
    assert refused_collective(parts=(Part(4), *parts[:2], Part(1, transfer=replace(others[0]))))


def refused_collective(**changes):
    """Return whether a collective is refused as it is made or as it is programmed."""
    try:
        wrong = replace(COLLECTIVE, **changes)
    except ValueError:
        return True
    return refused(Context.collective, wrong, TRANSFER)


@pytest.mark.parametrize("name", OF_COLLECTIVE)
@pytest.mark.parametrize("negative", [False, True])
def test_python_collective(name, negative):
    assert not refused_collective()
    assert refused_collective(**{name: -1 if negative else OF_COLLECTIVE[name]})


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("name", OF_PART)
def test_python_part(name, place):
    for value in variants(OF_PART[name]):
        parts = list(COLLECTIVE.parts)
        parts[place] = replace(parts[place], **{name: value})
        assert refused_collective(parts=tuple(parts))


def test_python_collective_without_workgroups():
    assert refused_collective(parts=(), unused=1)
    assert refused_collective(parts=(Part(-1, peers=(1,)), *COLLECTIVE.parts))


@pytest.mark.parametrize("count", [0, 1])
def test_python_tiles_without_shares(count):
    """No tile of such a range would be complete."""
    for call in (Context.dma_map, Context.own_map):
        assert refused(call, 1, count, shares=0)
    assert refused(Context.reduce_scatter, replace(RING, shares=0), TRANSFER)


@pytest.mark.parametrize("name", OF_GATE)
@pytest.mark.parametrize("negative", [False, True])
def test_python_gate(name, negative):
    wrong = replace(GATE, **{name: -1 if negative else OF_GATE[name]})
    for call in (Context.remote_map, Context.dma_map, Context.own_map, Context.await_map):
        assert not refused(call, 1, 1, gate=GATE)
        assert refused(call, 1, 1, gate=wrong)
        assert refused(call, 1, 0, gate=wrong)
    parts = (*COLLECTIVE.parts, Part(1, gate=wrong))
    assert refused_collective(parts=parts)


def test_python_wait_without_a_gate():
    assert refused(Context.await_map, 1, 1, gate=None)
    assert refused(Context.may_await, contexts=[-1])


@pytest.mark.parametrize("name", OF_PEER)
@pytest.mark.parametrize("negative", [False, True])
def test_python_peer(name, negative):
    wrong = replace(PEER, **{name: -1 if negative else OF_PEER[name]})
    assert refused(Context.peer, 0, wrong)


@pytest.mark.parametrize("index", [-1, INDEX])
def test_python_peer_beyond_the_table(index):
    assert not refused(Context.peer, 0, PEER)
    assert refused(Context.peer, index, PEER)


@pytest.mark.parametrize("count", [0, 1])
def test_python_packets_without_receivers(count):
    """Stores, tiles and copies that leave need a receiver."""
    for call in (Context.remote_map, Context.dma_map):
        assert refused(call, 1, count, peers=[])
    assert refused(Context.copy, 0, TRANSFER, peers=[])
    assert refused(Context.copy_chunks, [(0, TRANSFER)], print, peers=[])


@pytest.mark.parametrize("number", [-1, MAX_CONTEXTS])
def test_python_context(number):
    with pytest.raises(ValueError, match="the number of a context must be"):
        Context(Recorder(), number)


@pytest.mark.parametrize("call", [lambda c: c.timeout(1.5), lambda c: c.assign(1.0)])
def test_python_fractions(call):
    """A fraction is not cut to an integer."""
    bus = Recorder()
    with pytest.raises((TypeError, ValueError)):
        call(Context(bus, 1))
    assert bus.writes == []
