"""Tracker: the front, the banks with their tables, and the merge of completions."""
