from tb.registers.bench import make_dut


def test_register_port(bench):
    bench(make_dut(), name="registers", test_module="tb.registers.bench", seed=6005)
