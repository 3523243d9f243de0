"""Activities of a program by number, as the compiled code counts them: a counter is an array with
an element for each activity. A program gives the numbers their names.
"""

__all__ = ["MOST_ACTIVITIES"]

MOST_ACTIVITIES = 8
