"""Ring collectives on the link model, against the closed form."""

import random

import pytest

from t3.experiments.validation.ring import COLLECTIVES, closed_form_ns, ring_time_ns


def test_closed_form():
    assert closed_form_ns(5, 1000, 10, 7) == 4 * (200 / 10 + 7)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("gpus", [2, 3, 4, 7, 16, 33])
@pytest.mark.parametrize("buffer_bytes", [1, 100, 4_096, 50_001, 3_000_000])
def test_within_a_percent_of_the_closed_form(collective, gpus, buffer_bytes):
    ring = gpus, buffer_bytes, 75.0, 500.0
    assert ring_time_ns(collective, *ring) == pytest.approx(closed_form_ns(*ring), rel=0.01)


@pytest.mark.parametrize("seed", range(12))
def test_other_links(seed):
    """A step may differ by an atom, a cycle (a thousandth of a step, at most 1 ns) and the
    rounding of the latency; chunks by an atom."""
    generator = random.Random(seed)
    gpus = generator.randint(2, 12)
    buffer_bytes = int(10 ** generator.uniform(0, 6.5))
    rate = 10 ** generator.uniform(0.5, 2.9)
    latency = generator.choice([0.0, 3.7, 50.0, 500.0, 2_345.6])
    print("seed", seed, (gpus, buffer_bytes, rate, latency))
    expected = closed_form_ns(gpus, buffer_bytes, rate, latency)
    step = expected / (gpus - 1)
    cycle = min(1.0, step / 1000)
    allowed = (gpus - 1) * (2 * 32 / rate + 3 * cycle)
    for collective in COLLECTIVES:
        time_ns = ring_time_ns(collective, gpus, buffer_bytes, rate, latency)
        assert time_ns == pytest.approx(expected, abs=allowed)


@pytest.mark.parametrize("gpus", [2, 5])
def test_a_long_wire(gpus):
    """The wire holds many packets, or is many cycles long."""
    ring = gpus, 20_000_000, 600.0, 1_500.0
    assert ring_time_ns("all_gather", *ring) == pytest.approx(closed_form_ns(*ring), rel=0.01)
    ring = gpus, 20_000, 10.0, 40_000.0
    assert ring_time_ns("all_gather", *ring) == pytest.approx(closed_form_ns(*ring), rel=0.01)


def test_both_collectives_take_equally_long():
    ring = 6, 777_777, 40.0, 120.0
    both = [ring_time_ns(collective, *ring) for collective in COLLECTIVES]
    assert both[0] == pytest.approx(both[1], rel=1e-3)


@pytest.mark.parametrize(
    "arguments,message",
    [
        (("all_reduce", 4, 1000, 75.0, 500.0), "collective must be one of .*, not 'all_reduce'"),
        (("all_gather", 1, 1000, 75.0, 500.0), "gpus must be at least 2, not 1"),
        (("all_gather", 4, 0, 75.0, 500.0), "buffer_bytes must be at least 1, not 0"),
        (("all_gather", 4, 1000, 0.0, 500.0), "link_gb_per_s must be a positive .*, not 0.0"),
        (("all_gather", 4, 1000, float("nan"), 1.0), "link_gb_per_s .*, not nan"),
        (("all_gather", 4, 1000, 75.0, -1.0), "link_latency_ns must be at least 0, not -1.0"),
        (("all_gather", 4, 1000, 75.0, float("inf")), "link_latency_ns .*, not inf"),
        (("all_gather", 4, 10**9, 5000.0, 1e3), "157 atoms a cycle are more than the 128"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ring_time_ns(*arguments)
