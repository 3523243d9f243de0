from tb.map_table.bench import make_dut


def test_map_table(bench):
    bench(make_dut(), name="map_table", test_module="tb.map_table.bench", seed=4912)
