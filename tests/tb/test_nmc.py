from tb.nmc.bench import make_dut


def test_reduce_unit(bench):
    bench(make_dut(), name="nmc", test_module="tb.nmc.bench", seed=7004)
