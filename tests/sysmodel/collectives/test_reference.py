"""The NumPy reference: exact sums, and the order in which fp16 partial sums are rounded."""

import numpy as np
import pytest

from sysmodel.collectives.reference import reference
from sysmodel.collectives.registry import algorithm, algorithms
from sysmodel.collectives.schedule import expanded
from sysmodel.lib.errors import InputError

PIECE = 168  # elements of a share; a multiple of the parts of all schedules


def cases(*operations):
    for one in algorithms().values():
        for operation in one.operations:
            for ranks in (2, 3, 4, 6, 8):
                try:
                    schedule = one.schedule(operation, ranks)
                except InputError:
                    continue
                if operation in operations:
                    yield pytest.param(expanded(schedule), id=f"{one.name}-{operation}-{ranks}")


def integers(one, elements, dtype):
    """Integers whose sums are exact in any order."""
    seed = one.ranks
    return np.random.default_rng(seed).integers(-64, 64, (one.ranks, elements)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("one", [*cases("reduce-scatter", "all-reduce")])
def test_sums(one, dtype):
    inputs = integers(one, one.ranks * PIECE, dtype)
    total = inputs.astype(int).sum(axis=0)
    for rank, result in enumerate(reference(one, inputs)):
        mine = slice(rank * PIECE, (rank + 1) * PIECE)
        assert result.dtype == dtype
        expected = total if one.operation == "all-reduce" else total[mine]
        assert np.array_equal(result, expected)


@pytest.mark.parametrize("one", [*cases("all-gather", "all-to-all", "send")])
def test_moves(one):
    shares = one.ranks if one.operation == "all-to-all" else 1
    inputs = integers(one, shares * PIECE, np.float32)
    for rank, result in enumerate(reference(one, inputs)):
        mine = slice(rank * PIECE, (rank + 1) * PIECE)
        expected = {
            "all-gather": inputs.reshape(-1),
            "all-to-all": inputs[:, mine].reshape(-1),
            "send": inputs[rank - 1],
        }[one.operation]
        assert np.array_equal(result, expected)


def partial_sums(ranks):
    """Numbers whose fp16 sums depend on the order."""
    values = np.random.default_rng(ranks).uniform(-8, 8, (ranks, ranks * PIECE))
    return values.astype(np.float16)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize("name", ["ring", "direct"])
def test_order_of_the_ring(name, ranks):
    """The direct reduce-scatter adds in the order of the senders' dispatch, which is the ring's."""
    inputs = partial_sums(ranks)
    found = reference(expanded(algorithm(name).schedule("reduce-scatter", ranks)), inputs)
    pieces = inputs.reshape(ranks, ranks, PIECE)
    for owner in range(ranks):
        total = pieces[owner - 1, owner]
        for hop in range(2, ranks + 1):
            total = pieces[owner - hop, owner] + total
        assert found[owner].tobytes() == total.tobytes()


def test_order_of_halving():
    """The farthest partner's sum comes first, and the rank's own contribution last."""

    def total(rank, owner, partners):
        terms = [total(rank ^ one, owner, partners[:at]) for at, one in enumerate(partners)]
        terms.append(inputs[rank, owner])
        value = terms[0]
        for term in terms[1:]:
            value = value + term
        return value

    flat = partial_sums(8)
    found = reference(expanded(algorithm("halving-doubling").schedule("reduce-scatter", 8)), flat)
    inputs = flat.reshape(8, 8, PIECE)
    for rank in range(8):
        assert np.array_equal(found[rank], total(rank, rank, (4, 2, 1)))
        assert not np.array_equal(found[rank], total(rank, rank, (1, 2, 4)))


def test_rounded_at_every_addition():
    """Above 1024, fp16 has only integers, and loses each quarter that is added."""
    one = expanded(algorithm("ring").schedule("reduce-scatter", 4))
    inputs = np.zeros((4, 4), np.float16)
    inputs[:, 0] = 0.25, 0.25, 0.25, 1024  # rank 3 comes first
    assert reference(one, inputs)[0] == 1024
    assert reference(one, inputs.astype(np.float32))[0] == 1024.75


def test_refused_inputs():
    one = expanded(algorithm("bidirectional").schedule("reduce-scatter", 4))
    with pytest.raises(InputError, match=r"\(4, 12\) is not allowed; allowed: 4 x a multiple of 8"):
        reference(one, np.zeros((4, 12)))
