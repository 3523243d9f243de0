"""Both drivers report refusals over a bus whose writes are posted: nothing answers them."""

from ctypes import c_int64, c_uint
from dataclasses import replace

import pytest

from rtl.interface.encodings import ConfigurationError
from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.simulated_bus import SMALL, SimulatedBus
from t3.driver import T3, Context, InjectTarget, Peer, RefusedError, Transfer
from tests.support.c_driver import UNCHANGED, CContext, load_driver
from tests.support.two_gpus import join_ring

ALL = 0xFFFF_FFFF
POLLS = 1000
LOCKED = ConfigurationError.LOCKED


class Posted:
    """Bus without answers to writes, like a mapping; it counts error responses."""

    def __init__(self, bus):
        self._bus, self.errors = bus, 0

    def write(self, address, word):
        self.errors += not self._bus.write(address, word)
        return True

    def read(self, address):
        return self._bus.read(address)


@pytest.fixture
def bus():
    with GoldenEngine(SMALL) as engine:
        bus = SimulatedBus(SMALL, engine)
        while any(Context(bus, number).status["aborting"] for number in range(SMALL.contexts)):
            pass
        yield bus


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return load_driver(tmp_path_factory.mktemp("driver"))


# Call in Python, and in C; it is refused while the pages are locked.
LOCKABLE = {
    "assign": (lambda g, c: c.assign(1), lambda c: c.assign(1, UNCHANGED)),
    "ways": (lambda g, c: c.assign(1, ways=3), lambda c: c.assign(1, c_int64(3))),
    "accept": (lambda g, c: c.accept(), lambda c: c.accept(ALL, ALL)),
    "lock": (lambda g, c: c.lock(), lambda c: c.lock(1, 1)),
    "hold": (lambda g, c: c.hold(), lambda c: c.hold()),
    "hand_over": (lambda g, c: c.hand_over(), lambda c: c.hand_over(POLLS)),
    "remove_region": (lambda g, c: c.remove_region(0), lambda c: c.remove_region(0)),
    "epochs": (lambda g, c: c.reset_epochs(), lambda c: c.reset_epochs(POLLS)),
    "region": (lambda g, c: c.region(0, 32, 64), lambda c: c.region(0, 32, 64)),
    "share": (
        lambda g, c: c.region(0, 32, 64, share=True),
        lambda c: c.share_region(0, 32, 64),
    ),
    "gpu_lock": (lambda g, c: g.lock(), lambda c: c.of_gpu("gpu_lock")),
    "scrub": (lambda g, c: g.scrub(9), lambda c: c.of_gpu("scrub", 9)),
    "inject": (
        lambda g, c: g.inject(InjectTarget.TILES),
        lambda c: c.of_gpu("inject", InjectTarget.TILES.value, 0, 0),
    ),
    "clear_errors": (lambda g, c: g.clear_errors(), lambda c: c.of_gpu("gpu_clear_errors")),
    "interrupts": (
        lambda g, c: g.enable_interrupts(error=True),
        lambda c: c.of_gpu("gpu_enable_interrupts", 1),
    ),
}


# Calls that are refused without privilege, also while the pages are not locked.
PRIVILEGED = {
    "rank": (lambda c: c.set_rank(3), lambda c: c.set_rank(3)),
    "peer": (lambda c: c.peer(2, Peer(1, 1, 1)), lambda c: c.peer(2, (c_uint * 7)(1, 1, 1))),
    "remove_peer": (lambda c: c.remove_peer(2), lambda c: c.remove_peer(2)),
}


def code(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except RefusedError as refused:
        return refused.code
    return ConfigurationError.NONE


@pytest.mark.parametrize("name", LOCKABLE)
def test_locked(bus, library, name):
    in_python, in_c = LOCKABLE[name]
    posted = Posted(bus)
    gpu, context = T3(bus), Context(bus)
    in_posted = T3(posted), Context(posted), CContext(library, posted)
    for locked in (False, True, False):
        bus.privileged = True
        if locked:
            context.lock()
            gpu.lock()
            bus.privileged = False
        expected = LOCKED if locked else ConfigurationError.NONE
        assert code(in_python, *in_posted[:2]) is expected
        assert in_c(in_posted[2]) == expected.value
    assert posted.errors == 0


@pytest.mark.parametrize("name", PRIVILEGED)
def test_privileged(bus, library, name):
    in_python, in_c = PRIVILEGED[name]
    context = Context(bus)
    context.lock(regions=False, assignment=False)
    context.wait_idle()
    for privileged in (True, False, True):
        bus.privileged = privileged
        expected = ConfigurationError.NONE if privileged else LOCKED
        assert code(in_python, Context(bus)) is expected
        assert in_c(CContext(library, bus)) == expected.value


def test_in_use(bus, library):
    """The registers of a pending launch are kept; INJECT refuses memories that do not exist."""
    posted = Posted(bus)
    gpu, context, in_c = T3(posted), Context(posted), CContext(library, posted)
    context.reset_epochs()
    for generation in (1, 2):
        context.window(workgroups=4, tracked=(0, 4), generation=generation)
        context.launch()
    in_use = ConfigurationError.IN_USE
    assert code(context.timeout, 100) is in_use and in_c.timeout(100) == in_use.value
    assert code(context.launch) is in_use and in_c.launch() == in_use.value
    assert code(context.reset_epochs) is in_use and in_c.reset_epochs(POLLS) == in_use.value
    unknown = ConfigurationError.UNKNOWN_INDEX
    tracker = InjectTarget.TRACKER
    assert code(gpu.inject, tracker, SMALL.banks) is unknown
    assert in_c.of_gpu("inject", tracker.value, SMALL.banks, 0) == unknown.value
    # A refusal leaves no trace in the calls after it.
    assert code(gpu.scrub, 0) is code(context.measure) is ConfigurationError.NONE
    context.abort()
    assert code(context.timeout, 100) is ConfigurationError.NONE and in_c.timeout(100) == 0
    assert posted.errors == 0


def test_launch(bus, library):
    """A launch without an epoch, and one of a wrong generation, are refused."""
    posted = Posted(bus)
    context, in_c = Context(posted), CContext(library, posted)
    context.wait_idle()
    join_ring(context, 1)
    epoch, wrong = ConfigurationError.EPOCH, ConfigurationError.GENERATION
    context.window(workgroups=4, tracked=(0, 4), generation=1)
    assert context.next_epoch == in_c.next_epoch() == 256
    assert code(context.launch) is epoch and in_c.launch() == epoch.value
    assert in_c.reset_epochs(POLLS) == 0
    assert context.next_epoch == in_c.next_epoch() == 1
    context.launch()
    context.abort()
    # Not behind the launch before, too far behind it, and too far ahead of the peers at 0.
    for generation in (1, 9, 8):
        context.window(workgroups=4, tracked=(0, 4), generation=generation)
        assert code(context.launch) is wrong and in_c.launch() == wrong.value
    context.window(workgroups=4, tracked=(0, 4), generation=7)
    assert in_c.launch() == 0
    assert posted.errors == 0


def test_share(bus, library):
    """An overlap of two contexts is refused, unless privileged software shares the region."""
    posted = Posted(bus)
    other, in_c = Context(posted, 1), CContext(library, posted, 1)
    Context(posted).region(0, 32, 128)
    overlap = ConfigurationError.OVERLAP
    other.lock(regions=False)
    bus.privileged = False
    assert code(other.region, 0, 64, 96) is overlap and in_c.region(0, 64, 96) == overlap.value
    assert code(lambda: other.region(0, 64, 96, share=True)) is overlap
    assert in_c.share_region(0, 64, 96) == overlap.value
    assert code(other.region, 0, 128, 160) is ConfigurationError.NONE
    bus.privileged = True
    other.region(0, 64, 96, share=True)
    assert in_c.share_region(0, 96, 160) == 0
    assert posted.errors == 0


def test_hand_over(bus, library):
    """A tenant that goes on launching and copying loses its context, and the next one finds none of
    its tables."""
    copy = Transfer(rows=1, run_atoms=2, stride_atoms=2)
    disabled = ConfigurationError.REGION_DISABLED
    for number, driver in enumerate((Context(bus), CContext(library, bus))):
        tenant, privileged = Context(bus), driver
        tenant.reset_epochs()
        tenant.wait_idle()
        join_ring(tenant, 1)
        tenant.region(0, 0, 4096)
        tenant.region(1, 4096, 8192)
        tenant.remote_map(0, 1)
        for generation in (1, 2):
            tenant.window(workgroups=4, tracked=(0, 4), generation=generation + 4 * number)
            tenant.launch()
        privileged.hold()
        bus.privileged = False
        assert code(tenant.launch) is code(tenant._page.write, "COPY", command=0) is LOCKED
        tenant.abort()
        assert tenant.status["running"] and tenant.status["pending"]
        bus.privileged = True
        privileged.hand_over(POLLS) if number else privileged.hand_over()
        status = tenant.status
        assert not status["running"] and not status["pending"] and status["idle"]
        tenant.region(0, 0, 64)
        assert code(tenant.copy, 0, replace(copy, run_atoms=1)) is ConfigurationError.NO_PEER
        assert code(tenant.remove_region, 0) is ConfigurationError.NONE  # no range names it
        tenant.lock()
        bus.privileged = False
        assert code(tenant.copy, 4096, copy, region=1) is disabled
        bus.privileged = True


def test_no_register(bus):
    """A write to a hole is answered with OKAY, and visible in the page; a page is not."""
    status = ConfigurationError.NOT_WRITABLE.value
    for page, context in ((0, None), (1, 0), (2, 1)):
        assert bus.write(page << 12 | 0xFF8, 1)
        shown = (
            T3(bus)._page.read("GPU_STATUS") if context is None else Context(bus, context).status
        )
        assert shown["configuration_error"] == status
    assert not bus.write((1 + SMALL.contexts) << 12 | 0x020, 1)
