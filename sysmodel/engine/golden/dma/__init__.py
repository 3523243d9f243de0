"""DMA: each context's engine, which walks tiles, and its lane in each channel."""
