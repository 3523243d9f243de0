"""The rule of the credit window against searches over all orders of completion."""

import random

import pytest

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.collectives.slots import Contributions, contributions
from sysmodel.collectives.window import cannot_deadlock, smallest_window
from sysmodel.lib.errors import InputError
from tests.support.credit_search import ends, ends_in_any_order

SEED = 66
RANDOM_SCHEDULES = 1000


def random_stores(draw, places, fed, ranks):
    """Each place gets contributions of some ranks, in a random order of each rank's own."""
    stores = [[] for _ in range(ranks)]
    for place in places:
        for rank in draw.sample(range(ranks), draw.randint(0 if place in fed else 1, ranks)):
            stores[rank].append((place,))
    for program in stores:
        draw.shuffle(program)
    return stores


def random_schedule(draw, *, chains, most=5):
    """Small schedule; with chains, about half of the slots send on to one or two later ones."""
    ranks = draw.randint(2, 3 if chains else 4)
    places = [(rank, s) for rank in range(ranks) for s in range(draw.randint(1, most - chains))]
    sends = [{} for _ in range(ranks)]
    if chains:
        order = draw.sample(places, len(places))
        for at, (rank, slot) in enumerate(order[:-1]):
            later = order[at + 1 :]
            if draw.random() < 0.5:
                peers = min(draw.choice([1, 1, 1, 2]), len(later))
                sends[rank][slot] = tuple(draw.sample(later, peers))
    fed = {place for sending in sends for entry in sending.values() for place in entry}
    return Contributions(random_stores(draw, places, fed, ranks), sends)


def numbered_by_production(given):
    """The same schedule with slots in the order of the earliest contribution."""
    first = {}
    for program in given.stores:
        for position, entry in enumerate(program):
            for place in entry:
                first[place] = min(first.get(place, position), position)
    changed = True
    while changed:
        changed = False
        for rank, sending in enumerate(given.sends):
            for slot, entry in sending.items():
                for place in entry:
                    at = first.get((rank, slot), 99) + 1
                    if at < first.get(place, 99):
                        first[place], changed = at, True
    number = {}
    for rank, slot in sorted(first, key=lambda place: (first[place], place)):
        number[rank, slot] = (rank, sum(other == rank for other, _ in number))
    entry_of = lambda entry: tuple(number[place] for place in entry)  # noqa: E731
    stores = [[entry_of(entry) for entry in program] for program in given.stores]
    sends = [
        {number[rank, slot][1]: entry_of(entry) for slot, entry in sending.items()}
        for rank, sending in enumerate(given.sends)
    ]
    return Contributions(stores, sends)


def verdicts(draw, *, chains, numbered, count):
    """Verdicts of the search and of the rule on each window of random schedules."""
    for _ in range(count):
        given = random_schedule(draw, chains=chains)
        given = numbered_by_production(given) if numbered else given
        windows = range(1, max(given.slots()) + 1)
        ranks = len(given.stores)
        searched = [ends(given.stores, given.sends, [window] * ranks) for window in windows]
        yield given, searched, [cannot_deadlock(given, window) for window in windows]


@pytest.mark.parametrize("numbered", [False, True], ids=["at random", "by production"])
def test_the_rule_is_exact_without_chains(numbered):
    print(f"seed {SEED}")
    for given, searched, ruled in verdicts(
        random.Random(SEED), chains=False, numbered=numbered, count=RANDOM_SCHEDULES
    ):
        assert ruled == searched, given
        assert smallest_window(given) == searched.index(True) + 1
        assert smallest_window(given) <= closed_rule(given)


@pytest.mark.parametrize("numbered", [False, True], ids=["at random", "by production"])
def test_the_rule_is_exact_with_chains(numbered):
    """Slots send on by one queue of a receiver, as commands of the DMA engine do."""
    print(f"seed {SEED}")
    chained = 0
    for given, searched, ruled in verdicts(
        random.Random(SEED), chains=True, numbered=numbered, count=RANDOM_SCHEDULES
    ):
        assert ruled == searched, given
        chained += any(given.sends)
    assert chained > 0.8 * RANDOM_SCHEDULES


def closed_rule(given):
    """The rule of a schedule without sends, in its closed form."""
    first, last = {}, {}
    for program in given.stores:
        for position, ((place),) in enumerate(program):
            first[place] = min(first.get(place, position), position)
            last[place] = max(last.get(place, position), position)
    return max(
        max(s for to, s in first if to == x and first[x, s] <= last[x, o]) - o + 1 for x, o in first
    )


def test_the_search_leaves_out_no_order():
    """The search that takes events as soon as they can happen agrees with one that does not."""
    print(f"seed {SEED}")
    draw = random.Random(SEED)
    deadlocks = 0
    for _ in range(150):
        given = random_schedule(draw, chains=True, most=4)
        ranks = len(given.stores)
        for window in range(1, max(given.slots()) + 1):
            arguments = (given.stores, given.sends, [window] * ranks)
            ended = ends(*arguments)
            assert ended == ends_in_any_order(*arguments)
            deadlocks += not ended
    assert deadlocks > 50


def test_a_larger_window_can_deadlock():
    """With two slots admitted, the send of the second can block that of the first."""
    stores = [[((0, 0),)], [((0, 1),)]]
    sends = [{0: ((1, 0),), 1: ((1, 2),)}, {0: ((1, 1),)}]
    given = Contributions(stores, sends)
    fixed = {1: 2}
    assert [cannot_deadlock(given, window, fixed) for window in (1, 2)] == [True, False]
    assert [ends(stores, sends, [window, 2]) for window in (1, 2)] == [True, False]


# Tiles of a chunk, and the smallest windows of the design's table, found there by search.
@pytest.mark.parametrize(
    ("name", "operation", "rounds", "window"),
    [
        ("ring", "reduce-scatter", 1, 4),
        ("ring", "reduce-scatter", 2, 2),
        ("direct", "reduce-scatter", 1, 4),
        ("direct", "reduce-scatter", 2, 2),
        ("direct", "reduce-scatter", 4, 1),
        ("ring", "all-gather", 1, 1),
    ],
)
@pytest.mark.parametrize("ranks", [3, 4, 6])
def test_windows_of_algorithms(name, operation, rounds, window, ranks):
    schedule = expanded(algorithm(name).schedule(operation, ranks))
    assert smallest_window(contributions(schedule, tiles=4, rounds=rounds)) == window


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        (name, operation)
        for name in ("ring", "direct", "halving-doubling", "bidirectional")
        for operation in ("reduce-scatter", "all-gather")
    ],
)
def test_windows_of_algorithms_by_search(name, operation):
    """Few tiles, so that the search sees all orders."""
    schedule = expanded(algorithm(name).schedule(operation, 4 if "halving" in name else 3))
    given = contributions(schedule, tiles=1 if "b" in name or "halving" in name else 2)
    window = smallest_window(given)
    ranks = len(given.stores)
    assert ends(given.stores, given.sends, [window] * ranks)
    if window > 1:
        assert not ends(given.stores, given.sends, [window - 1] * ranks)


@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("ranks", [3, 4])
@pytest.mark.parametrize("by_tile", [False, True])
def test_a_gather_chained_to_an_ordered_scatter(ranks, window, by_tile):
    """The design's chain: each complete own tile is copied to all peers. The gather needs
    (N - 2) c + w slots if they are numbered source by source, and (N - 1) w tile by tile."""
    tiles = 4

    def slot(receiver, source, tile):
        distance = (source - receiver) % ranks - 1
        return tile * (ranks - 1) + distance if by_tile else distance * tiles + tile

    stores = [
        [(((rank + 1 + i // tiles) % ranks, i),) for i in range(ranks * tiles)]
        for rank in range(ranks)
    ]
    sends = [
        {
            (ranks - 1) * tiles + tile: tuple(
                (ranks + peer, slot(peer, rank, tile)) for peer in range(ranks) if peer != rank
            )
            for tile in range(tiles)
        }
        for rank in range(ranks)
    ]
    empty = [[] for _ in range(ranks)]
    given = Contributions([*stores, *empty], [*sends, *({} for _ in range(ranks))])
    expected = (ranks - 1) * window if by_tile else (ranks - 2) * tiles + window
    assert smallest_window(given, dict.fromkeys(range(ranks), window)) == expected


def test_refused_rounds():
    schedule = expanded(algorithm("ring").schedule("all-gather", 3))
    with pytest.raises(InputError, match="rounds: 3 is not allowed; allowed: a divisor of 4"):
        contributions(schedule, tiles=4, rounds=3)
