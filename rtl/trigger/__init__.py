"""Trigger unit and flow control: actions that a complete tile triggers."""
