import pytest

from sysmodel.lib.neighbours import downstream, gathered, scattered, upstream


@pytest.mark.parametrize("gpus", [2, 3, 8])
def test_every_gpu_receives_from_the_one_that_sends_to_it(gpus):
    assert [downstream(upstream(g, gpus), gpus) for g in range(gpus)] == list(range(gpus))
    assert upstream(0, gpus) == 1


@pytest.mark.parametrize("gpus", [2, 3, 8])
def test_a_chunk_travels_down_the_ring(gpus):
    for g in range(gpus):
        for step in range(gpus - 1):
            for chunk_of in (scattered, gathered):
                assert chunk_of(g, step + 1, gpus) == chunk_of(upstream(g, gpus), step, gpus)


@pytest.mark.parametrize("gpus", [2, 3, 8])
def test_a_gpu_owns_the_chunk_of_its_number(gpus):
    for g in range(gpus):
        assert scattered(g, gpus - 1, gpus) == gathered(g, 0, gpus) == g
