"""The T3 hardware: tracking, triggering, DMA, arbitration and near-memory reduction."""

import warnings

# Blocks are also made to look at their ports or parameters, without being elaborated.
warnings.filterwarnings("ignore", message=".* created but never used")
