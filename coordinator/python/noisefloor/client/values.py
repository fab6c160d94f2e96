"""What calls answer, as frozen values. Times are aware, in UTC; durations are seconds."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence, Union

from noisefloor.v1 import (access_pb2, common_pb2, coordinator_api_pb2 as api, member_pb2,
                           record_pb2, sweep_pb2)

Value = Union[bool, int, float, str, Sequence[int]]  # Of one setting.


@dataclass(frozen=True)
class Version:
    """Who answers."""
    version: str
    home: str
    time: datetime.datetime  # Its clock.
    epoch: int               # How often its data were restored from a backup.


@dataclass(frozen=True)
class Identity:
    """Whom the coordinator takes the caller for."""
    name: str
    role: str      # "reader", "submitter", "worker", "admin", "any".
    proved: bool   # By a token.


@dataclass(frozen=True)
class Submitted:
    """A sweep that is kept."""
    sweep: int
    members: int
    resumed: bool                # It was there already.
    hardware: tuple[str, ...]    # Classes of its cells; "" is any.


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a sweep that is only looked at."""
    cell: int
    axes: Mapping[str, Value]
    plan: str
    hardware: str
    stack: str
    block: int
    replicates: int
    workers: tuple[str, ...]  # Connected ones that could run it.


@dataclass(frozen=True)
class PlannedPlan:
    """What one noise plan comes to."""
    name: str
    replicates: int
    blocks: int
    cells: int
    members: int
    draws: int                          # Independent ones, of each setting, class and stack.
    control: bool
    detectable_sd_ratio: float | None   # 80 % power at 5 %; None: none up to 100.
    detectable_mean_shift: float | None  # In standard deviations.


@dataclass(frozen=True)
class Plan:
    """What a sweep would do."""
    cells: tuple[PlannedCell, ...]
    plans: tuple[PlannedPlan, ...]
    members: int
    steps: int
    expected_seconds: float | None
    expected_from: str
    specification_sha256: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Counts:
    """Members by state."""
    waiting: int
    leased: int
    done: int
    diverged: int
    failed: int
    cancelled: int

    @property
    def members(self) -> int:
        return self.ended + self.waiting + self.leased

    @property
    def ended(self) -> int:
        return self.done + self.diverged + self.failed + self.cancelled


@dataclass(frozen=True)
class SweepInfo:
    """A sweep with its counts."""
    sweep: int
    name: str
    kind: str                  # "train", "replay", "infer", "measure".
    of: str                    # Of a replay, the member; of "infer" the sweep.
    owner: str
    submitted: datetime.datetime
    cells: int
    counts: Counts
    retries: int
    progress: float            # Share of all steps done, 0 to 1.
    paused: bool
    archived: bool
    priority: int
    weight: int
    gpu_hours: float           # That it may use; 0: no bound.
    gpu_hours_used: float
    hardware: tuple[str, ...]
    undecided: bool            # How many replicates it takes is for its `until` to decide yet.
    specification_sha256: str
    mean_member_seconds: float | None
    expected_seconds_left: float | None
    notes: str                 # This and tags: of get_sweep, and of sweeps(full=True).
    tags: Mapping[str, str]
    file: str                  # The sweep file; of get_sweep alone.
    resolved_file: str         # With every default; of get_sweep alone.

    @property
    def ended(self) -> bool:
        return self.counts.ended == self.counts.members and not self.undecided


@dataclass(frozen=True)
class Artifact:
    """A file that a member has left."""
    kind: str     # "predictions", "weights", "log", ...
    path: str     # The trainer's own name of it.
    sha256: str
    size: int
    collected: datetime.datetime | None  # When it was removed to make room.


@dataclass(frozen=True)
class Outcome:
    """How a member ended. What only get_member and full lists have is empty in others."""
    metrics: Mapping[str, float]  # "loss", "top1", "top5"; may be not finite.
    train_seconds: float
    cause: str                    # Of a failure: "out_of_memory".
    message: str
    hashes: Mapping[str, str]
    per_class_accuracy: tuple[float, ...]
    environment: Mapping[str, Any]
    data_identity: str
    artifacts: tuple[Artifact, ...]


@dataclass(frozen=True)
class Event:
    """One thing that happened to a member or a sweep."""
    number: int
    time: datetime.datetime
    kind: str     # "leased", "done", "retried", "submitted", ...
    member: str   # Empty: of the whole sweep.
    attempt: int
    worker: str
    caller: str
    text: str


@dataclass(frozen=True)
class Member:
    """One training."""
    member: str   # "s3c12r4".
    sweep: int
    cell: int
    replicate: int
    block: int
    plan: str
    hardware: str
    stack: str
    axes: Mapping[str, Value]
    state: str    # "waiting", "leased", "done", "diverged", "failed", "cancelled".
    attempt: int
    worker: str
    step: int
    steps: int | None
    outcome: Outcome | None
    specification: Mapping[str, Any]  # Of get_member and full lists; this and `lanes`.
    lanes: Mapping[str, int]          # By source that acts; 0: the one that is fixed.
    events: tuple[Event, ...]         # Of get_member.


@dataclass(frozen=True)
class Worker:
    """A worker, connected or not."""
    name: str
    connected: bool
    draining: bool
    running: tuple[str, ...]
    seen: datetime.datetime
    version: str
    hardware: tuple[str, ...]
    stacks: tuple[str, ...]
    slots: int
    devices: tuple[str, ...]          # Units.
    paused: Mapping[str, str]         # Why, by unit.
    withheld: tuple[str, ...]         # What it has and does not offer, in words.


@dataclass(frozen=True)
class Setting:
    """A setting that the trainers of a stack have."""
    path: str
    kind: str                 # "boolean", "integer", "number", "choice", "text", "integer_list".
    help: str
    least: float | None
    most: float | None
    choices: tuple[str, ...]
    otherwise: Value | None   # What a sweep gets that does not state it.


@dataclass(frozen=True)
class Extended:
    """What was added, or would be."""
    sweep: SweepInfo
    members: int
    cells: int


@dataclass(frozen=True)
class Change:
    """Something that changed in a sweep."""
    token: int                # A later watch may go on from here.
    sweep: SweepInfo
    events: tuple[Event, ...]
    lines: tuple[str, ...]    # The same in words.
    storage_problem: str      # Why nothing can be kept at present.


@dataclass(frozen=True)
class MemberChange:
    """What a member measured, or what happened to it."""
    state: str
    attempt: int
    lease: int
    step: int
    steps: int | None
    values: tuple[tuple[int, str, float], ...]  # Step, name, value; may be not finite.
    events: tuple[Event, ...]


# From messages.

_UTC = datetime.timezone.utc


def _time(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, _UTC)


def _word(enum: Any, prefix: str, number: int) -> str:
    """`MEMBER_STATE_DONE` as "done"; of a newer coordinator the number."""
    try:
        name: str = enum.Name(number)
    except ValueError:
        return str(number)
    return name.removeprefix(prefix).lower()


def state(number: int) -> str:
    return _word(common_pb2.MemberState, "MEMBER_STATE_", number)


def value(message: common_pb2.Value) -> Value | None:
    kind = message.WhichOneof("kind")
    if kind is None:
        return None
    return tuple(message.list.values) if kind == "list" else getattr(message, kind)


def settings(messages: Iterable[common_pb2.Setting]) -> dict[str, Value]:
    return {one.path: found for one in messages if (found := value(one.value)) is not None}


def to_value(given: Value) -> common_pb2.Value:
    if isinstance(given, bool):
        return common_pb2.Value(boolean=given)
    if isinstance(given, int):
        return common_pb2.Value(integer=given)
    if isinstance(given, float):
        return common_pb2.Value(number=given)
    if isinstance(given, str):
        return common_pb2.Value(text=given)
    return common_pb2.Value(list=common_pb2.IntList(values=list(given)))


def version(message: api.GetVersionResponse) -> Version:
    return Version(message.version, message.home, _time(message.unix_micros / 1e6), message.epoch)


def role(number: int) -> str:
    return _word(access_pb2.Role, "ROLE_", number)


def plan(message: api.PlanSweepResponse) -> Plan:
    return Plan(
        cells=tuple(PlannedCell(one.cell, settings(one.axes), one.plan, one.hardware, one.stack,
                                one.block, one.replicates, tuple(one.workers))
                    for one in message.cells),
        plans=tuple(PlannedPlan(one.name, one.replicates, one.blocks, one.cells, one.members,
                                one.draws, one.control, one.detectable_sd_ratio or None,
                                one.detectable_mean_shift or None) for one in message.plans),
        members=message.members, steps=message.steps,
        expected_seconds=message.expected_seconds or None, expected_from=message.expected_from,
        specification_sha256=message.specification_sha256, warnings=tuple(message.warnings))


def sweep(message: api.SweepSummary, given: sweep_pb2.Sweep | None = None, file: str = "",
          resolved_file: str = "") -> SweepInfo:
    """`given`: what was submitted, where the message does not have it."""
    counts = Counts(message.waiting, message.leased, message.done, message.diverged,
                    message.failed, message.cancelled)
    submitted = message.sweep if message.HasField("sweep") or given is None else given
    return SweepInfo(
        sweep=message.id, name=message.name, kind=message.kind, of=message.of, owner=message.owner,
        submitted=_time(message.submitted_unix_seconds), cells=message.cells, counts=counts,
        retries=message.retries, progress=message.progress / max(1, counts.members),
        paused=message.paused, archived=message.archived, priority=message.priority,
        weight=message.weight, gpu_hours=message.gpu_hours,
        gpu_hours_used=message.gpu_hours_used, hardware=tuple(message.hardware),
        undecided=message.undecided, specification_sha256=message.specification_sha256,
        mean_member_seconds=message.mean_member_seconds or None,
        expected_seconds_left=message.expected_seconds_left or None, notes=submitted.notes,
        tags=dict(submitted.tags), file=file, resolved_file=resolved_file)


def _outcome(message: record_pb2.Outcome) -> Outcome:
    return Outcome(
        metrics=dict(sorted(message.metrics.items())), train_seconds=message.train_seconds,
        cause=message.cause, message=message.message, hashes=dict(sorted(message.hashes.items())),
        per_class_accuracy=tuple(message.per_class_accuracy),
        environment=json.loads(message.environment) if message.environment else {},
        data_identity=message.data_identity,
        artifacts=tuple(Artifact(one.kind, one.path, one.sha256, one.size,
                                 _time(one.collected_unix_seconds)
                                 if one.collected_unix_seconds else None)
                        for one in message.artifacts))


def event(message: api.Event) -> Event:
    return Event(message.number, _time(message.unix_micros / 1e6),
                 _word(api.EventKind, "EVENT_KIND_", message.kind), message.member,
                 message.attempt, message.worker, message.caller, message.text)


def member(message: member_pb2.Member, events: Iterable[api.Event] = ()) -> Member:
    off = common_pb2.SOURCE_STATE_OFF
    return Member(
        member=message.id, sweep=message.sweep, cell=message.cell, replicate=message.replicate,
        block=message.block, plan=message.plan, hardware=message.hardware, stack=message.stack,
        axes=settings(message.axes), state=state(message.state), attempt=message.attempt,
        worker=message.worker, step=message.step, steps=message.step_count or None,
        outcome=_outcome(message.outcome) if message.HasField("outcome") else None,
        specification=json.loads(message.specification) if message.specification else {},
        lanes={name: lane.lane for name, lane in sorted(message.sources.items())
               if lane.state != off},
        events=tuple(event(one) for one in events))


def worker(message: api.WorkerSummary) -> Worker:
    has = message.inventory
    return Worker(
        name=message.name, connected=message.connected, draining=message.draining,
        running=tuple(message.running), seen=_time(message.seen_unix_seconds),
        version=message.version,
        hardware=tuple(dict.fromkeys(one.hardware_class for one in has.offers)),
        stacks=tuple(dict.fromkeys(one.stack for one in has.offers)), slots=len(has.slots),
        devices=tuple(one.unit for one in has.devices),
        paused={one.unit: one.reason for one in message.paused},
        withheld=tuple(f"{one.what}: {one.reason}" for one in has.withheld))


def setting(message: api.SettingDescription) -> Setting:
    kind = _word(api.SettingKind, "SETTING_KIND_", message.kind)
    limited = kind in ("integer", "number", "integer_list")
    return Setting(message.path, kind, message.help, message.least if limited else None,
                   message.most if limited or kind == "text" else None, tuple(message.choices),
                   value(message.otherwise) if message.HasField("otherwise") else None)


def member_change(message: api.WatchMemberResponse) -> MemberChange:
    return MemberChange(
        state=state(message.state), attempt=message.attempt, lease=message.lease,
        step=message.step, steps=message.steps or None,
        values=tuple((one.step, one.name, one.value) for one in message.values),
        events=tuple(event(one) for one in message.events))
