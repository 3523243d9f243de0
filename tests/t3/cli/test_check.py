import pytest

from sysmodel.runs.check_options import CheckOptions, CheckResult, Mismatch
from t3.cli import check as command
from t3.cli.main import main

_BAD_CHECKS = [
    (
        ["--m", "1000000000"],
        "--m: 1000000000 is not allowed; allowed: an integer from 1 to 1048576",
    ),
    (["--m", "0"], "--m: 0 is not allowed"),
    (["--n", "-5"], "--n: -5 is not allowed"),
    (["--k", "many"], "--k: 'many' is not allowed; allowed: an integer"),
    (["--gpus", "1"], "--gpus: 1 is not allowed; allowed: an integer from 2 to 8"),
    (["--dtype", "fp8"], "--dtype: 'fp8' is not allowed; allowed: fp16, bf16"),
    (["--engine", "x"], "--engine: 'x' is not allowed; allowed: rtl, golden"),
    (["--contexts", "0"], "--contexts: 0 is not allowed; allowed: an integer from 1 to 2"),
    (["--contexts", "3"], "--contexts: 3 is not allowed; allowed: an integer from 1 to 2"),
    (["--channels", "all"], "--channels: 'all' is not allowed; allowed: an integer"),
    (["--channels", "5"], "--channels: 5 is not allowed; allowed: a power of two from 1 to 32"),
    (["--skew", "-1"], "--skew: -1 is not allowed"),
    (["--back-pressure", "100"], "--back-pressure: 100 is not allowed"),
    (["--seed", "x"], "--seed: 'x' is not allowed; allowed: an integer"),
]


@pytest.mark.parametrize("arguments, message", _BAD_CHECKS)
def test_bad_input_to_check(fails, monkeypatch, arguments, message):
    monkeypatch.setattr(command, "compare", lambda **_: pytest.fail("checked"))
    assert fails(["check", *arguments]).startswith(message)


@pytest.mark.parametrize("passed", [True, False])
def test_check(capsys, monkeypatch, passed):
    asked = []

    def compare(**options):
        asked.append(CheckOptions(**options))
        wrong = Mismatch(gpu=1, row=2, column=3, expected=0x3C00, found=0x3C01)
        return CheckResult(
            passed=passed,
            elements=196_608,
            mismatches=0 if passed else 1,
            cycles=5000,
            wall_s=0.5,
            first_mismatches=() if passed else (wrong,),
        )

    monkeypatch.setattr(command, "compare", compare)
    arguments = ["check", "--gpus", "8", "--dtype", "bf16", "--skew", "90", "--back-pressure", "30"]
    assert main(arguments) == (0 if passed else 1)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert ("passed" in printed.out) == passed
    assert ("GPU 1, row 2, column 3: expected 0x3c00, found 0x3c01" in printed.out) != passed
    options = asked[0]
    assert (options.gpus, options.dtype, options.skew, options.back_pressure) == (8, "bf16", 90, 30)
    assert (options.m, options.n, options.k) == (512, 384, 128)
    assert options.contexts == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--operation", "all-gather"], "bit for bit\nring all-gather; 5 memory cycles"),
        (["--collective", "send"], "bit for bit\nsend send; 5 memory cycles"),
        (
            ["--collective", "direct", "--free-order"],
            "within the bound\ndirect reduce-scatter; 5 memory",
        ),
    ],
)
def test_the_collective_is_shown(capsys, monkeypatch, arguments, words):
    passed = CheckResult(passed=True, elements=8, mismatches=0, cycles=5, wall_s=0.5)
    monkeypatch.setattr(command, "compare", lambda **_: passed)
    assert main(["check", "--m", "256", *arguments]) == 0
    assert words in capsys.readouterr().out


def test_the_source_of_an_element_is_shown(capsys, monkeypatch):
    wrong = Mismatch(gpu=1, row=2, column=3, expected=1, found=2, source=3)
    failed = CheckResult(
        passed=False, elements=8, mismatches=1, cycles=5, wall_s=0.5, first_mismatches=(wrong,)
    )
    monkeypatch.setattr(command, "compare", lambda **_: failed)
    options = ["--collective", "direct", "--operation", "all-to-all", "--uneven"]
    assert main(["check", *options]) == 1
    assert "GPU 1, from GPU 3, row 2, column 3: expected 0x0001" in capsys.readouterr().out


def test_check_of_two_contexts(capsys, monkeypatch):
    wrong = Mismatch(gpu=1, row=2, column=3, expected=1, found=2, context=1)
    failed = CheckResult(
        passed=False, elements=8, mismatches=1, cycles=5, wall_s=0.5, first_mismatches=(wrong,)
    )
    monkeypatch.setattr(command, "compare", lambda **_: failed)
    assert main(["check", "--contexts", "2"]) == 1
    printed = capsys.readouterr().out
    assert "512 x 384 x 128 fp16 beside 384 x 512 x 128 bf16 on 4 GPUs" in printed
    assert "context 1, GPU 1, row 2, column 3: expected 0x0001" in printed
