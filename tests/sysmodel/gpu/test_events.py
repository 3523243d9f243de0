import heapq
import random

import pytest

from sysmodel.gpu.events import heap_pop, heap_push, next_event
from tests.support.small_kernel import bare_state, small_kernel


@pytest.fixture
def gpu():
    state, _ = bare_state(small_kernel())
    return state.gpu[0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_agrees_with_heapq(gpu, seed):
    print("seed", seed)
    generator = random.Random(seed)
    expected = []
    for i in range(3000):
        # Grows for the first half, then shrinks.
        if not expected or generator.random() < (0.7 if i < 1500 else 0.3):
            event = generator.randrange(200), generator.randrange(1 << 16)
            heapq.heappush(expected, event)
            heap_push(gpu, *event)
        else:
            time = next_event(gpu)
            assert (time, heap_pop(gpu)) == heapq.heappop(expected)
        assert gpu["heap_size"] == len(expected)
    while expected:
        time = next_event(gpu)
        assert (time, heap_pop(gpu)) == heapq.heappop(expected)


def test_equal_times_leave_in_the_order_of_their_codes(gpu):
    codes = [5, 3, 9, 3, 0, (1 << 24) - 1]
    for code in codes:
        heap_push(gpu, 7, code)
    assert [heap_pop(gpu) for _ in codes] == sorted(codes)


def test_empty_queue_never_has_an_event(gpu):
    never = next_event(gpu)
    heap_push(gpu, 1 << 38, 1)
    assert next_event(gpu) == 1 << 38 < never
    heap_pop(gpu)
    assert next_event(gpu) == never
