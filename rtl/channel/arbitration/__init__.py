"""Which stream the DRAM queue takes from, with each policy in a file of its own."""
