from rtl.nmc import NmcUnit
from tb.nmc.bench import PARAMETERS
from tb.runner import run_bench


def test_reduce_unit(tmp_path):
    seed = 7004
    print(f"seed {seed}")
    run_bench(
        NmcUnit(PARAMETERS),
        name="nmc",
        test_module="tb.nmc.bench",
        directory=tmp_path,
        seed=seed,
    )
