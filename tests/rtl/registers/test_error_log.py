"""Error log: the oldest errors in full, and every kind counted in every cycle."""

import random
from collections import Counter, deque

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from rtl.registers.error_log import ErrorLog
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_errors import BUGS_OF_ERRORS

P = T3Parameters(contexts=1, channels=1)
PLACES, OF_FLOODS, MOST = 8, 6, 0xFFFF
CODES = [code for code in ErrorCode if code.value]
FLOODS = [code for code in CODES if code.name.split("_")[0] in ("STORE", "PACKET")]
KINDS = (ErrorCode.PACKET_LATE, ErrorCode.TIMEOUT, ErrorCode.OVERRUN)


def check(block=ErrorLog):
    """Compare every output in every cycle; once a count is near its most."""
    seed = 11
    print("seed", seed)
    rng = random.Random(seed)
    dut = block(P, KINDS)

    async def bench(ctx):
        log, counts, total, counted = deque(), Counter(), 0, set()
        for cycle in range(3000):
            if cycle % 60 == 0:
                often, codes = rng.choice([0, 0.1, 1]), rng.choice([CODES, FLOODS, KINDS])
                drops, clears = rng.choice([0, 0.1, 0.9]), rng.choice([0, 0, 0.05])
            if cycle == 1500:
                for number, kind in enumerate(KINDS):
                    ctx.set(dut.counts[number], MOST - number)
                    counts[kind] = MOST - number
            kinds = set(rng.sample(codes, rng.randint(1, 3))) if rng.random() < often else set()
            code = min(kinds, key=lambda kind: kind in FLOODS, default=ErrorCode.NONE)
            report = {"code": code, "dispatch_index": rng.getrandbits(16)}
            drop, clear = rng.random() < drops, rng.random() < clears
            ctx.set(dut.error.valid, bool(kinds))
            # Without an error the kinds are arbitrary.
            bits = sum(1 << kind.value for kind in kinds) or rng.getrandbits(len(ErrorCode))
            ctx.set(dut.error.kinds, bits)
            ctx.set(dut.error.report, report)
            ctx.set(dut.drop, drop)
            ctx.set(dut.clear, clear)
            assert ctx.get(dut.level) == len(log) and ctx.get(dut.pending) == bool(log)
            assert ctx.get(dut.total) == total
            assert [ctx.get(count) for count in dut.counts] == [counts[kind] for kind in KINDS]
            oldest = ctx.get(dut.oldest)
            assert (oldest.code.value, oldest.dispatch_index) == (log[0] if log else (0, 0))
            if clear:
                log.clear()
                counts.clear()
                total = 0
            elif counted:
                total += 1
                counts = Counter(
                    {kind: min(MOST, counts[kind] + (kind in counted)) for kind in KINDS}
                )
            space = len(log) < (OF_FLOODS if code in FLOODS else PLACES)
            if drop and log:
                log.popleft()
            if kinds and space:
                log.append((code.value, report["dispatch_index"]))
            counted = kinds
            await ctx.tick()

    run_gated(dut, bench)


def test_log_and_counts():
    check()


BUGS = [bug for _, bug in BUGS_OF_ERRORS if bug.block == ErrorLog.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())
