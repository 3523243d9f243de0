"""Data mode with two active contexts: every bit of both, or of the context that is not aborted."""

import numpy as np
import pytest

from driver.python import T3, Recorder
from rtl.interface.encodings import ErrorCode, InjectTarget
from sysmodel.collectives.schedule import Chunk
from sysmodel.lib.errors import InputError, SimulationError
from sysmodel.lib.progress import no_progress
from sysmodel.machine.until import UNTIL_PROGRAMMED
from sysmodel.runs.check import check, launches_of
from sysmodel.runs.check_options import CheckOptions
from sysmodel.runs.data_launch import DataLaunch
from sysmodel.runs.data_reference import reference
from tests.support.random_problem import random_check

BOTH = 0, 1
CORRUPT = {
    InjectTarget.TRACKER: ErrorCode.TRACKER_CORRUPT,
    InjectTarget.COMMANDS: ErrorCode.TRIGGER_CORRUPT,
}


def random_options(seed, engine):
    return random_check(seed, engine, contexts=2, channels=2 if engine == "rtl" else None)


def require_pass(options):
    print(options)
    result = check(options, no_progress)
    assert result.passed, (result.errors, result.first_mismatches)
    assert result.elements == 2 * options.m * options.n


@pytest.mark.parametrize("seed", range(2000, 2004))
def test_random_problems_on_the_golden_engine(seed):
    require_pass(random_options(seed, "golden"))


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(2100, 2200))
def test_many_random_problems(seed):
    require_pass(random_options(seed, "rtl" if seed % 2 else "golden"))


@pytest.mark.parametrize("wrong", BOTH)
def test_a_bit_error_is_found_in_its_context(monkeypatch, wrong):
    def one_off(products, *others):
        sums = reference(products, *others)
        if products.shape[1:] == ((256, 192), (192, 256))[wrong]:
            for g, kept in enumerate(sums):
                kept[Chunk(g)].view(np.uint16)[7, 9] ^= 1
        return sums

    monkeypatch.setattr("sysmodel.runs.data_launch.reference", one_off)
    options = CheckOptions(contexts=2, gpus=2, m=256, n=192, k=8, engine="golden")
    result = check(options, no_progress)
    assert not result.passed and result.mismatches == 1
    (first,) = result.first_mismatches
    assert (first.context, first.row, first.column) == (wrong, 7, 9)


def test_an_output_of_several_launches_has_no_second_context():
    options = CheckOptions(contexts=2, gpus=2, m=1, n=96 * 520, k=8)
    with pytest.raises(InputError, match=r"which takes \d launches; allowed: 1, or") as caught:
        check(options, no_progress)
    assert caught.value.field == "contexts"


def launch_of_both(engine, seed):
    """Two problems that overlap from their beginning to their end."""
    options = CheckOptions(contexts=2, gpus=3, m=256, n=288, k=8, engine=engine, seed=seed)
    (works,), system = launches_of(options)
    return DataLaunch(
        system,
        works,
        engine=engine,
        channels=options.channels,
        tracked=options.tracked,
        seed=seed,
        link_stall=0.3,
    )


def require_right(launch, *contexts):
    for context in contexts:
        assert launch.compare(context) == (0, ())


ENGINES = ["golden", pytest.param("rtl", marks=pytest.mark.verify)]


def both_done(engine, seed):
    """Cycles in which both run: from the launch to the first one's end on the first GPU."""
    with launch_of_both(engine, seed) as launch:
        launch.begin()
        begun = launch.machine.now
        launch.finish()
        return begun, int(launch.machine.state.context["done_cycle"].min())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("aborted", BOTH)
def test_an_abort_in_mid_run_leaves_the_other_context_alone(engine, aborted):
    seed = 2300 + aborted
    print(f"seed {seed}")
    for cycle in np.random.default_rng(seed).integers(*both_done(engine, seed), 4):
        with launch_of_both(engine, seed) as launch:
            machine = launch.machine
            launch.begin()
            machine.idle(int(cycle) - machine.now)
            assert (machine.state.context["done_cycle"] < 0).all()
            machine.abort(aborted)
            launch.finish()
            require_right(launch, 1 - aborted)
            assert launch.compare(aborted)[0] > 0
            for g in range(machine.gpus):
                assert not machine.read(g, "STATUS", aborted)["aborting"]


def reported(engine, target, instance, seed, after=0):
    """Inject a double-bit error into GPU 0 some cycles after the launch, abort the context that
    reports it, and continue; return this context, or None if no error was reported.
    """
    with launch_of_both(engine, seed) as launch:
        machine = launch.machine
        launch.begin()
        machine.idle(after)
        bus = Recorder()
        T3(bus).inject(target, instance, double=True)
        machine.write([bus.writes, *[[]] * (machine.gpus - 1)])
        machine.run(UNTIL_PROGRAMMED)
        try:
            launch.finish()
        except SimulationError as error:
            assert "reports error" in str(error)
            (lost,) = (c for c in BOTH if machine.read(0, "ERROR", c)["code"])
            assert machine.read(0, "ERROR", lost)["code"] == CORRUPT[target].value
            machine.abort(lost)
            launch.finish()
            require_right(launch, 1 - lost)
            return lost
        require_right(launch, *BOTH)
        return None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("hit", BOTH)
def test_a_lost_command_is_reported_to_its_context_and_the_other_goes_on(engine, hit):
    assert reported(engine, InjectTarget.COMMANDS, hit, 2400) == hit


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lost_entry_of_the_tracker_is_reported_to_one_context_and_the_other_goes_on(engine):
    # The next write may belong to either context, and may be overwritten before it is read.
    seed = 2500
    print(f"seed {seed}")
    begun, done = both_done(engine, seed)
    cycles = np.random.default_rng(seed).integers(0, done - begun, 4)
    found = [reported(engine, InjectTarget.TRACKER, 0, seed, int(after)) for after in cycles]
    assert set(found) - {None}
