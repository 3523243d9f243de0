"""Blocks, placed and routed in the default library by the tools of qflow."""
