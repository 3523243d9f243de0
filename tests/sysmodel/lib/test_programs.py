"""External programs: output, exit codes and options."""

import pytest

from sysmodel.lib.programs import program_output, run_program


def test_output_and_exit_code(tmp_path):
    done = run_program(["sh", "-c", r"pwd; printf '\377' >&2; exit 3"], cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\n", "\ufffd")


def test_options(tmp_path):
    done = run_program(
        ["sh", "-c", "echo $A; exec >&2; echo b"], env={"A": "1"}, errors_with_output=True
    )
    assert (done.stdout, done.stderr) == ("1\nb\n", None)
    with pytest.raises(FileNotFoundError):
        run_program([tmp_path / "absent"])


def test_a_program_that_must_succeed():
    assert program_output(["echo", "a"]) == "a\n"
    with pytest.raises(RuntimeError, match="^sh failed with status 3:\na\nb\n$"):
        program_output(["sh", "-c", "echo a; echo b >&2; exit 3"])
