"""MSCCL files and MSCCL++ plans: the schedules that they amount to, and refusals with the place."""

import copy
import json
import random
from dataclasses import replace

import pytest

from sysmodel.collectives.check import check
from sysmodel.collectives.mscclpp_writer import mscclpp_plan
from sysmodel.collectives.plans import is_plan, read_plan
from sysmodel.collectives.registry import algorithm, algorithms
from sysmodel.collectives.schedule import OPERATIONS, expanded
from sysmodel.collectives.traffic import traffic
from sysmodel.lib.errors import InputError
from tests.support.plan_files import msccl, op, pulled, ring_all_reduce, step, two_gpus


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read a text as the file ``plan`` with a suffix, in its folder."""
    monkeypatch.chdir(tmp_path)

    def of(text, suffix):
        (tmp_path / f"plan{suffix}").write_text(text)
        return read_plan((tmp_path / f"plan{suffix}").relative_to(tmp_path))

    return of


def whole(name, operation, ranks):
    return expanded(algorithm(name).schedule(operation, ranks))


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_a_ring_of_msccl_is_the_ring(read, ranks):
    found = read(msccl(ring_all_reduce(ranks), "allreduce", ranks), ".xml")
    check(found)
    assert found == whole("ring", "all-reduce", ranks)


def test_an_all_gather_of_msccl(read):
    """The example of two GPUs, whose order of attributes and missing ones do not matter."""
    gpus = [[(1 - r, 1 - r, [step(0, "s", r, srcbuf="o"), step(1, "r", 1 - r)])] for r in range(2)]
    found = read(msccl(gpus, "allgather", 2, name="direct"), ".xml")
    assert found == whole("direct", "all-gather", 2)


def test_dependences_and_scratch_of_msccl(read):
    """A direct reduce-scatter: arrivals in scratch by one block, added by another one."""
    ranks = 3
    gpus = []
    for rank in range(ranks):
        blocks = []
        for distance in range(1, ranks):
            peer, other = (rank + distance) % ranks, (rank - distance) % ranks
            steps = [step(0, "s", peer), step(1, "r", 0, dstbuf="s", dstoff=distance - 1)]
            blocks.append((peer, other, steps))
        adds = [
            step(at, "re", at, srcbuf="s", dstbuf="i", dstoff=rank, depid=at, deps=1)
            for at in range(ranks - 1)
        ]
        blocks.append((-1, -1, [*adds, step(9, "cpy", rank, dstoff=0), step(10, "nop", -1)]))
        gpus.append(blocks)
    found = read(msccl(gpus, "reducescatter", ranks, name="direct", inplace=0), ".xml")
    check(found)
    one = whole("direct", "reduce-scatter", ranks)
    assert traffic(found, lambda chunk: 1) == traffic(one, lambda chunk: 1)


def cases():
    for one in algorithms().values():
        for operation in one.operations:
            for ranks in (2, 3, 4, 7, 8):
                try:
                    yield expanded(one.schedule(operation, ranks))
                except InputError:
                    continue


@pytest.mark.parametrize(
    "one", [*cases()], ids=lambda one: f"{one.name}-{one.operation}-{one.ranks}"
)
def test_a_written_plan_is_read_back(read, one):
    if one.operation == "send" or any(flow.multicast or flow.merged for flow in one.flows[0][0]):
        refused = r"(send|multicast|a sum in a switch) is not supported in a plan"
        with pytest.raises(InputError, match=refused):
            mscclpp_plan(one)
        return
    found = read(mscclpp_plan(one), ".json")
    check(found)
    if one.name == "hierarchical":  # its stages of one kind become one
        both = [traffic(each, lambda chunk: 1) for each in (found, one)]
        assert [rank.sent_to for rank in both[0]] == [rank.sent_to for rank in both[1]]
    else:
        unmarked = tuple(
            tuple(tuple(replace(flow, multicast=False) for flow in f) for f in ranks)
            for ranks in one.flows
        )
        assert found == replace(one, flows=unmarked)


def test_gets_and_sums_of_remote_data(read):
    found = read(json.dumps(pulled()), ".json")
    check(found)
    assert (found.ranks, found.parts, found.operation) == (2, 2, "all-reduce")
    one = whole("direct", "all-reduce", 2)
    sent = [rank.sent_to for rank in traffic(found, lambda chunk: 1)]
    assert sent == [rank.sent_to for rank in traffic(one, lambda chunk: 2)]


def test_names_and_paths():
    assert [is_plan(one) for one in ("ring", "ring.xml", "a/b", "a.json")] == [False, *[True] * 3]


def ring_with(**changes):
    gpus = ring_all_reduce(3)
    gpus[0][0][2][1] = step(1, "rrs", 2, **changes)
    return msccl(gpus, "allreduce", 3)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ring_with(type="rrx"), "plan.xml, line 5: type='rrx' is not supported; allowed: s, r"),
        (ring_with(srcbuf="x"), "plan.xml, line 5: srcbuf='x' is not supported; allowed: i, o, s"),
        (ring_with(srcoff="x"), "plan.xml, line 5: srcoff='x' is not allowed; allowed: 0 to 65536"),
        (ring_with(cnt=2), "plan.xml, line 5: receives 2 chunks, but 1 have been sent"),
        (ring_with(srcoff=9), "plan.xml, line 5: reads rank 0's i[9], which holds no data"),
        (ring_with(srcoff=1), "plan.xml, line 5: adds chunk 2 to chunk 1"),
        (ring_with(depid=0, deps=4), "plan.xml, line 5: deadlock: the step 'rrs' never ends"),
        ("<algo>", "plan.xml, line 1: no XML: no element found"),
        ("<algo/>", "plan.xml, line 1: <algo> has no attribute 'coll'"),
        ("<gpu/>", "plan.xml, line 1: <gpu> is not allowed here; allowed: algo"),
        (msccl([], "broadcast", 2), "plan.xml, line 1: coll='broadcast' is not supported; allowed"),
        (msccl([[]] * 3, "allreduce", 4), "plan.xml, line 1: 3 GPUs with 4 chunks; allowed: 2 to"),
        (msccl([[]] * 2, "allreduce", 2), None),
        (msccl([[(-1, 0, [step(0, "s", 0)])], []], "allreduce", 2),
         "plan.xml, line 3: send=-1 is no GPU, and a step sends"),
        (msccl([[]] * 3, "allreduce", 3).replace('id="2"', 'id="0"'),
         "plan.xml, line 6: GPU 0 is there twice, or beyond ngpus"),
    ],
)  # fmt: skip
def test_bad_msccl_files(read, text, line):
    with pytest.raises(InputError) as error:
        check(read(text, ".xml"), "plan.xml")
    if line is not None:
        assert str(error.value).startswith(line)


def changed(path, value):
    """The plan with another value at a path of keys."""
    plan = copy.deepcopy(pulled())
    *outer, last = path
    inner = plan
    for key in outer:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(plan)


OPS = ("gpus", 1, "threadblocks", 0, "ops")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "plan.json: no JSON: Expecting property name"),
        ("[]", "plan.json: [] is not allowed; allowed: an object"),
        (changed(("collective",), None), "plan.json: the key 'collective' is missing"),
        (changed(("collective",), "scan"), "plan.json: collective: 'scan' is not supported"),
        (changed(("gpus",), []), "plan.json: gpus: 0 GPUs; allowed: 2 to 128"),
        (changed(("gpus", 0, "input_chunks"), 3), "plan.json: gpus[0].input_chunks: 3 is"),
        (changed(("gpus", 1, "id"), 0), "plan.json: gpus[1].id: 0 is not allowed; allowed: 1"),
        (changed((*OPS, 0, "name"), "glres"),
         "plan.json: gpus[1].threadblocks[0].ops[0].name: 'glres' is not supported; allowed: put"),
        (changed((*OPS, 0, "src_buff", 0, "index"), 9),
         "plan.json: gpus[1].threadblocks[0].ops[0]: reads rank 1's i[9], which holds no data"),
        (changed((*OPS, 4, "dst_buff", 0, "buffer_id"), 2),
         "plan.json: gpus[1].threadblocks[0].ops[4].dst_buff[0].buffer_id: 2 is not there"),
        (changed((*OPS, 4, "channel_type"), "switch"),
         "plan.json: gpus[1].threadblocks[0].ops[4].channel_type: 'switch' is not supported"),
        (changed((*OPS, 1), {"name": "nop"}),
         "plan.json: gpus[0].threadblocks[0].ops[7]: deadlock: the operation 'wait' never ends"),
        (changed((*OPS, 4), op("signal")),
         "plan.json: stage 1, rank 0, chunk 1: the all-reduce needs the result"),
    ],
)  # fmt: skip
def test_bad_plans(read, text, line):
    with pytest.raises(InputError) as error:
        check(read(text, ".json"), "plan.json")
    assert str(error.value).startswith(line)


def test_a_sum_that_leaves_before_it_is_complete(read):
    """Both ranks send their own data and add the other's: no flow sends less than it keeps."""
    ops = [
        op("put", [("i", 0, 4)], [(0, 0, 4)]),
        op("signal"),
        op("wait"),
        op("re", [("i", 0, 4), ("s", 0, 4)], [("i", 0, 4)]),
    ]
    with pytest.raises(InputError, match="sends or keeps chunk 0 with different contributions"):
        read(json.dumps(two_gpus([ops, ops], ["s", "s"])), ".json")


def keys(value, path=()):
    """Paths of all values of a plan."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from keys(inner, (*path, key))


def test_damaged_files_give_one_line(read):
    """A file with random damage is read, or refused in one line; nothing else happens."""
    seed = 7
    print(f"seed {seed}")
    draw = random.Random(seed)
    paths = [*keys(pulled())]
    xml = msccl(ring_all_reduce(3), "allreduce", 3)
    refused = 0
    for _ in range(300):
        value = draw.choice([None, -1, 10**30, "x", [], {}, True, 1.5, 1])
        at = draw.randrange(len(xml))
        damaged = draw.choice([xml[:at], xml[:at] + draw.choice("<>\"'0- ") + xml[at + 1 :]])
        for text, suffix in ((changed(draw.choice(paths), value), ".json"), (damaged, ".xml")):
            try:
                check(read(text, suffix))
            except InputError as error:
                refused += 1
                assert "\n" not in str(error) and len(str(error)) < 300
    assert refused > 300


def test_every_operation_of_a_plan_is_known():
    from sysmodel.collectives.mscclpp import OPERATIONS as names

    assert {*names.values(), "send"} == set(OPERATIONS)
