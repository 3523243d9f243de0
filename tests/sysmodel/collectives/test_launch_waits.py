"""Windows of launches: the rule against searches, on contributions that maps give."""

import random

import pytest

from sysmodel.collectives.launch_map import tracked_schedule
from sysmodel.collectives.launch_waits import launch_contributions
from sysmodel.collectives.slots import Contributions, contributions
from sysmodel.collectives.window import cannot_deadlock, smallest_window, widest_window
from sysmodel.lib.errors import InputError
from sysmodel.machine.credits import launch_windows
from tests.support.credit_search import ends
from tests.support.small_kernel import small_kernel
from tests.support.small_system import scaled, small_system
from tests.support.tracked_operations import OPERATIONS

SEED = 69


@pytest.mark.parametrize("sizes", [[1, 2], [2, 2], [1, 1, 1], [2, 1, 1]], ids=str)
@pytest.mark.parametrize(("name", "operation"), OPERATIONS)
def test_the_rule_agrees_with_a_search(name, operation, sizes):
    given = launch_contributions(tracked_schedule(name, len(sizes), operation), sizes)
    for window in range(1, max(given.slots()) + 1):
        searched = ends(given.stores, given.sends, [window] * len(sizes))
        assert cannot_deadlock(given, window) == searched, window


@pytest.mark.parametrize("tiles", [1, 3])
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_maps_and_schedules_have_the_same_contributions(ranks, tiles):
    """Two derivations, where the slots have the same order."""
    for name, free in (("ring", False), ("direct", True)):
        if name == "direct" and ranks == 2:
            continue
        tracked = tracked_schedule(name, ranks, free=free)
        found = launch_contributions(tracked, [tiles] * ranks)
        wanted = contributions(tracked.schedule, tiles=tiles)
        assert [list(map(tuple, one)) for one in found.stores] == wanted.stores
        assert found.sends == wanted.sends


@pytest.mark.parametrize(("name", "operation"), [one for one in OPERATIONS if one[0] == "ring"])
@pytest.mark.parametrize("sizes", [[2, 2], [2, 3], [2, 1, 1]], ids=str)
def test_groups_and_commands_only_add_waits(name, operation, sizes):
    """The rule never admits what a search refuses, with groups of two and few commands."""
    tracked = tracked_schedule(name, len(sizes), operation)
    refused = admitted = 0
    for group in (1, 2):
        given = launch_contributions(tracked, sizes, group)
        slots = max(given.slots())
        for window in range(1, slots + 1):
            for commands in range(1, slots + 1):
                if cannot_deadlock(given, window, commands=commands):
                    admitted += 1
                    windows = [window] * len(sizes)
                    assert ends(given.stores, given.sends, windows, given.together, commands)
                else:
                    refused += 1
    assert admitted and (refused or operation != "reduce-scatter")


def test_random_schedules_with_groups_and_commands():
    print(f"seed {SEED}")
    draw = random.Random(SEED)
    verdicts = {False: 0, True: 0}
    for _ in range(300):
        ranks = draw.randint(2, 3)
        places = [(rank, s) for rank in range(ranks) for s in range(draw.randint(1, 4))]
        sends = [{} for _ in range(ranks)]
        order = draw.sample(places, len(places))
        for at, (rank, slot) in enumerate(order[:-1]):
            if draw.random() < 0.5:
                sends[rank][slot] = (draw.choice(order[at + 1 :]),)
        fed = {place for sending in sends for entry in sending.values() for place in entry}
        stores = [[] for _ in range(ranks)]
        for place in places:
            for rank in draw.sample(range(ranks), draw.randint(0 if place in fed else 1, ranks)):
                stores[rank].append((place,))
        for program in stores:
            draw.shuffle(program)
        together = [
            {slot: [one for one in sending if one // 2 == slot // 2 and one != slot]
             for slot in sending}
            for sending in sends
        ]  # fmt: skip
        given = Contributions(stores, sends, together)
        for window in range(1, max(given.slots()) + 1):
            commands = draw.choice([None, 1, 2, 3])
            ruled = cannot_deadlock(given, window, commands=commands)
            searched = ends(stores, sends, [window] * ranks, together, commands)
            assert searched or not ruled, given
            verdicts[ruled] += 1
    assert min(verdicts.values()) > 50


def test_the_widest_window():
    """With two slots admitted, a send can overtake the older one and block it."""
    stores = [[((0, 0),)], [((0, 1),)]]
    sends = [{0: ((1, 0),), 1: ((1, 2),)}, {0: ((1, 1),)}]
    given = Contributions(stores, sends)
    assert [cannot_deadlock(given, window) for window in (1, 2, 3)] == [True, False, True]
    assert [widest_window(given, most) for most in (1, 2, 3, 9)] == [1, 1, 3, 9]
    blocked = Contributions([[((0, 1),), ((0, 0),)], []], [{}, {}])
    assert (widest_window(blocked, 1), smallest_window(blocked)) == (None, 2)


@pytest.mark.parametrize("granularity", ["workgroup", "wavefront"])
def test_a_system_whose_window_could_deadlock_is_refused(granularity):
    """A ring's all-reduce needs a window of a chunk, 8 workgroups; a gather any."""
    kernel = small_kernel()
    assert kernel.chunks.sizes == [8, 8]
    both, gather = (tracked_schedule("ring", 2, one) for one in ("all-reduce", "all-gather"))
    for window, is_refused in ((8, False), (7, True)):
        t3 = {"credit_window_workgroups": window, "granularity": granularity}
        system = scaled(small_system(), t3=t3)
        assert launch_windows(kernel.chunks, system, gather, 0)[0] == window
        if not is_refused:
            assert launch_windows(kernel.chunks, system, both, 0)[0] == window
            continue
        with pytest.raises(InputError, match="ring's all-reduce could deadlock") as refused:
            launch_windows(kernel.chunks, system, both, 0)
        assert refused.value.field == "t3.credit_window_workgroups"
        assert "allowed: at least 8" in str(refused.value)
