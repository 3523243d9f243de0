from tb.tracker.bench import make_dut


def test_tracker_bank(bench):
    bench(make_dut(), name="tracker_bank", test_module="tb.tracker.bench", seed=8121)
