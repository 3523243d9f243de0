"""Error priority encoder: collects the errors of each context, and of none, in every cycle; errors
of banks and units come one cycle later."""

import random

import pytest

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters
from rtl.registers.error_priority_encoder import ErrorPriorityEncoder
from tests.support.simulation import run_gated
from verification.seeded_bugs.of_errors import BUGS_OF_ERRORS

CONTEXTS = 2
CODES = {
    "own": [(ErrorCode.TIMEOUT,), (ErrorCode.TRIGGER_CORRUPT,)],
    "issue_acks": [(ErrorCode.TRACKER_CORRUPT,)],
    "banks": [(ErrorCode.TRACKER_CORRUPT, ErrorCode.SET_FULL, ErrorCode.OVERRUN)] * 2,
    "stores": [(ErrorCode.STORE_LATE, ErrorCode.STORE_AHEAD)] * 3,
    "packets": [(ErrorCode.PACKET_UNMAPPED, ErrorCode.PACKET_LATE)] * 3,
    "links": [(ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)],
}
# Groups of an owner, the rarest errors first, and those that come a cycle late.
OF_CONTEXT, OF_GPU = ("own", "issue_acks", "banks", "stores", "packets"), ("links", "packets")
REGISTERED = {"own", "banks"}
GPU = "gpu"


def owners_of(group):
    if group == "links":
        return [GPU]
    return [*range(CONTEXTS), *([GPU] if group == "packets" else [])]


def check(block=ErrorPriorityEncoder):
    """Compare all outputs with the errors of the cycle, at several rates of errors."""
    seed = 3
    print("seed", seed)
    rng = random.Random(seed)
    dut = block(T3Parameters(contexts=CONTEXTS), **CODES)

    async def bench(ctx):
        outputs = {0: dut.contexts[0], 1: dut.contexts[1], GPU: dut.gpu}
        ports = [
            (group, codes, port, owners_of(group))
            for group in OF_CONTEXT[1:] + OF_GPU[:1]
            for codes, port in zip(CODES[group], getattr(dut, group), strict=True)
        ]
        for number in range(CONTEXTS):
            ports += [
                ("own", codes, port, [number])
                for codes, port in zip(CODES["own"], dut.own[number], strict=True)
            ]
        waiting = []
        for _ in range(800):
            often, come = rng.choice([0.0, 0.05, 0.2, 0.7]), []
            for number, (group, codes, port, owners) in enumerate(ports):
                valid, code, owner = rng.random() < often, rng.choice(codes), rng.choice(owners)
                ctx.set(port.valid, valid)
                ctx.set(port.report.code, code)
                ctx.set(port.report.unowned, owner == GPU)
                ctx.set(port.report.owner, rng.randrange(CONTEXTS) if owner == GPU else owner)
                ctx.set(port.report.dispatch_index, number)
                if valid:
                    come.append((group, owner, number, code))
            at_once = [error for error in come if error[0] not in REGISTERED]
            later = [error for error in come if error[0] in REGISTERED]
            for owner, out in outputs.items():
                here = [error for error in at_once + waiting if error[1] == owner]
                assert ctx.get(out.valid) == bool(here)
                assert ctx.get(out.kinds) == sum(1 << code.value for code in {e[3] for e in here})
                if here:
                    order = OF_GPU if owner == GPU else OF_CONTEXT
                    _, _, number, code = min(here, key=lambda e: (order.index(e[0]), e[2]))
                    assert ctx.get(out.report.dispatch_index) == number
                    assert ctx.get(out.report.code) == code
            assert ctx.get(dut.clock_enable) == bool(later or waiting)
            await ctx.tick()
            waiting = later

    run_gated(dut, bench)


def test_errors_of_each_cycle():
    check()


BUGS = [bug for _, bug in BUGS_OF_ERRORS if bug.block == ErrorPriorityEncoder.__name__]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.fault)
def test_a_seeded_bug_is_noticed(bug):
    with pytest.raises(AssertionError):
        check(bug.seeded())
