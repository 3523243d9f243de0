"""Hierarchical: a direct collective within each node, and one between nodes."""

from .algorithm import Algorithm
from .costs import Costs
from .direct import ALGORITHM as DIRECT
from .group import Group, nodes
from .schedule import Chunk, Flow, Operation, Stage

__all__ = ["ALGORITHM"]


def _within(operation: Operation, group: Group) -> Stage:
    """Each rank exchanges with its node, for all nodes, the chunks of owners in their places."""
    per_node, count = group.sizes
    (inner,) = DIRECT.stages[operation](Group((per_node,)))
    flows = (
        Flow(
            Chunk(group.rank((flow.chunk.owner, node))),
            flow.own,
            flow.arrivals,
            flow.to,
            flow.keeps,
        )
        for flow in inner.flows
        for node in (*range(1, count), 0)
    )
    return Stage(inner.reduces, tuple(flows))


def _between(operation: Operation, group: Group) -> Stage:
    """Each rank exchanges with the ranks in its place in the other nodes."""
    per_node, count = group.sizes
    (outer,) = DIRECT.stages[operation](Group((count,)))
    flows = (
        Flow(
            Chunk(flow.chunk.owner * per_node),
            flow.own,
            flow.arrivals,
            tuple(peer * per_node for peer in flow.to),
            flow.keeps,
        )
        for flow in outer.flows
    )
    return Stage(outer.reduces, tuple(flows))


def _reduce_scatter(group: Group) -> tuple[Stage, ...]:
    return _within("reduce-scatter", group), _between("reduce-scatter", group)


def _all_gather(group: Group) -> tuple[Stage, ...]:
    return _between("all-gather", group), _within("all-gather", group)


def _scattered(group: Group) -> Costs:
    """With A ranks in each of M nodes, (A - 1) M chunks stay in the node and M - 1 leave it."""
    per_node, count = group.sizes
    sent = (per_node - 1) * count + count - 1
    return Costs(
        sent=sent,
        received=sent,
        read=(2 * per_node - 1) * count + 2 * count - 1,
        written=per_node * count + count,
        messages=sent,
        steps=2,
    )


def _gathered(group: Group) -> Costs:
    """The own chunk is read for the other nodes, then M chunks for the other ranks of the node."""
    per_node, count = group.sizes
    sent = count - 1 + (per_node - 1) * count
    return Costs(sent=sent, received=sent, read=1 + count, written=sent, messages=sent, steps=2)


ALGORITHM = Algorithm(
    name="hierarchical",
    summary="direct within each node, then direct between nodes (--ranks-per-node)",
    stages={"reduce-scatter": _reduce_scatter, "all-gather": _all_gather},
    costs={"reduce-scatter": _scattered, "all-gather": _gathered},
    group=nodes,
)
