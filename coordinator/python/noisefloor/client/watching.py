"""Watching over breaks: where to go on, how long to pause and when to give up. Both clients use it;
nothing here waits or calls."""

from __future__ import annotations

import dataclasses
import random
import time
from typing import Any

from noisefloor.client import values
from noisefloor.client.errors import NoCoordinator, NoisefloorError, Refused
from noisefloor.client.values import Change, MemberChange
from noisefloor.v1 import coordinator_api_pb2 as api, sweep_pb2

PATIENCE = 240.0  # Seconds without an answer until a watch is given up.


class _Watching:
    """Until when, and how often it was broken since the last word."""
    method = ""

    def __init__(self, seconds: float | None, patience: float) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self._patience = patience
        self._silent_since: float | None = None
        self._pause = 0.1
        self.ended = False

    def seconds_left(self) -> float | None:
        """For the next call; TimeoutError: none."""
        if self._until is None:
            return None
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("it has not ended in time")
        return left

    def _heard(self) -> None:
        self._silent_since = None
        self._pause = 0.1

    def broken(self, error: NoisefloorError | None) -> float:
        """The stream has ended: seconds to pause before the next one. Raises what is final."""
        passes = error is None or isinstance(error, NoCoordinator) or (
            isinstance(error, Refused) and error.code in ("RESOURCE_EXHAUSTED", "CANCELLED"))
        self.seconds_left()
        now = time.monotonic()
        if self._silent_since is None:
            self._silent_since = now
        if error is not None and (not passes or now - self._silent_since > self._patience):
            raise error
        pause = self._pause * random.uniform(0.5, 1.5)
        self._pause = min(2 * self._pause, 10.0)
        return pause


class SweepWatching(_Watching):
    """Of a sweep, from an event on."""
    method = "WatchSweep"

    def __init__(self, sweep: int, token: int, seconds: float | None, patience: float) -> None:
        super().__init__(seconds, patience)
        self._sweep = sweep
        self._token = token
        self._given: sweep_pb2.Sweep | None = None

    def request(self) -> Any:
        return api.WatchSweepRequest(sweep_id=self._sweep, resume_token=self._token)

    def heard(self, message: api.WatchSweepResponse) -> Change:
        self._heard()
        self._token = message.resume_token or self._token
        if message.sweep.HasField("sweep"):
            self._given = message.sweep.sweep
        info = values.sweep(message.sweep, self._given)
        self.ended = info.ended
        return Change(self._token, info, tuple(values.event(one) for one in message.events),
                      tuple(message.lines), message.storage_problem)


class MemberWatching(_Watching):
    """Of a member, from its first value on. The values of a step may come in two messages: after a
    break the next watch begins with the last step that was heard, and tells nothing twice."""
    method = "WatchMember"

    def __init__(self, member: str, seconds: float | None, patience: float) -> None:
        super().__init__(seconds, patience)
        self._member = member
        self._lease = 0
        self._last_step = -1
        self._heard_of_step = 0  # Values of the last step,
        self._coming_again = 0   # and how many of them a watch after a break tells once more.
        self._events: set[tuple[int, int]] = set()  # Lease and kind.
        self._is_final = False   # Its state.

    def request(self) -> Any:
        return api.WatchMemberRequest(member=self._member, lease=self._lease,
                                      after_step=self._last_step - 1)

    def heard(self, message: api.WatchMemberResponse) -> MemberChange:
        self._heard()
        if message.lease != self._lease:
            self._lease, self._last_step = message.lease, -1
            self._heard_of_step = self._coming_again = 0
        change = values.member_change(message)
        change = dataclasses.replace(
            change, values=tuple(one for one in change.values if self._is_new(one[0])),
            events=tuple(new for new, one in zip(change.events, message.events)
                         if self._is_new_event(one)))
        self._is_final = change.state not in ("waiting", "leased")
        self.ended = self._is_final and self._has_told_all()
        return change

    def broken(self, error: NoisefloorError | None) -> float:
        self._coming_again = self._heard_of_step
        self.ended = error is None and self._is_final
        return 0.0 if self.ended else super().broken(error)

    def _is_new(self, step: int) -> bool:
        if step != self._last_step:
            self._last_step = step
            self._heard_of_step = self._coming_again = 0
        if self._coming_again > 0:
            self._coming_again -= 1
            return False
        self._heard_of_step += 1
        return True

    def _is_new_event(self, event: api.Event) -> bool:
        key = (event.lease, event.kind)
        if key in self._events:
            return False
        self._events.add(key)
        return True

    def _has_told_all(self) -> bool:
        """How an attempt ended is told after all that it measured, which may take many messages."""
        return self._lease == 0 or any(lease == self._lease and kind != api.EVENT_KIND_LEASED
                                       for lease, kind in self._events)
