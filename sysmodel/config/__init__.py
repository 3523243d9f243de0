"""What is simulated: system and workload, read from TOML and checked."""
