from rtl.arbiter import Arbiter
from tb.arbiter.bench import PARAMETERS
from tb.runner import run_bench


def test_arbiter(tmp_path):
    seed = 7010
    print(f"seed {seed}")
    run_bench(
        Arbiter(PARAMETERS),
        name="arbiter",
        test_module="tb.arbiter.bench",
        directory=tmp_path,
        seed=seed,
    )
