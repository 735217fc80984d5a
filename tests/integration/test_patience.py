"""The limits of the tests themselves: they grow with the load of the machine, also while somebody waits."""
import queue
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import patience
from helpers import wait_until
from patience import BUSIEST, DEADLINE, Deadline, Moment, Slack, ample, load_factor


def busy(factor):
    return mock.patch.object(patience, "load_factor", lambda: factor)


class Patience(unittest.TestCase):
    def test_the_factor_is_bounded(self):
        for average, running, least, most in (("0.00", "1/99", 1, 1), ("1e6", "1/99", BUSIEST, BUSIEST), ("0.00", "99999/99999", BUSIEST, BUSIEST)):
            with mock.patch("builtins.open", mock.mock_open(read_data=f"{average} 0.00 0.00 {running} 4711\n")):
                self.assertTrue(least <= load_factor() <= most)
        self.assertTrue(1 <= load_factor() <= BUSIEST)

    def test_a_moment_moves_away_and_never_comes_nearer(self):
        with busy(1.0):
            end = time.monotonic() - 10 + Deadline(5)
            self.assertIsInstance(end, Moment)
            self.assertTrue(time.monotonic() > end)
            self.assertLess(end - time.monotonic(), 0)
        with busy(4.0):
            self.assertFalse(time.monotonic() > end)
            self.assertTrue(end > time.monotonic())
            self.assertGreater(end - time.monotonic(), 5)
        with busy(1.0):  # as busy as it was at its busiest
            self.assertFalse(time.monotonic() > end)

    def test_its_arithmetic(self):
        with busy(3.0):
            self.assertEqual((2 * Deadline(60)).seconds, 120)
            self.assertEqual((Deadline(60) + 5).seconds, 65)
            self.assertEqual(float(Deadline(60)), 180)
            self.assertEqual(f"{Deadline(60)} {DEADLINE}", "60 60")
            self.assertEqual(10 + Slack(0.5), 12.5)
            self.assertEqual(2 + 4 * Slack(0.5), 6)
            self.assertEqual((ample(60), ample(1000)), ("180s", "600s"))

    def test_programs_queues_and_conditions_are_waited_for_longer(self):
        """Half a second on an idle machine; it becomes busy meanwhile."""
        begun = time.monotonic()
        with mock.patch.object(patience, "load_factor", lambda: 1.0 if time.monotonic() - begun < 0.2 else BUSIEST):
            messages = queue.Queue()
            threading.Timer(1, messages.put, [True]).start()
            limit = Deadline(0.5)
            subprocess.run([sys.executable, "-c", "import time; time.sleep(1)"], timeout=limit, check=True)
            self.assertTrue(messages.get(timeout=limit))
            later = time.monotonic() + 1
            wait_until("a second has passed", lambda: time.monotonic() > later, limit)
        with busy(1.0):
            with self.assertRaises(subprocess.TimeoutExpired):
                subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=Deadline(0.2), check=True)
            with self.assertRaises(queue.Empty):
                queue.Queue().get(timeout=Deadline(0.1))
            with self.assertRaisesRegex(AssertionError, "not within 0.1 s on a machine as busy as 1.0: never"):
                wait_until("never", lambda: False, 0.1)


if __name__ == "__main__":
    unittest.main()
