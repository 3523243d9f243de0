from collections.abc import Callable

import pytest

import sysmodel.runs.sampling_error  # noqa: F401  # takes the real simulation before it is replaced
from t3.cli.main import main
from tests.support.example_run import example_result


@pytest.fixture
def fails(capsys) -> Callable[..., str]:
    """Run `t3`, which must end with one line on standard error, and return the line."""

    def run(arguments: list[str], code: int = 2) -> str:
        assert main(arguments) == code
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("error: ") or code == 130
        assert printed.err.endswith("\n")
        assert printed.err.count("\n") == 1
        return printed.err.removeprefix("error: ").rstrip("\n")

    return run


@pytest.fixture
def simulated(monkeypatch):
    """Give `t3 run` a ready result; lists the arguments of its simulations."""
    calls = []

    def simulate(plan, progress):
        calls.append((plan.workload, plan.system, plan.options))
        progress("t3: GEMM", 0.5)
        return example_result(plan.workload, plan.options)

    monkeypatch.setattr("sysmodel.runs.simulate.simulate", simulate)
    return calls
