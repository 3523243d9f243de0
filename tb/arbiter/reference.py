"""What the arbiter does, one cycle at a time, in plain Python."""

from dataclasses import dataclass, field

from rtl.interface.encodings import Policy

__all__ = ["Reference"]


@dataclass
class Reference:
    """The arbiter. The compute stream is ``"c"``, the communication stream ``"m"``."""

    last: str = "m"
    starved: int = 0
    level: int = 127
    samples: int | None = None  # of the measurement that is under way
    total: int = 0
    # What the measurement has yet to hand on: the samples, then their average.
    steps: dict = field(default_factory=dict)

    def cycle(
        self, config: dict, c: bool, m: bool, ready: bool, occupancy: int, start: bool
    ) -> str | None:
        """The stream that is offered in this cycle, or None.

        Parameters
        ----------
        config : dict
            Fields of ``ArbiterConfiguration``.
        c, m : bool
            Whether the streams have a request.
        ready : bool
            Whether the queue takes it.
        occupancy : int
        start : bool
            Begin the measurement.
        """
        threshold = self.level if config["automatic"] else config["threshold"]
        passes = threshold == 127 or occupancy < threshold
        if config["policy"] == Policy.ROUND_ROBIN:
            order = "mc" if self.last == "c" else "cm"
        elif config["policy"] == Policy.COMPUTE_FIRST:
            order = "cm"
        elif self.starved >= config["starvation_limit"]:
            order = "mc"
        else:
            order = "cm" if passes else "c"
        winner = next((name for name in order if (c if name == "c" else m)), None)

        if ready and winner:
            self.last = winner
        served = ready and winner == "m"
        self.starved = 0 if served or not m else min(self.starved + 1, 65535)
        average = self.steps.pop("average", None)
        if average is not None:
            picks = zip(config["cuts"], config["levels"], strict=True)
            self.level = ([127] + [level for cut, level in picks if average >= cut])[-1]
        total = self.steps.pop("total", None)
        if total is not None:
            # A shift: `measure_log2` may have changed since the last sample.
            self.steps["average"] = total >> config["measure_log2"] & 127
        if start:
            self.samples, self.total, self.level, self.steps = 0, 0, 127, {}
        elif self.samples is not None:
            self.samples += 1
            self.total += occupancy
            if self.samples == 2 ** config["measure_log2"]:
                self.steps["total"], self.samples = self.total, None
        return winner

    def preset(self, samples: int, total: int) -> None:
        """Go on as if so many samples with this sum had been taken."""
        self.samples, self.total = samples, total
