"""The T3 hardware: tracking, triggering, DMA, arbitration and near-memory reduction."""
