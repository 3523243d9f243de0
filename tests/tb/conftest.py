"""Runner of the benches: short on Verilator in every run, long on every simulator in `make
verify`.
"""

from collections.abc import Callable

import pytest

from tb.runner import SIMULATORS, run_bench
from tests.support.optional_tools import needs


@pytest.fixture(
    params=[
        pytest.param(("verilator", 1), id="verilator"),
        pytest.param(("verilator", 10), id="verilator-long", marks=pytest.mark.verify),
        pytest.param(("icarus", 2), id="icarus", marks=pytest.mark.verify),
    ]
)
def bench(request, tmp_path) -> Callable[..., None]:
    """Return a function that runs a bench like :func:`tb.runner.run_bench` and requires a hit of
    every cover point.
    """
    simulator, scale = request.param
    program = SIMULATORS[simulator]
    if program:
        needs(program)

    def run(component, *, seed: int, **arguments) -> None:
        print(f"seed {seed}")
        hits = run_bench(
            component,
            directory=tmp_path,
            seed=seed,
            simulator=simulator,
            scale=scale,
            **arguments,
        )
        print(hits)
        assert hits, "The bench has no cover points"
        missed = [point for point, count in hits.items() if not count]
        assert not missed, f"Never hit: {missed}"

    return run
