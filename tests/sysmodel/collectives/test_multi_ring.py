"""Rings without a common link: their number against Walecki's and Tillson's theorems, and use."""

import pytest

from sysmodel.collectives.hamiltonian import disjoint_rings
from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import expanded
from sysmodel.collectives.traffic import equal_chunks, traffic


@pytest.mark.parametrize("ranks", range(2, 41))
def test_rings_pass_all_ranks_and_share_no_link(ranks):
    rings = disjoint_rings(ranks)
    assert all(sorted(ring) == list(range(ranks)) for ring in rings)
    links = [link for ring in rings for link in zip(ring, ring[1:] + ring[:1], strict=True)]
    assert len(links) == len(set(links)) == len(rings) * ranks
    # Walecki: odd numbers. Tillson: even numbers but 4 and 6, which have one ring less.
    fewer = ranks in (4, 6) or (ranks > 32 and ranks % 2 == 0)
    assert len(rings) == ranks - 1 - fewer


def test_the_rings_are_always_the_same():
    first = disjoint_rings(12)
    disjoint_rings.cache_clear()
    assert disjoint_rings(12) == first


@pytest.mark.parametrize("ranks", [3, 5, 8, 9])
def test_every_link_of_a_full_mesh_carries_the_same(ranks):
    """A ring carries a part of N - 1 chunks over each of its links."""
    schedule = expanded(algorithm("multi-ring").schedule("reduce-scatter", ranks))
    size = 32 * (ranks - 1)
    for rank, one in enumerate(traffic(schedule, equal_chunks(schedule, size))):
        others = set(range(ranks)) - {rank}
        assert one.sent_to == one.received_from == dict.fromkeys(others, size)


def test_four_ranks_leave_a_link_unused():
    """Two rings are the most: the links that they leave are those of a pairing."""
    schedule = expanded(algorithm("multi-ring").schedule("all-gather", 4))
    for one in traffic(schedule, equal_chunks(schedule, 2)):
        assert sorted(one.sent_to.values()) == [3, 3]
