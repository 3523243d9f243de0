from tb.protected_memory.bench import make_dut


def test_protected_memory(bench):
    bench(make_dut(), name="protected_memory", test_module="tb.protected_memory.bench", seed=4311)
