"""Where watches go on after breaks, and when they give up, without a coordinator."""

import unittest
from unittest import mock

from noisefloor.client.errors import NoCoordinator, Refused
from noisefloor.client.watching import MemberWatching, SweepWatching
from noisefloor.v1 import common_pb2, coordinator_api_pb2 as api, sweep_pb2

BROKEN = NoCoordinator("coordinator box:7077: gone")
BUSY = Refused("RESOURCE_EXHAUSTED", "", "too many reads are waiting at once", {})


def news(lease: int, *values: tuple[int, str, float], state: str = "LEASED",
         events: tuple[tuple[int, str], ...] = ()) -> api.WatchMemberResponse:
    """`events`: lease and kind."""
    return api.WatchMemberResponse(
        state=common_pb2.MemberState.Value("MEMBER_STATE_" + state), lease=lease,
        values=[api.RecordedValue(step=step, name=name, value=value)
                for step, name, value in values],
        events=[api.Event(lease=of, kind=api.EventKind.Value("EVENT_KIND_" + kind))
                for of, kind in events])


class Members(unittest.TestCase):
    def setUp(self) -> None:
        self.watching = MemberWatching("s1c0r0", None, 240.0)

    def asked(self) -> tuple[int, int]:
        request = self.watching.request()
        self.assertEqual(request.member, "s1c0r0")
        return request.lease, request.after_step

    def test_a_step_that_a_break_cuts_in_two_is_told_once_and_whole(self) -> None:
        self.watching.heard(news(3, (1, "loss", 2.5), (2, "loss", 2.0)))
        self.watching.broken(BROKEN)
        self.assertEqual(self.asked(), (3, 1))
        change = self.watching.heard(news(3, (2, "loss", 2.0), (2, "top1", 0.5), (3, "loss", 1.5)))
        self.assertEqual(change.values, ((2, "top1", 0.5), (3, "loss", 1.5)))
        self.assertEqual(self.asked(), (3, 2))

    def test_breaks_may_follow_each_other_within_a_step(self) -> None:
        self.watching.heard(news(3, (2, "loss", 2.0), (2, "top1", 0.5)))
        self.watching.broken(BROKEN)
        self.assertEqual(self.watching.heard(news(3, (2, "loss", 2.0))).values, ())
        self.watching.broken(BUSY)
        self.assertEqual(self.asked(), (3, 1))
        change = self.watching.heard(
            news(3, (2, "loss", 2.0), (2, "top1", 0.5), (2, "top5", 0.75)))
        self.assertEqual(change.values, ((2, "top5", 0.75),))

    def test_without_a_break_a_script_may_record_a_name_twice_at_a_step(self) -> None:
        first, second = (2, "loss", 2.0), (2, "loss", 1.75)
        self.assertEqual(self.watching.heard(news(3, first, second)).values, (first, second))
        self.watching.broken(BROKEN)
        third = (2, "loss", 1.5)
        self.assertEqual(self.watching.heard(news(3, first, second, third)).values, (third,))

    def test_another_attempt_is_told_from_its_first_step(self) -> None:
        self.watching.heard(news(3, (1, "loss", 2.5), (2, "loss", 2.0)))
        self.assertEqual(self.watching.heard(news(4)).lease, 4)
        self.watching.broken(BROKEN)
        lease, after_step = self.asked()
        self.assertEqual(lease, 4)
        self.assertLess(after_step, 0, "a script may record before its first step")
        again = ((0, "loss", 2.5), (2, "loss", 2.0))
        self.assertEqual(self.watching.heard(news(4, *again)).values, again)

    def test_the_same_step_of_another_attempt_is_another_one(self) -> None:
        self.watching.heard(news(3, (1, "loss", 2.5)))
        self.watching.broken(BROKEN)
        self.assertEqual(self.watching.heard(news(4, (1, "loss", 2.5))).values, ((1, "loss", 2.5),))

    def test_an_event_that_comes_again_is_told_once(self) -> None:
        first = self.watching.heard(news(3, events=((3, "LEASED"), (3, "RETRIED"))))
        self.assertEqual([one.kind for one in first.events], ["leased", "retried"])
        self.watching.broken(BROKEN)
        change = self.watching.heard(news(4, events=((3, "RETRIED"), (4, "LEASED"))))
        self.assertEqual([one.kind for one in change.events], ["leased"])

    def test_it_ends_with_its_member(self) -> None:
        self.watching.heard(news(3, (1, "loss", 2.5), events=((3, "LEASED"),)))
        self.assertFalse(self.watching.ended)
        self.watching.heard(news(3, state="DONE", events=((3, "DONE"),)))
        self.assertTrue(self.watching.ended)

    def test_what_was_never_tried_ends_too(self) -> None:
        self.watching.heard(news(0, state="CANCELLED"))
        self.assertTrue(self.watching.ended)

    def test_a_member_that_has_ended_may_have_more_to_tell(self) -> None:
        """A message holds no more than so many values, and how it ended comes after the last."""
        self.watching.heard(news(3, (1, "loss", 2.5), state="DONE", events=((3, "LEASED"),)))
        self.assertFalse(self.watching.ended)
        self.watching.broken(BROKEN)
        self.assertFalse(self.watching.ended)
        self.assertEqual(self.asked(), (3, 0))
        change = self.watching.heard(
            news(3, (1, "loss", 2.5), (2, "loss", 2.0), state="DONE", events=((3, "DONE"),)))
        self.assertEqual(change.values, ((2, "loss", 2.0),))
        self.assertTrue(self.watching.ended)

    def test_a_coordinator_that_says_no_more_of_it_ends_it(self) -> None:
        self.watching.heard(news(3, state="CANCELLED"))
        self.watching.broken(None)
        self.assertTrue(self.watching.ended)


class Sweeps(unittest.TestCase):
    def setUp(self) -> None:
        clock = mock.patch("time.monotonic")
        self.now = clock.start()
        self.addCleanup(clock.stop)
        self.now.return_value = 1000.0
        self.watching = SweepWatching(7, 40, None, 240.0)

    def message(self, token: int, **sweep: int) -> api.WatchSweepResponse:
        return api.WatchSweepResponse(resume_token=token, sweep=api.SweepSummary(id=7, **sweep))

    def test_it_goes_on_from_the_last_event(self) -> None:
        asked = api.WatchSweepRequest(sweep_id=7, resume_token=40)
        self.assertEqual(self.watching.request(), asked)
        self.assertEqual(self.watching.heard(self.message(55, waiting=1)).token, 55)
        self.watching.broken(BROKEN)
        asked.resume_token = 55
        self.assertEqual(self.watching.request(), asked)

    def test_what_was_submitted_is_kept_from_the_message_that_has_it(self) -> None:
        whole = self.message(55, waiting=1)
        whole.sweep.sweep.CopyFrom(sweep_pb2.Sweep(notes="mine"))
        self.watching.heard(whole)
        self.assertEqual(self.watching.heard(self.message(56, leased=1)).sweep.notes, "mine")
        self.assertFalse(self.watching.ended)
        self.watching.heard(self.message(57, done=1))
        self.assertTrue(self.watching.ended)

    def test_patience_is_for_each_silence(self) -> None:
        self.watching.broken(BROKEN)
        self.now.return_value = 1239.0
        self.watching.broken(BROKEN)
        self.watching.heard(self.message(55, waiting=1))
        self.now.return_value = 9000.0  # It was well for hours.
        self.watching.broken(BROKEN)
        self.now.return_value = 9239.0
        self.watching.broken(BUSY)
        self.now.return_value = 9241.0
        with self.assertRaises(NoCoordinator):
            self.watching.broken(BROKEN)

    def test_pauses_grow_until_it_is_heard_again(self) -> None:
        with mock.patch("random.uniform", return_value=1.0):
            pauses = [self.watching.broken(BROKEN) for _ in range(9)]
            self.assertEqual(pauses, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0])
            self.watching.heard(self.message(55, waiting=1))
            self.assertEqual(self.watching.broken(BROKEN), 0.1)

    def test_what_is_final_is_raised_at_once(self) -> None:
        with self.assertRaisesRegex(Refused, "no such sweep"):
            self.watching.broken(Refused("NOT_FOUND", "SWEEP_NOT_FOUND", "no such sweep", {}))
        self.watching.broken(BUSY)
        self.watching.broken(Refused("CANCELLED", "", "the stream was cancelled", {}))
        self.watching.broken(None)

    def test_its_time_may_end_before_the_sweep(self) -> None:
        watching = SweepWatching(7, 0, 30.0, 240.0)
        self.assertEqual(watching.seconds_left(), 30.0)
        self.now.return_value = 1030.0
        for left in (watching.seconds_left, lambda: watching.broken(None)):
            with self.assertRaises(TimeoutError):
                left()


if __name__ == "__main__":
    unittest.main()
