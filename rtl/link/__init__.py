"""Physical link: sequence numbers, CRC, credits and replay."""
