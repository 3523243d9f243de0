from tb.tracker_front.bench import make_dut


def test_tracker_front(bench):
    bench(make_dut(), name="tracker_front", test_module="tb.tracker_front.bench", seed=5013)
