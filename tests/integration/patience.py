"""How long tests wait: as long as the machine needs, and no test that is right ever waits in vain.

A limit that is right on an idle machine is wrong on one where a hundred processes want two processors. So limits are told for
an idle machine, and grow with the load, which is read again while somebody waits.
"""
import os

BUSIEST = 20  # no machine is so busy that a test waits longer than so many times
SLOW = float(os.environ.get("NACRE_TEST_SLOW") or 1)  # how much slower than a usual machine this one is: an emulated one


def load_factor():
    """How many processes want each processor of this machine, from 1 to BUSIEST: so much longer everything may take."""
    with open("/proc/loadavg", encoding="ascii") as file:
        words = file.read().split()
    # The average of a minute, or what wants to run in this very moment, if that is more.
    wanted = max(float(words[0]), int(words[3].split("/")[0]) - 1)
    return max(SLOW, 1.0, min(wanted / len(os.sched_getaffinity(0)), BUSIEST))


class Deadline(float):
    """Seconds that no event of a healthy nacre takes on an idle machine. Added to a clock they are a moment that moves
    away while the machine is busy, so subprocess, queue and wait_until() look at its load again and again. Whoever
    takes it for a number (a socket, a thread) gets as much as the load said when it was made."""

    def __new__(cls, seconds):
        self = super().__new__(cls, seconds * load_factor())
        self.seconds = seconds
        return self

    def __mul__(self, count):
        return Deadline(self.seconds * count)

    __rmul__ = __mul__

    def __add__(self, seconds):
        return Deadline(self.seconds + seconds)

    def __radd__(self, clock):
        return Moment(clock, self.seconds)

    def __str__(self):
        return f"{self.seconds:g}"

    def __format__(self, spec):
        return format(str(self), spec)


class Moment(float):
    """A point of time.monotonic(), SECONDS on an idle machine behind BEGAN. It never comes nearer."""

    def __new__(cls, began, seconds):
        self = super().__new__(cls, began + seconds)
        self.began, self.seconds, self.factor = began, seconds, 1.0
        return self

    def now(self):
        self.factor = max(self.factor, load_factor())
        return self.began + self.seconds * self.factor

    def __sub__(self, clock):
        rest = Rest(self.now() - clock)
        rest.end = self
        return rest

    def __gt__(self, clock):
        return float(self) > clock or self.now() > clock  # what is not late on an idle machine is not late at all

    def __lt__(self, clock):
        return not self > clock

    __ge__, __le__ = __gt__, __lt__

    def __float__(self):
        return self.began + self.seconds


class Rest(float):
    """What is left until a moment; added to the clock again it is that moment."""

    def __radd__(self, clock):
        return self.end


class Slack(float):
    """What a bound on time allows beside the times that were asked for: `10 + SLACK` is that sum now."""

    def now(self):
        return float.__add__(self, load_factor() - 1)

    def __radd__(self, seconds):
        return seconds + self.now()

    def __rmul__(self, count):
        return Slack(count * float(self))


def ample(seconds):
    """A time limit for nacre that is not to strike, as its options and profiles want it: 600 s at the most."""
    return f"{int(min(600, seconds * load_factor()))}s"


DEADLINE = Deadline(60)
