"""Model of a memory's scrubber: its reads and writes, as documented with its ports."""

__all__ = ["Walk"]


class Walk:
    """Model of the scrubber: a step reads a row, checks it in the next cycle, and corrects it in
    the cycle after that.

    Parameters
    ----------
    rows : list of tuple
        Word and number of bit errors of each row, which the traffic changes, too.

    Attributes
    ----------
    row : int
        Next row to scrub.
    rounds : int
        Completed passes over all rows.
    """

    def __init__(self, rows: list[tuple[int, int]]):
        self._rows = rows
        self.row = self.rounds = 0
        self._due = False
        # The row's word and bit errors as read, for the check and for the correction.
        self._looks: tuple[int, int] | None = None
        self._corrects: tuple[int, int] | None = None
        self._disturbed = False  # the traffic wrote in the cycle in which the step read

    def step(self, reads: bool, writes: bool, *, due: bool) -> tuple[bool, bool]:
        """Advance by one cycle with these accesses of the traffic; ``due`` makes another step due.

        Returns
        -------
        tuple of bool
            The scrubber reads a row; it writes one.
        """
        looks, corrects = self._looks, self._corrects
        self._looks = self._corrects = None
        gets = self._due and not (reads or looks or corrects)
        before = self._rows[self.row]
        corrected = corrects is not None and not writes
        if corrected:
            self._rows[self.row] = corrects[0], 0
        elif looks is not None and not (writes or self._disturbed):
            if looks[1] == 1:
                self._corrects = looks
            else:
                self._pass_on()
        if gets:
            self._looks, self._disturbed = before, writes
        self._due = due or (self._due and not gets)
        return gets, corrected

    def _pass_on(self) -> None:
        self.row = (self.row + 1) % len(self._rows)
        self.rounds += not self.row
