"""What the blocks say to each other: codes, payloads, tables and ports."""
