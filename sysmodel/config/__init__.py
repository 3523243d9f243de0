"""System and workload of a simulation, read from TOML and checked."""
