"""A bar passes exactly when the median of its subject reaches it."""
import unittest

import harness_path  # noqa: F401
from harness.bars import judge, wording
from harness.model import Bar, Value


def value(median):
    return Value(median, median, median)


class Bars(unittest.TestCase):
    def test_times_faster_is_the_peers_time_over_the_subjects(self):
        bar = Bar("times_faster", 150, "libgomp")
        self.assertEqual(judge(bar, {"comity": value(2), "libgomp": value(300)}), ("PASS", 150))
        self.assertEqual(judge(bar, {"comity": value(2), "libgomp": value(299)}), ("MISS", 149.5))

    def test_ratio_at_most_is_the_subjects_time_over_the_peers(self):
        bar = Bar("ratio_at_most", 1.5, "libgomp-default")
        self.assertEqual(judge(bar, {"comity": value(3), "libgomp-default": value(2)}), ("PASS", 1.5))
        self.assertEqual(judge(bar, {"comity": value(3.5), "libgomp-default": value(2)}), ("MISS", 1.75))

    def test_added_at_most_is_a_difference(self):
        bar = Bar("added_at_most", 5, "plain")
        self.assertEqual(judge(bar, {"comity": value(6), "plain": value(1)}), ("PASS", 5))
        self.assertEqual(judge(bar, {"comity": value(7), "plain": value(1)})[0], "MISS")

    def test_share_at_most_is_a_part_of_the_peers(self):
        bar = Bar("share_at_most", 0.1, "comity-fifo-8", who="comity-8")
        self.assertEqual(judge(bar, {"comity-8": value(40), "comity-fifo-8": value(400)}), ("PASS", 0.1))
        self.assertEqual(judge(bar, {"comity-8": value(60), "comity-fifo-8": value(400)})[0], "MISS")

    def test_beside_half_more_is_what_each_of_eight_workers_adds(self):
        bar = Bar("beside_half_more", 2, "serial", who="comity-8")
        self.assertEqual(judge(bar, {"comity-8": value(46), "serial": value(20)}), ("PASS", 2))
        self.assertEqual(judge(bar, {"comity-8": value(54), "serial": value(20)}), ("MISS", 3))

    def test_at_most_needs_no_peer(self):
        self.assertEqual(judge(Bar("at_most", 3), {"comity": value(2.5)}), ("PASS", 2.5))
        self.assertEqual(judge(Bar("at_most", 3), {"comity": value(3.1)}), ("MISS", 3.1))

    def test_a_subject_without_a_value_misses(self):
        self.assertEqual(judge(Bar("at_most", 3), {}), ("MISS", None))
        self.assertEqual(judge(Bar("times_faster", 3, "libomp"), {"libomp": value(9)}), ("MISS", None))

    def test_an_absent_peer_leaves_the_bar_open(self):
        self.assertEqual(judge(Bar("times_faster", 3, "libomp"), {"comity": value(1)}), ("n/a", None))

    def test_the_wording_names_limit_peer_and_unit(self):
        self.assertEqual(wording(Bar("times_faster", 15, "libomp"), "µs"), "at least 15 times faster than libomp")
        self.assertEqual(wording(Bar("added_at_most", 5, "plain"), "ms", short=True), "≤ plain + 5 ms")


if __name__ == "__main__":
    unittest.main()
