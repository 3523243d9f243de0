"""DMA engine: walks tiles, reads them and sends them."""
