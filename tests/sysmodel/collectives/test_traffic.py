"""Bytes by rank and peer, also of unequal chunks, against sums that need no schedule."""

import numpy as np
import pytest

from sysmodel.collectives.registry import algorithm
from sysmodel.collectives.schedule import Chunk, expanded
from sysmodel.collectives.traffic import equal_chunks, matrix_chunks, traffic
from sysmodel.lib.errors import InputError


def exchange(name, ranks):
    return expanded(algorithm(name).schedule("all-to-all", ranks))


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 16])
def test_direct_all_to_all_of_a_matrix(ranks):
    sizes = np.random.default_rng(ranks).integers(0, 4, (ranks, ranks)) * 32
    one = exchange("direct", ranks)
    for rank, found in enumerate(traffic(one, matrix_chunks(one, sizes.tolist()))):
        others = [peer for peer in range(ranks) if peer != rank]
        assert found.sent_to == {peer: sizes[rank, peer] for peer in others}
        assert found.received_from == {peer: sizes[peer, rank] for peer in others}
        assert found.sent == found.read == sizes[rank, others].sum()
        assert found.received == found.written == sizes[others, rank].sum()
        assert found.messages == np.count_nonzero(sizes[rank, others])


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_ring_all_to_all_of_a_matrix(ranks):
    """A chunk crosses every link between its source and the owner, in descending order of ranks."""
    sizes = np.random.default_rng(ranks).integers(0, 4, (ranks, ranks)) * 32
    crossing = np.zeros(ranks, int)
    for source in range(ranks):
        for owner in range(ranks):
            for hop in range((source - owner) % ranks):
                crossing[(source - hop) % ranks] += sizes[source, owner]
    one = exchange("ring", ranks)
    found = traffic(one, matrix_chunks(one, sizes.tolist()))
    assert [rank.sent for rank in found] == crossing.tolist()


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ([[1, 2]], "sizes: 1 rows of 2 numbers are not allowed; allowed: 2 rows of 2 numbers"),
        ([[1], [2]], "sizes: 2 rows of 1 numbers are not allowed; allowed: 2 rows of 2 numbers"),
        (
            [[1], [2, 3]],
            "sizes: 2 rows of 1 or 2 numbers are not allowed; allowed: 2 rows of 2 numbers",
        ),
        ([[1, 2], [-3, 4]], "sizes[1][0]: -3 is not allowed; allowed: a multiple of 1"),
    ],
)
def test_refused_matrices(sizes, problem):
    with pytest.raises(InputError) as error:
        matrix_chunks(exchange("direct", 2), sizes)
    assert str(error.value) == problem


def test_a_matrix_needs_an_all_to_all():
    ring = expanded(algorithm("ring").schedule("all-gather", 2))
    with pytest.raises(InputError, match="sizes: ring does all-gather; allowed: all-to-all"):
        matrix_chunks(ring, [[1, 2], [3, 4]])


def test_parts_of_a_chunk():
    both = expanded(algorithm("bidirectional").schedule("all-gather", 3))
    parts = Chunk(2, part=0), Chunk(2, part=1)
    assert [*map(equal_chunks(both, 8), parts)] == [4, 4]
    assert [*map(equal_chunks(both, 7), parts)] == [3, 4]
    assert [*map(equal_chunks(both, 96, unit=32), parts)] == [32, 64]
    with pytest.raises(
        InputError, match="bytes: 7 bytes are not allowed; allowed: a multiple of 2"
    ):
        equal_chunks(both, 7, unit=2)
