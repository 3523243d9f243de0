from tb.queue.dut import Queues


def test_queues(bench):
    bench(Queues(), name="queues", test_module="tb.queue.bench", seed=4101)
