"""The golden trigger unit: which commands become ready, and when."""

from rtl.interface.encodings import Action, Granularity
from sysmodel.engine.golden.context.unit import step_trigger_unit
from sysmodel.engine.golden.tracker.completions import COMPLETIONS, offer_completion
from sysmodel.engine.golden.trigger.ready import push_ready, step_ready
from sysmodel.engine.golden.trigger.trigger import IDLE, begin_clearing
from tests.support.golden_state import fresh_state


def step(state):
    """Run one cycle; return whether a command is pushed, the complete workgroup, and whether the
    workgroup needs no command."""
    offer_completion(state)
    cycle = state.contexts[0]["cycle"]
    cycle["ready_pushed"], cycle["complete_index"], cycle["own_complete"] = 0, -1, 0
    step_trigger_unit(state, 0)
    names = ("ready_pushed", "complete_index", "own_complete")
    pushed, complete, own = (int(cycle[name]) for name in names)
    return bool(pushed), complete, bool(own)


def trigger(*, granularity, group_log2=0, action=Action.DMA, waves=2, last=12):
    """An idle trigger unit with one range of dispatch indices 3 to `last`, and command 1."""
    state = fresh_state()
    for _ in range(16):
        step(state)
    assert state.contexts[0]["trigger"]["state"] == IDLE
    for name, value in dict(enable=1, first=3, last=last, action=action.value, command=1).items():
        state.ranges[0, 0][name] = value
    command = state.commands[0, 1]
    command["granularity"] = granularity.value
    command["group_log2"] = group_log2
    command["waves"] = waves
    return state


def offer(state, dispatch_index, wavefront, start):
    """Put a completion behind the others that wait in the first bank."""
    bank = state.banks[0]
    position = (bank["completions_head"] + bank["completions_level"]) % COMPLETIONS
    bank["completions"][position] = 0, dispatch_index, wavefront, start, 0, 0
    bank["completions_level"] += 1
    state.gpu["merge"]["completions_waiting"] += 1


def complete(state, dispatch_index, wavefront, start, cycles=20):
    """Offer one completion; return the strobes (dispatch index, own), and the ready commands that
    follow."""
    offer(state, dispatch_index, wavefront, start)
    strobes, ready = [], []
    for _ in range(cycles):
        pushed, done, own = step(state)
        if done >= 0:
            strobes.append((done, own))
        step_ready(state, 0, pushed, state.contexts[0]["ready"]["checked"] != 0)
        if state.contexts[0]["ready"]["checked"]:
            ready.append(state.ready[0, state.contexts[0]["ready"]["head"]].tolist())
    return strobes, ready


def test_wavefront_commands():
    state = trigger(granularity=Granularity.WAVEFRONT)
    assert complete(state, 5, 1, 900) == ([], [(0, 5, 1, 900, 0, 0, 0)])
    assert complete(state, 5, 0, 300) == ([(5, False)], [(0, 5, 0, 300, 0, 0, 1)])


def test_workgroup_command_has_the_smallest_start():
    state = trigger(granularity=Granularity.WORKGROUP, waves=3)
    assert complete(state, 5, 1, 900) == ([], [])
    assert complete(state, 5, 0, 300) == ([], [])
    assert complete(state, 5, 2, 700) == ([(5, False)], [(0, 5, 0, 300, 0, 0, 1)])


def test_group():
    # Dispatch indices 3-6 and 7-9: the last group is cut off by the range.
    state = trigger(granularity=Granularity.WORKGROUP, group_log2=2, waves=1, last=9)
    for dispatch_index in (9, 4, 3, 7, 6):
        assert complete(state, dispatch_index, 0, 100 * dispatch_index) == (
            [(dispatch_index, False)],
            [],
        )
    assert complete(state, 8, 0, 800) == (
        [(8, False)],
        [(0, dispatch_index, 0, 100 * dispatch_index, 0, 0, 1) for dispatch_index in (7, 8, 9)],
    )
    assert complete(state, 5, 0, 500) == (
        [(5, False)],
        [(0, dispatch_index, 0, 100 * dispatch_index, 0, 0, 1) for dispatch_index in (3, 4, 5, 6)],
    )


def test_own_workgroup_sends_nothing():
    state = trigger(granularity=Granularity.WORKGROUP, action=Action.OWN, waves=1)
    assert complete(state, 12, 0, 5) == ([(12, True)], [])
    assert complete(state, 13, 0, 5) == ([], [])


def test_ready_queue_shows_an_entry_after_three_cycles():
    state = fresh_state()
    visible = []
    for cycle in range(7):
        visible.append(int(state.contexts[0]["ready"]["checked"]))
        pushed = cycle < 2 and push_ready(state, 0, 0, cycle, 0, 0, 0, 0, 0)
        step_ready(state, 0, pushed, cycle == 3)
    assert visible == [0, 0, 0, 1, 1, 1, 1]


def events(state, cycles):
    """Run some cycles; return for each the completions taken so far, the dispatch index of
    ``complete``, and that of the command that is pushed."""
    seen = []
    for _ in range(cycles):
        pushed, done, _ = step(state)
        dispatch_index = -1
        if pushed:
            queue = state.contexts[0]["ready"]
            waiting = queue["checked"] + queue["read"] + queue["inner"]
            dispatch_index = int(state.ready[0, queue["head"] + waiting]["dispatch_index"])
        step_ready(state, 0, pushed, False)
        seen.append((int(state.contexts[0]["trigger"]["tiles"]), int(done), dispatch_index))
    return seen


def test_a_completion_every_two_cycles():
    state = trigger(granularity=Granularity.WAVEFRONT, waves=1)
    for dispatch_index in (3, 4, 20, 5):  # dispatch index 20 is in no range
        offer(state, dispatch_index, 0, 9)
    taken = [1, 1, 2, 2, 3, 3, 4, 4, 4, 4]
    dispatch_indices = [-1, -1, 3, -1, 4, -1, -1, -1, 5, -1]
    assert events(state, 10) == list(zip(taken, dispatch_indices, dispatch_indices, strict=True))


def test_the_next_completion_waits_for_the_group():
    """A completion that is taken in TILE continues after GROUP and the two cycles of RELEASE."""
    state = trigger(granularity=Granularity.WORKGROUP, group_log2=1, waves=1)
    for dispatch_index in (3, 4, 5, 6):
        offer(state, dispatch_index, 0, 9)
    assert events(state, 17) == [
        (1, -1, -1),
        (1, -1, -1),
        (2, 3, -1),  # TILE of 3; completion 4 is taken
        (2, -1, -1),  # GROUP
        (2, -1, -1),  # LOOKUP of 4
        (3, 4, -1),
        (3, -1, -1),  # GROUP
        (3, -1, 3),  # RELEASE
        (3, -1, 4),
        (3, -1, -1),  # LOOKUP of 5
        (4, 5, -1),
        (4, -1, -1),
        (4, -1, -1),
        (4, 6, -1),
        (4, -1, -1),
        (4, -1, 5),
        (4, -1, 6),
    ]


def test_lookup_keeps_the_command_of_its_cycle():
    state = trigger(granularity=Granularity.WAVEFRONT, waves=1)
    command, entry = state.commands[0, 1], state.ranges[0, 0]
    offer(state, 5, 2, 70)
    step(state)
    entry["action"] = Action.OWN.value  # the row that LOOKUP sees
    step(state)
    entry["enable"] = 0
    command["waves"][0] = 2
    assert step(state) == (False, 5, True)


def test_clear_drops_outstanding_work():
    state = trigger(granularity=Granularity.WAVEFRONT, waves=1)
    for dispatch_index in (3, 4, 5):
        offer(state, dispatch_index, 0, 9)
    for _ in range(3):
        step(state)
    begin_clearing(state.contexts[0]["trigger"])  # 4 was taken in TILE of 3
    assert all(dispatch_index == -1 for _, _, dispatch_index in events(state, 16))
    assert [dispatch_index for _, dispatch_index, _ in events(state, 3)] == [-1, -1, 5]
