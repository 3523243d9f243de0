from rtl.registers import Registers
from tb.registers.bench import PARAMETERS
from tb.runner import run_bench


def test_register_port(tmp_path):
    seed = 6005
    print(f"seed {seed}")
    run_bench(
        Registers(PARAMETERS),
        name="registers",
        test_module="tb.registers.bench",
        directory=tmp_path,
        seed=seed,
    )
