"""Placement and routing of blocks in the default library, by the tools of qflow."""
