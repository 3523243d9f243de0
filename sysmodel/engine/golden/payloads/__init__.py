"""Payloads: the records that blocks pass to each other, and the functions that make them.

The fields of a record are those of the hardware's layout of the same name.

===================  ==============================================================================
:mod:`.layouts`      the records
:mod:`.data`         data of an atom
:mod:`.markers`      content of an end-of-tile marker
:mod:`.accesses`     reads, located and classified stores, DRAM requests
:mod:`.packets`      packets from and for the link
:mod:`.tiles`        issue acknowledgements, updates, markers and completions
:mod:`.commands`     ready commands, copies, segments
:mod:`.tables`       regions, ranges, commands and peers of a context; launches
===================  ==============================================================================
"""
