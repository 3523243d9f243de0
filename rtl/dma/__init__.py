"""The DMA engine: walks tiles, reads them and sends them on."""
