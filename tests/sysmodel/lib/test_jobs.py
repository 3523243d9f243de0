"""Jobs in worker processes: results, errors, and workers that die."""

import os
import resource
import signal
from pathlib import Path

import pytest

from sysmodel.lib.errors import InputError
from sysmodel.lib.jobs import WorkerDiedError, map_jobs, run_jobs


def test_results_are_in_the_order_of_the_arguments():
    shares = []
    results = map_jobs(pow, [(2, 200_000, 10**9 + 7), (3, 2), (5, 3)], shares.append)
    assert results == [pow(2, 200_000, 10**9 + 7), 9, 125]
    assert shares == sorted(shares) and shares[-1] == 1


def test_no_job():
    assert map_jobs(pow, [], lambda share: None) == []


def test_the_limit_of_open_files_allows_the_workers():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 12, before[1]))
    results = []
    try:
        run_jobs(
            pow, [(2, 3)] * 4, done=lambda _, future: results.append(future.result()), workers=4
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert results == [8] * 4


def test_an_error_ends_the_run():
    with pytest.raises(ZeroDivisionError):
        map_jobs(divmod, [(7, 2), (1, 0)], lambda share: None)


def refuse(value: int) -> None:
    raise InputError("workers", f"{value} is not allowed")


def test_bad_input_is_reported_as_such():
    with pytest.raises(InputError, match="^workers: 3 is not allowed$") as caught:
        map_jobs(refuse, [(3,)], lambda share: None)
    assert caught.value.field == "workers"


def fail_strangely() -> None:
    class Strange(Exception):
        def __reduce__(self):
            raise TypeError("not to be pickled")

    raise Strange("a strange fault")


def test_an_error_that_cannot_be_pickled_keeps_its_message():
    with pytest.raises(RuntimeError, match="^Strange: a strange fault$"):
        map_jobs(fail_strangely, [()], lambda share: None)


def die_first(marker: Path) -> str:
    """Kill the worker process unless the marker exists; make it."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_a_job_whose_worker_dies_runs_again(tmp_path):
    jobs = [(tmp_path / name,) for name in "abc"]
    assert map_jobs(die_first, jobs, lambda share: None) == ["done"] * 3


def die_at(value: int) -> int:
    if value == 3:
        os._exit(1)
    return value


def test_a_job_that_kills_every_worker_fails_alone():
    results = {}

    def done(index, future):
        results[index] = future.exception() or future.result()

    run_jobs(die_at, [(value,) for value in range(6)], done=done)
    died = results.pop(3)
    assert isinstance(died, WorkerDiedError)
    assert str(died) == "its worker process died, and so did those that tried again"
    assert results == {value: value for value in (0, 1, 2, 4, 5)}
