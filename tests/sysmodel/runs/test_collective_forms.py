"""Collectives alone against closed forms of their time on the wire, written here by hand.

A form lists, for each step, the payload of the busiest link in chunks, over the rate of that link
as a share of a port's. Ports of asplos24 carry 150 GB/s; a GPU with several links divides its port.
"""

from dataclasses import dataclass
from math import comb

import pytest

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.runs.collective_alone import simulate_collective

SYSTEM = load_system("asplos24")
SCATTER, GATHER, EXCHANGE = "reduce-scatter", "all-gather", "all-to-all"
FILL_NS = 250.0  # of a step: the first loads, the hardware, and the last stores
# Share of the memory's peak in sums: a wavefront stores a batch after its loads. Streams have 0.8.
SUM_SHARE = 0.72
WIRE_NS, STEP_NS = 150_000.0, 20_000.0  # on the wire: for which chunks are sized, in all and a step
LEAST_CHUNK = 1 << 18  # a full tile, which is not rounded up


def opposite(n):
    """Chunks on a link of a ring in both directions, whose ranks all send to each other rank."""
    return n * n // 4


def powers(n, load):
    return [load(1 << bit) for bit in range((n - 1).bit_length())]


def far_pairs(n):
    """Ranks whose numbers differ in one bit exchange over a ring in both directions: d chunks at
    distance d; those at distance N/2 take both ways."""
    return powers(n, lambda d: 2 * d * d if 2 * d < n else d * d)


def nodes(n):
    """Ranks of a node, at most eight, and nodes."""
    of_node = max(size for size in range(2, 9) if n % size == 0 and 2 * size <= n)
    return of_node, n // of_node


def in_nodes(n):
    """In a node, a rank exchanges the chunks of all nodes; between nodes, those of its place."""
    of_node, count = nodes(n)
    return [(of_node - 1) * count, count - 1]


# Halves of an all-reduce have equal forms, in the other order of their steps.
HALVES = {
    ("ring", "ring"): lambda n: [1] * (n - 1),
    ("ring", "ring-both"): lambda n: [2 if n > 2 else 1] * (n - 1),
    ("ring", "fully-connected"): lambda n: [n - 1] * (n - 1),
    ("ring", "switch"): lambda n: [1] * (n - 1),
    ("ring", "torus-2d"): lambda n: [4] * (n - 1),
    ("bidirectional", "ring"): lambda n: [n / 2] * (n - 1),
    ("bidirectional", "ring-both"): lambda n: [1] * (n - 1),
    ("bidirectional", "fully-connected"): lambda n: [max(1, (n - 1) / 2)] * (n - 1),
    ("bidirectional", "switch"): lambda n: [1] * (n - 1),
    ("bidirectional", "torus-2d"): lambda n: [2] * (n - 1),
    ("direct", "ring"): lambda n: [n * (n - 1) / 2],
    ("direct", "ring-both"): lambda n: [opposite(n)],
    ("direct", "fully-connected"): lambda n: [n - 1],
    ("direct", "switch"): lambda n: [n - 1],
    ("direct", "torus-2d"): lambda n: [4 * 8],
    # N - 1 rings use all links of a full mesh; 4 and 6 ranks have only N - 2 rings.
    ("multi-ring", "fully-connected"): lambda n: (
        [(n - 1) / (n - 2) if n in (4, 6) else 1] * (n - 1)
    ),
    ("multi-ring", "switch"): lambda n: [1] * (n - 1),
    ("halving-doubling", "ring"): lambda n: powers(n, lambda d: d * n / 2),
    ("halving-doubling", "ring-both"): far_pairs,
    ("halving-doubling", "fully-connected"): lambda n: powers(n, lambda d: d * (n - 1)),
    ("halving-doubling", "switch"): lambda n: powers(n, lambda d: d),
    ("halving-doubling", "torus-2d"): lambda n: [4, 8, 16, 32],
    ("hierarchical", "switch"): in_nodes,
}
# In a gather, each rank sends a chunk to all farther partners at once: in step s + 1 the farthest
# one gets the chunks of the owners at s partners' distance.
GATHERS = {
    ("halving-doubling", "fully-connected"): lambda n: [
        comb((n - 1).bit_length() - 1, s) * (n - 1) for s in range((n - 1).bit_length())
    ],
}
OTHERS = {
    ("ring", EXCHANGE, "ring"): lambda n: [*range(1, n)],
    ("ring", EXCHANGE, "ring-both"): lambda n: [s * (2 if n > 2 else 1) for s in range(1, n)],
    ("ring", EXCHANGE, "fully-connected"): lambda n: [s * (n - 1) for s in range(1, n)],
    ("ring", EXCHANGE, "switch"): lambda n: [*range(1, n)],
    ("direct", EXCHANGE, "ring"): HALVES["direct", "ring"],
    ("direct", EXCHANGE, "ring-both"): HALVES["direct", "ring-both"],
    ("direct", EXCHANGE, "fully-connected"): HALVES["direct", "fully-connected"],
    ("direct", EXCHANGE, "switch"): HALVES["direct", "switch"],
    ("direct", EXCHANGE, "torus-2d"): HALVES["direct", "torus-2d"],
    ("send", "send", "ring"): lambda n: [n - 1],
    ("send", "send", "ring-both"): lambda n: [2 if n > 2 else 1],
    ("send", "send", "fully-connected"): lambda n: [n - 1],
    ("send", "send", "switch"): lambda n: [1],
    ("send", "send", "torus-2d"): lambda n: [4],
}
# Sums of a reduce-scatter while nothing is sent: operands, and chunks.
SUMS = {
    "ring": lambda n: [(2, 1)],
    "bidirectional": lambda n: [(2, 1)],
    "multi-ring": lambda n: [(2, 1)],
    "direct": lambda n: [(n, 1)],
    "halving-doubling": lambda n: [(1 + (n - 1).bit_length(), 1)],
    "hierarchical": lambda n: [nodes(n), (nodes(n)[1], 1)],
}


# In a gather by halving-doubling, each rank sends to several partners at once, over ways for which
# no form is known.
_NO_GATHER = ("ring-both", "torus-2d")


@dataclass(frozen=True)
class Case:
    """Collective on a topology."""

    name: str
    operation: str
    topology: str
    gpus: int

    @property
    def steps(self):
        """Chunks on the busiest link in each step."""
        way = self.name, self.topology
        scatter, gather = (HALVES | more for more in ({}, GATHERS))
        if self.operation == SCATTER:
            return scatter[way](self.gpus)
        if self.operation == GATHER:
            return gather[way](self.gpus)
        if self.operation == "all-reduce":
            return scatter[way](self.gpus) + gather[way](self.gpus)
        return OTHERS[self.name, self.operation, self.topology](self.gpus)

    @property
    def sums(self):
        adds = self.operation in (SCATTER, "all-reduce")
        return SUMS[self.name](self.gpus) if adds else []


def cases(gpus):
    """Cases that make sense for a number of GPUs.

    More than 16 GPUs do not send each chunk over many links.
    """
    ways = [(n, op, t) for n, t in HALVES for op in (SCATTER, GATHER, "all-reduce")] + [*OTHERS]
    for name, operation, topology in ways:
        if topology == "torus-2d" and gpus != 16:
            continue
        if name == "halving-doubling" and gpus & (gpus - 1):
            continue
        if name == "halving-doubling" and operation != SCATTER and topology in _NO_GATHER:
            continue
        if name == "hierarchical" and not any(gpus % size == 0 for size in range(2, gpus // 2 + 1)):
            continue
        one = Case(name, operation, topology, gpus)
        if gpus <= 16 or sum(one.steps) < 4 * gpus:
            yield one


def chunk_bytes(case):
    """Chunk for which the wire takes the time, in full tiles."""
    wire_ns = max(WIRE_NS, len(case.steps) * STEP_NS)
    whole = wire_ns * SYSTEM.link.bandwidth_gb_per_s / sum(case.steps)
    return max(1, round(whole / LEAST_CHUNK)) * LEAST_CHUNK


def closed_ns(case, chunk):
    """Launch, then each step: what its busiest link carries, the link's latency, and its fill."""
    wire_ns = sum(case.steps) * chunk / SYSTEM.link.bandwidth_gb_per_s
    steps_ns = len(case.steps) * (SYSTEM.link.latency_ns + FILL_NS)
    found = SYSTEM.gpu.kernel_launch_ns + wire_ns + steps_ns
    for operands, chunks in case.sums:
        read_and_written = (operands + 1) * chunks * chunk
        found += read_and_written / (SYSTEM.dram_bytes_per_ns * SUM_SHARE) + FILL_NS
    return found


def simulated(case, chunk):
    schedule = expanded(algorithm(case.name).schedule(case.operation, case.gpus))
    message = chunk * (1 if case.operation == "send" else case.gpus)
    return simulate_collective(SYSTEM, schedule, message, topology=load_topology(case.topology))


def check(case, above):
    """Check bytes and time; the time may exceed the closed form by a share."""
    chunk = chunk_bytes(case)
    found = simulated(case, chunk)
    costs = algorithm(case.name).closed_form(case.operation, case.gpus).times(chunk)
    assert found.sent_bytes == costs.sent
    assert found.read_bytes == costs.read
    assert found.written_bytes == costs.written
    closed = closed_ns(case, chunk)
    assert 0.985 * closed <= found.time_ns <= (1 + above) * closed


@pytest.mark.parametrize(
    ("name", "operation", "topology"),
    [
        ("ring", SCATTER, "ring"),
        ("ring", GATHER, "ring"),
        ("ring", GATHER, "switch"),
        ("ring", GATHER, "fully-connected"),
        ("direct", SCATTER, "switch"),
        ("direct", GATHER, "switch"),
        ("direct", GATHER, "fully-connected"),
        ("halving-doubling", GATHER, "fully-connected"),
        ("send", "send", "switch"),
    ],
)
def test_one_link_binds(name, operation, topology):
    check(Case(name, operation, topology, 4), 0.01)


def share_above(case):
    """Share by which a time may exceed its closed form, as measured; why, docs/collectives.md says.

    Packets of a memory channel leave in order. On a way over several GPUs, one whose link is busy
    holds up those for other links. Sums differ in their share of the memory's peak.
    """
    if case.topology in ("switch", "fully-connected") or case.name == "ring":
        return 0.15 if case.sums else 0.05
    return 0.7 if case.topology == "torus-2d" else 0.35


@pytest.mark.verify
@pytest.mark.parametrize("gpus", [2, 3, 4, 5, 6, 7, 8, 12, 16])
def test_every_collective_on_every_topology(gpus):
    for case in cases(gpus):
        check(case, share_above(case))
