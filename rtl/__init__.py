"""T3 hardware: tracking, triggering, DMA, arbitration and near-memory reduction."""

import warnings

# Blocks are also made to inspect their ports or parameters, without being elaborated.
warnings.filterwarnings("ignore", message=".* created but never used")
