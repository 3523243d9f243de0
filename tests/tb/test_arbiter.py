from tb.arbiter.bench import make_dut


def test_arbiter(bench):
    bench(make_dut(), name="arbiter", test_module="tb.arbiter.bench", seed=7010)
