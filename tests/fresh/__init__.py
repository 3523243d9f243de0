"""Both commands of the README on systems that have only what the documentation asks for.

``make fresh`` makes minimal systems of Debian, clones the project there and runs the commands, and
runs them with each Python of this machine. `machine` reads the settings and interpreters of this
machine, `debian` makes a system, `trials` runs the commands, and `results` keeps and shows the
result.
"""
