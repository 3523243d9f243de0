"""Parts that several blocks are made of."""
