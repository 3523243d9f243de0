"""Lockstep of the status of peers and of the range limits: RTL and golden model in every cycle."""

import numpy as np
import pytest

from rtl.context.peer_status import PeerStatus
from rtl.interface.encodings import Action
from rtl.parameters import T3Parameters
from rtl.trigger.range_limits import RangeLimits
from sysmodel.engine.golden.context.peer_status import step_peer_status
from sysmodel.engine.golden.registers.launch import ABORT
from sysmodel.engine.golden.trigger.dispatch_gate import step_gates
from sysmodel.engine.golden.trigger.range_limits import continue_walk, step_range_limits
from sysmodel.engine.ports import CONTEXT_INPUTS, J
from tb.golden import put
from tests.support.golden_state import fresh_state
from tests.support.simulation import device, simulate

# Outputs of the gates, with their fields in the model.
STROBES = {"waits": "gate_waits", "releases": "releases", "fails": "fails"}
SMALL = dict(contexts=1, workgroup_bits=8, sets=8, credit_window=16)


@pytest.fixture(params=[0, *(pytest.param(seed, marks=pytest.mark.verify) for seed in (1, 2))])
def rng(request):
    print(f"seed {request.param}")
    return np.random.default_rng(request.param)


def chance(rng, probability):
    return bool(rng.random() < probability)


def test_peer_status(rng):
    """Inputs that are independent of each other, in bursts, and with long rests."""
    dut = device(PeerStatus, T3Parameters(**SMALL))
    state = fresh_state(**SMALL)
    own, most = state.contexts[0]["peer_status"][3], int(state.config["credit_limit_mask"])
    inputs = np.zeros(J[0] + CONTEXT_INPUTS, np.int64)
    seen = set()

    async def bench(ctx):
        before = 0
        values = dict.fromkeys(("enable", "launched", "launch_generation"), 0)
        values |= dict.fromkeys(("credit_limit_in", "generation_in", "aborted_in"), 0)
        for cycle in range(6000):
            values["launch"] = chance(rng, 0.05)
            if values["launch"]:
                step = int(rng.choice([1, 1, 2, 7]))
                values["launch_generation"] = (values["launch_generation"] + step) % 16
            if chance(rng, 0.1):
                near = values["launch_generation"] + int(rng.integers(-9, 9))
                values["generation_in"] = int(rng.choice([near, before])) % 16
                values["credit_limit_in"] = int(rng.choice([0, 5, rng.integers(0, most + 1)]))
                values["aborted_in"] = int(rng.choice([0, 0, 1, rng.integers(0, 256)]))
            if chance(rng, 0.03):
                values["enable"], values["launched"] = chance(rng, 0.7), chance(rng, 0.8)
            for name, value in values.items():
                ctx.set(getattr(dut, name), int(value))
            ctx.set(dut.generation, before)
            for name in ("credit_limit_in", "generation_in", "aborted_in"):
                inputs[getattr(J, f"{name}_3")] = values[name]
            changes = step_peer_status(
                own,
                int(values["enable"]),
                values["launch_generation"],
                before,
                int(values["launch"]),
                int(values["launched"]),
                most,
                inputs,
                3,
            )
            before = values["launch_generation"]
            assert ctx.get(dut.clock_enable) == changes, cycle
            await ctx.tick()
            peer = ctx.get(dut.peer_launch)
            found = ctx.get(dut.admitted), ctx.get(dut.aborts), peer.admits, peer.generation
            names = ("admitted", "aborts", "seen_admits", "seen_generation")
            assert found == tuple(int(own[name]) for name in names), cycle
            flags = [ctx.get(flag) for flag in (dut.is_near, dut.seen, dut.stale, dut.old)]
            assert flags == [
                own[name] for name in ("peer_known", "reported", "peer_stale", "old")
            ], cycle
            seen.add((bool(own["aborts"]), bool(own["admitted"]), bool(values["enable"])))
        assert {(True, False, True), (False, True, True), (False, False, False)} <= seen

    simulate(dut, bench)


def random_gate(rng):
    return {
        "enable": int(rng.random() < 0.5),
        "context": int(rng.choice([1, 2, rng.integers(0, 8)])),
        "generation": int(rng.choice([1, 2, rng.integers(0, 16)])),
        "slot": int(rng.integers(0, 40)),
        "workgroups": int(rng.choice([0, rng.integers(0, 6), rng.integers(0, 256)])),
        "slots": int(rng.choice([0, rng.integers(0, 12), rng.integers(0, 256)])),
    }


def random_progress(rng):
    return {
        "valid": int(rng.random() < 0.9),
        "generation": int(rng.choice([1, 2, rng.integers(0, 16)])),
        "oldest": int(rng.integers(0, 80)),
        "complete": int(rng.choice([0, 0, rng.integers(0, 256)])),
        "changes": 1,
    }


class Others:
    """Other contexts, at random, in the hardware and in the model."""

    def __init__(self, rng, dut, state):
        self.rng, self.dut, self.state = rng, dut, state
        self.progress = [dict.fromkeys(random_progress(rng), 0)] * len(state.contexts)
        self.pending = self.may_await = 0

    def drive(self, ctx, launch, aborting):
        """Drive a cycle, step the model's gates, and compare their outputs."""
        rng, dut, contexts = self.rng, self.dut, self.state.contexts
        self.progress = [one | {"changes": 0} for one in self.progress]
        if chance(rng, 0.1):
            self.progress[int(rng.integers(0, len(contexts)))] = random_progress(rng)
        if chance(rng, 0.02):
            self.pending, self.may_await = chance(rng, 0.5), int(rng.choice([6, 6, 2, 4]))
        aborts = int(rng.choice([2, 4])) if chance(rng, 0.01) else 0
        ctx.set(dut.progress, self.progress)
        for name, value in (("pending", self.pending), ("may_await", self.may_await)):
            ctx.set(getattr(dut, name), int(value))
        ctx.set(dut.aborts, aborts)
        for number, progress in enumerate(self.progress):
            external = contexts[number]["external"]
            external["own_generation"] = progress["generation"]
            for name in ("valid", "oldest", "complete", "changes"):
                external[f"progress_{name}"] = progress[name]
            contexts[number]["cycle"]["strobes_on"] = ABORT if aborts >> number & 1 else 0
        own = contexts[0]
        own["may_await"], own["cycle"]["waits"] = self.may_await, self.pending
        own["control"]["launches"], own["aborted"] = launch, aborting
        step_gates(self.state, 0)
        for name, of_model in STROBES.items():
            assert ctx.get(getattr(dut, name)) == bool(own["gates"][of_model]), name


def random_range(rng):
    first = int(rng.integers(0, 200))
    return {
        "enable": int(rng.random() < 0.8),
        "first": first,
        "last": int(rng.choice([first + rng.integers(0, 20), rng.integers(0, 256)])),
        "action": int(rng.choice(list(Action)).value),
        "peers": int(rng.choice([0, 1 << rng.integers(0, 8), rng.integers(0, 256)])),
        "slot_offset": int(rng.choice([0, rng.integers(0, 60), rng.integers(0, 512)])),
        "gate": random_gate(rng),
    }


@pytest.mark.parametrize(("ranges", "contexts"), [(1, 3), (2, 1), (4, 3)])
def test_range_limits(rng, ranges, contexts):
    """The strobe of changes is random, too."""
    parameters = SMALL | dict(ranges=ranges, contexts=contexts)
    p = T3Parameters(**parameters)
    dut, state = device(RangeLimits, p), fresh_state(**parameters)
    context, config = state.contexts[0], state.config
    own, limits = context["range_limits"], state.limits[0]
    dispatch_limits, gates = set(), context["gates"]
    others, seen = Others(rng, dut, state), set()

    async def bench(ctx):
        admitted, credit_limit = [0] * p.peers, 0
        for cycle in range(3000):
            launch, aborting = chance(rng, 0.01), chance(rng, 0.004)
            if launch:
                entries = [random_range(rng) for _ in range(ranges)]
                if contexts == 1:
                    entries = [entry | {"gate": {}} for entry in entries]
                ctx.set(dut.ranges, entries)
                for index, entry in enumerate(entries):
                    put(state.ranges[0, index], entry)
            if chance(rng, 0.1):
                admitted = rng.choice([0, 511, *rng.integers(0, 256, 4)], p.peers).tolist()
                credit_limit = int(rng.choice([0, 511, rng.integers(0, 256)]))
            changes = chance(rng, 0.1)
            for name, value in (("launch", launch), ("aborting", aborting), ("changes", changes)):
                ctx.set(getattr(dut, name), value)
            ctx.set(dut.admitted, admitted)
            ctx.set(dut.credit_limit, credit_limit)
            context["peer_status"]["admitted"] = admitted
            if contexts > 1:
                others.drive(ctx, launch, aborting)
            stops = launch or aborting
            step_range_limits(
                config,
                own,
                limits,
                state.ranges[0],
                context["peer_status"],
                credit_limit,
                gates["gate_merged"],
                stops,
            )
            walks = changes or bool(gates["gate_changes"])
            works = continue_walk(config, own, walks, launch, aborting) or gates["gate_works"]
            assert ctx.get(dut.clock_enable) == works, cycle
            await ctx.tick()
            assert ctx.get(dut.dispatch_limit) == own["dispatch_limit"], cycle
            found = [ctx.get(dut.limits[index]) for index in range(ranges)]
            assert found == limits.tolist(), cycle
            dispatch_limits.add(int(own["dispatch_limit"]))
            seen.update(name for name in (*STROBES.values(), "cut") if gates[name])
        assert contexts == 1 or seen == {*STROBES.values(), "cut"}
        assert len(dispatch_limits) > 10

    simulate(dut, bench)
