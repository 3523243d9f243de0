"""Status of a peer: what it admits, and whether it aborted the current launch."""

import random

import pytest

from rtl.context.peer_status import PeerStatus
from rtl.parameters import T3Parameters
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_errors import BUGS_OF_ERRORS

P = T3Parameters(contexts=1)
MOST = (1 << P.credit_limit_bits) - 1
GENERATIONS = 16
REACH = 7  # how far GPUs may be apart


class Pair:
    """Launches here and at the peer, which are counted without a bound.

    Between two of its words the peer may begin and abort several launches. It may also stop for
    many launches here while its limit is 0; it continues when it is less than 16 behind.

    Attributes
    ----------
    here : int
        Number of the launch here.
    there : int
        Number of the peer's launch.
    shown : int
        Number of the launch that its words showed last.
    aborted : set of int
        Launches that were aborted there.
    known : bool
        The peer was seen at, or shortly behind, the launch here.
    """

    def __init__(self, rng):
        self.rng = rng
        self.here, self.there, self.shown, self.limit, self.connected = 0, 0, 0, 0, False
        self.aborted = set()
        self.launches = self.runs = self.cuts = self.known = self.shows = False
        self.reported, self.due, self.stopped = False, None, 0

    @property
    def ahead(self):
        return self.there - self.here

    @property
    def word(self):
        """Generation, limit and aborts that the peer shows."""
        if not self.connected:
            return 0, 0, 0
        bits = sum((self.there - back in self.aborted) << back for back in range(8))
        return self.there % GENERATIONS, self.limit, bits

    def step(self):
        """Advance by a cycle."""
        rng = self.rng
        self.launches = rng.random() < 0.05 and self._launch()
        self.cuts = self.runs and not self.launches and rng.random() < 0.01
        if self.stopped:
            self.stopped -= 1
        elif rng.random() < 0.1:
            if self.ahead <= -GENERATIONS:
                self._restart()
            else:
                self._go_on()
        # A link's reset is reported, and then the launch has to be aborted.
        if rng.random() < 0.02 and self.ahead >= -8:
            self.connected ^= True
        self._expect()

    def _launch(self):
        following = self.here + self.rng.choice([1, 1, 1, 2, REACH])
        if not self.connected and following - self.shown > REACH:
            return False
        # LAUNCH refuses to leave a GPU that admits something behind.
        if self.word[1] and abs(following - self.there) > REACH:
            return False
        self.here, self.runs, self.reported, self.due = following, True, False, None
        return True

    def _restart(self):
        """Reset the peer, which then follows the launch here, with another generation
        than before."""
        behind = 1 + ((self.here - 1 - self.shown) % GENERATIONS == 0)
        self.there, self.limit, self.aborted = self.here - behind, 3, set()
        self.connected = True

    def _go_on(self):
        rng = self.rng
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            if rng.random() < 0.5:
                self.aborted.add(self.there)
            self.there = min(self.there + rng.choice([1, 1, 2]), self.here + REACH)
        self.limit = rng.choice([0, 3, rng.getrandbits(P.credit_limit_bits)])
        if rng.random() < 0.2:
            self.aborted.add(self.there)
        if self.there in self.aborted:
            self.limit = 0
        if not self.limit and rng.random() < 0.1:
            self.stopped = rng.choice([100, 400])

    def _expect(self):
        """Compute the admission and the report of the next cycle."""
        _, limit, aborts = self.word
        if limit or aborts:
            self.shown = self.there
        if self.launches:
            self.known &= self.shown - self.here >= -8
        self.admitted = 0
        if limit and not self.launches and (self.ahead == 0 or (self.ahead > 0 and self.known)):
            self.admitted = MOST if self.ahead else limit
        shows = bool(self.runs and aborts and self.here in self.aborted and 0 <= self.ahead < 8)
        # An abort that was shown before the launch began counts if it is certain.
        is_certain = self.known or self.ahead == 0 or (not self.shows and not self.launches)
        if shows and self.due is None and is_certain:
            self.due = 2
        self.shows = shows
        if limit and self.runs and -8 <= self.ahead <= 0:
            self.known = True

    def end(self):
        """End a cycle: an abort here takes effect."""
        if self.cuts:
            self.runs = False

    def check(self, reports):
        """Check the report of an abort: in time, once, and only if there is one."""
        assert not reports or (self.shows and not self.reported), vars(self)
        self.reported |= reports
        if self.due is not None and self.shows and not self.launches:
            self.due -= 1
            assert self.due or self.reported, ("an abort is missed", vars(self))


def check(block=PeerStatus):
    """Launches here and there, with aborts, lost words, a peer that stops, and one that is removed.

    A peer that is not enabled is one without words, whatever it shows.
    """
    seed = 5
    print("seed", seed)
    rng = random.Random(seed)
    dut, pair = block(P), Pair(rng)
    seen = dict.fromkeys(("reports", "late", "far", "all", "off"), 0)

    async def bench(ctx):
        last = before = 0
        for _ in range(5000):
            pair.step()
            generation, limit, aborts = pair.word
            last = generation if limit or aborts else last
            enable = bool(pair.connected or rng.random() < 0.5)
            shown = generation, limit, aborts
            if not enable:
                shown = (rng.getrandbits(4), rng.getrandbits(P.credit_limit_bits), 255)
                seen["off"] += 1
            inputs = {
                **{"enable": enable, "launch": pair.launches, "launched": pair.runs},
                **{"launch_generation": pair.here % GENERATIONS, "generation": before},
                **dict(zip(("generation_in", "credit_limit_in", "aborted_in"), shown, strict=True)),
            }
            before = pair.here % GENERATIONS
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), int(value))
            pair.end()
            await ctx.tick()
            assert ctx.get(dut.admitted) == pair.admitted
            peer = ctx.get(dut.peer_launch)
            assert (peer.admits, peer.generation) == (limit > 0, last)
            reports = ctx.get(dut.aborts)
            pair.check(reports)
            seen["reports"] += reports
            seen["late"] += reports and pair.ahead > 0
            seen["far"] += pair.ahead <= -GENERATIONS and bool(aborts)
            seen["all"] += pair.admitted == MOST and pair.ahead > 0
        print(seen)
        assert min(seen.values()) > 10

    run_gated(dut, bench)


def test_status_of_the_launch():
    check()


BUGS = [bug for _, bug in BUGS_OF_ERRORS if bug.block == PeerStatus.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())
