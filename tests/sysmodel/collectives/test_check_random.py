"""The check against a run that counts, on schedules with random changes."""

import random
from collections import Counter
from dataclasses import replace

from sysmodel.collectives.check import check
from sysmodel.collectives.registry import algorithms
from sysmodel.collectives.schedule import Chunk, expanded
from sysmodel.lib.errors import InputError

SEED = 66
CHANGES = 2000


def base(draw):
    while True:
        one = draw.choice([*algorithms().values()])
        try:
            return expanded(one.schedule(draw.choice(one.operations), draw.choice([2, 3, 4, 6])))
        except InputError:
            continue


def changed(draw, one):
    """Change one to three flows; half of the time, arrivals then agree with the senders."""
    stages = [[list(flows) for flows in ranks] for ranks in one.flows]
    for _ in range(draw.randint(1, 3)):
        listed = draw.choice(draw.choice(stages))
        if not listed:
            continue
        at = draw.randrange(len(listed))
        flow = listed[at]
        kind = draw.randrange(6)
        if kind == 0:
            peers = [*flow.to, draw.randrange(-1, one.ranks + 1)]
            listed[at] = replace(flow, to=tuple(draw.sample(peers, draw.randint(0, len(peers)))))
        elif kind == 1:
            listed[at] = replace(flow, own=not flow.own)
        elif kind == 2:
            listed[at] = replace(flow, keeps=not flow.keeps)
        elif kind == 3:
            del listed[at]
        elif kind == 4:
            draw.shuffle(listed)
        else:
            listed[at] = replace(flow, arrivals=draw.randint(0, 2))
    if draw.random() < 0.5:
        for ranks in stages:
            sent = Counter((p, f.chunk) for flows in ranks for f in flows for p in f.to)
            for rank, flows in enumerate(ranks):
                flows[:] = [replace(f, arrivals=sent[rank, f.chunk]) for f in flows]
    return replace(one, flows=tuple(tuple(map(tuple, ranks)) for ranks in stages))


def own_data(one, rank, chunk):
    if one.operation == "all-gather" and chunk.owner != rank:
        return None
    if one.operation in ("all-to-all", "send") and chunk.source != rank:
        return None
    return Counter([rank])


def wanted(one, rank):
    """Results of the operation, by its definition."""
    everyone = Counter(range(one.ranks))
    found = {}
    for part in range(one.parts):
        for other in range(one.ranks):
            if one.operation == "all-reduce":
                found[Chunk(other, part=part)] = everyone
            elif one.operation == "all-gather":
                found[Chunk(other, part=part)] = Counter([other])
            elif one.operation == "all-to-all":
                found[Chunk(rank, other, part)] = Counter([other])
        if one.operation == "reduce-scatter":
            found[Chunk(rank, part=part)] = everyone
        elif one.operation == "send":
            found[Chunk(rank, (rank - 1) % one.ranks, part)] = Counter([(rank - 1) % one.ranks])
    return found


def works(one):
    """Run the schedule rank by rank with counted contributions, and look at the results."""
    held = None
    for stage, reduces in enumerate(one.reduces):
        inbox, kept = {}, [{} for _ in range(one.ranks)]
        left = [list(flows) for flows in one.flows[stage]]
        if any(len({flow.chunk for flow in flows}) < len(flows) for flows in left):
            return False
        moved = True
        while moved:
            moved = False
            for rank, flows in enumerate(left):
                while flows and len(inbox.get((rank, flows[0].chunk), [])) >= flows[0].arrivals:
                    flow = flows.pop(0)
                    terms = inbox.pop((rank, flow.chunk), [])
                    if len(terms) > flow.arrivals:  # only if they come early
                        return False
                    if flow.own:
                        known = own_data(one, rank, flow.chunk) if stage == 0 else None
                        terms = [*terms, held[rank].get(flow.chunk) if stage else known]
                    if None in terms or not terms or (len(terms) > 1 and not reduces):
                        return False
                    value = sum(terms, Counter())
                    for peer in flow.to:
                        if peer == rank or not 0 <= peer < one.ranks:
                            return False
                        inbox.setdefault((peer, flow.chunk), []).append(value)
                    if flow.keeps:
                        kept[rank][flow.chunk] = value
                    moved = True
        if any(left) or inbox:
            return False
        held = kept
    return all(
        held[rank].get(chunk) == value
        for rank in range(one.ranks)
        for chunk, value in wanted(one, rank).items()
    )


def test_the_check_refuses_what_does_not_work():
    """The check refuses a schedule exactly if the run does not end with the wanted results."""
    print(f"seed {SEED}")
    draw = random.Random(SEED)
    verdicts = Counter()
    for _ in range(CHANGES):
        one = changed(draw, base(draw))
        try:
            check(one)
            accepted = True
        except InputError:
            accepted = False
        verdicts[accepted, works(one)] += 1
    assert verdicts[True, False] == verdicts[False, True] == 0
    assert min(verdicts[True, True], verdicts[False, False]) > CHANGES / 20
