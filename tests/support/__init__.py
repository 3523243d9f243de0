"""Helpers that several test modules share.

Hardware in Amaranth's simulator
    `simulation` keeps devices and simulators for reuse. `channel_bench`, `dma_engine_bench`,
    `map_table_bench`, `tracker_bank_bench` and `trigger_bench` drive one block, `register_bus` its
    register port. `top_bench` drives a top, `context_traffic` two contexts of it, `ring_bench`
    tops in a ring. `link_pair` and `shared_link` join two link endpoints; `crc_reference` has
    their CRC.
Lockstep of RTL and golden model
    `lockstep_recording` records the golden model and replays the inputs on the RTL,
    `lockstep_machine` steps both in a simulated machine. `lockstep_geometries` and
    `lockstep_contexts` have their geometries and kernels; `golden_state` a state of the model.
    `attack` is the stimulus of a tenant that attacks another one.
    `random_stimulus` compares a compiled component with Amaranth's simulator, `toy_top` is one.
Exported Verilog
    `exports` writes each export once, `verilog_tools` runs the programs that read it, of which
    `optional_tools` finds those that a machine may lack.
    `verilog_comparison` runs two modules side by side, `verilog_traffic` one under stream traffic.
    `memory_controller` builds the example's benches.
System model
    `small_system`, `small_kernel` and `random_problem` make inputs. `dram_harness` drives a memory.
    `ended_programs` looks for processes.
Driver
    `c_driver` compiles the C driver and loads it, `driver_limits` has the arguments of all calls.
Results
    `example_run` and `example_study` are finished results; `small_grid` and `sweep_points` make
    sweeps.
Silicon
    `tiny_library` is a cell library in closed form; `accumulator` and `small_memory` are designs
    for the tools.
"""
