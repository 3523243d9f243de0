"""The physical link: sequence numbers, CRC, credits and replay."""
