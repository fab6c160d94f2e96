"""What can be asked, once for both clients: what a method takes becomes a request, what comes back
a value. Nothing here calls anything."""

from __future__ import annotations

import json
import os
import re
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Generic, Iterable, Mapping, Sequence, TypeVar, Union

from noisefloor.client import arrays, values
from noisefloor.client.values import (Extended, Identity, Member, Plan, Setting, Submitted,
                                      SweepInfo, Value, Version, Worker)
from noisefloor.v1 import access_api_pb2, common_pb2, coordinator_api_pb2 as api

T = TypeVar("T")

# A sweep: the path of a sweep file, or what such a file holds.
Source = Union[str, os.PathLike[str], Mapping[str, Any]]
# Which sweep: its number, "s3", or what submit answered; 0: the newest.
Which = Union[int, str, Submitted, SweepInfo]


@dataclass(frozen=True)
class Call(Generic[T]):
    """One question: `read` makes the answer of its message; of a stream, of all its messages."""
    method: str
    request: Any
    read: Callable[[Any], T]
    service: str = "CoordinatorService"
    stream: bool = False
    seconds: float = 120.0  # How long an answer may take; of a stream, all of it.


@dataclass(frozen=True)
class Pages(Generic[T]):
    """Questions, one page after the other: `read` makes the values of a page."""
    method: str
    request: Any
    read: Callable[[Any], list[T]]


@dataclass(frozen=True)
class Selection:
    """Members of a sweep by what they are. What is empty asks nothing; of several any will do."""
    states: Sequence[str] = ()
    plans: Sequence[str] = ()
    hardware: Sequence[str] = ()
    stacks: Sequence[str] = ()
    cells: Sequence[int] = ()
    members: Sequence[str] = ()
    workers: Sequence[str] = ()
    axes: Mapping[str, Value] | None = None

    def message(self) -> api.MemberSelection:
        return api.MemberSelection(
            states=[_state(one) for one in self.states], plans=list(self.plans),
            hardware=list(self.hardware), stacks=list(self.stacks), cells=list(self.cells),
            members=list(self.members), workers=list(self.workers),
            axes=[common_pb2.Setting(path=path, value=values.to_value(given))
                  for path, given in (self.axes or {}).items()])


def _state(word: str) -> Any:
    name = f"MEMBER_STATE_{word.upper()}"
    if name not in common_pb2.MemberState.keys()[1:]:
        known = ", ".join(values.state(one) for one in common_pb2.MemberState.values()[1:])
        raise ValueError(f"{word!r} is no state of a member: {known}")
    return common_pb2.MemberState.Value(name)


def sweep_number(which: Which) -> int:
    if isinstance(which, (Submitted, SweepInfo)):
        return which.sweep
    if isinstance(which, str):
        match = re.fullmatch(r"s(\d+)", which)
        if match is None:
            raise ValueError(f"{which!r} is no sweep: a number, or 's3'")
        return int(match[1])
    return which


def sweep_text(source: Source) -> str:
    """The sweep file. JSON is YAML, so that a mapping is a file, too."""
    if isinstance(source, Mapping):
        return json.dumps(source, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with open(source, encoding="utf-8") as file:
        return file.read()


def _is_ok(_: Any) -> None:
    return None


def version() -> Call[Version]:
    """Who answers."""
    return Call("GetVersion", api.GetVersionRequest(), values.version)


def who_am_i() -> Call[Identity]:
    """Whom the coordinator takes the caller for."""
    return Call("WhoAmI", access_api_pb2.WhoAmIRequest(),
                lambda m: Identity(m.identity, values.role(m.role), m.proved), "AccessService")


def submit(source: Source, *, resume: bool = False, priority: int = 0, weight: int = 1,
           max_failures: int = 0, limits: Mapping[str, int] | None = None, gpu_hours: float = 0,
           request_id: str | None = None) -> Call[Submitted]:
    """Gives the coordinator a sweep to do. BadSweep has every mistake.

    `resume`: where the same sweep exists, that one. `priority` and `weight`: how it shares the
    fleet; `limits`: how many members at once, by hardware class; `max_failures`: after so many the
    rest is cancelled, 0: never; `gpu_hours`: after so many nothing more begins, 0: no bound.
    `request_id`: the same id is the same sweep, however often it is
    asked for; unless given a new one, under which lost answers are asked for again.
    """
    request = api.SubmitSweepRequest(
        file=sweep_text(source), resume=resume, priority=priority, weight=weight,
        max_failures=max_failures, limits=dict(limits or {}), gpu_hours=gpu_hours,
        request_id=request_id or f"python-{uuid.uuid4().hex}")
    return Call("SubmitSweep", request,
                lambda m: Submitted(m.sweep_id, m.members, m.resumed, tuple(m.hardware)))


def plan(source: Source) -> Call[Plan]:
    """What a sweep would do; nothing is kept."""
    return Call("PlanSweep", api.PlanSweepRequest(file=sweep_text(source)), values.plan)


def get_sweep(sweep: Which = 0) -> Call[SweepInfo]:
    """One sweep, with its file."""
    def read(m: api.GetSweepResponse) -> SweepInfo:
        return values.sweep(m.sweep, file=m.file, resolved_file=m.resolved_file)
    return Call("GetSweep", api.GetSweepRequest(sweep_id=sweep_number(sweep)), read)


def sweeps(*, archived: bool = False, full: bool = False) -> Pages[SweepInfo]:
    """All sweeps, newest first. `full`: with notes and tags."""
    view = api.SWEEP_VIEW_FULL if full else api.SWEEP_VIEW_BASIC
    return Pages("ListSweeps", api.ListSweepsRequest(page_size=1000, archived=archived, view=view),
                 lambda m: [values.sweep(one) for one in m.sweeps])


def members(sweep: Which = 0, selection: Selection | None = None, *, full: bool = False,
            order_by: str = "") -> Pages[Member]:
    """Members of a sweep, in order of cell and replicate unless `order_by` says "state", "attempt",
    "top1" or "worker", with " desc" after it the other way round. `full`: with lanes,
    specification, environment, hashes, accuracy of each class and artifacts."""
    request = api.ListMembersRequest(
        sweep_id=sweep_number(sweep), page_size=1000, order_by=order_by,
        view=api.MEMBER_VIEW_FULL if full else api.MEMBER_VIEW_BASIC,
        selection=selection.message() if selection else None)
    return Pages("ListMembers", request, lambda m: [values.member(one) for one in m.members])


def get_member(member: str) -> Call[Member]:
    """One member whole, with what has happened to it."""
    return Call("GetMember", api.GetMemberRequest(member=member),
                lambda m: values.member(m.member, m.events))


def workers() -> Call[list[Worker]]:
    """All workers, by name."""
    return Call("ListWorkers", api.ListWorkersRequest(),
                lambda m: [values.worker(one) for one in m.workers])


def settings(stack: str = "") -> Call[list[Setting]]:
    """What a sweep for the stack may set."""
    return Call("ListSettings", api.ListSettingsRequest(stack=stack),
                lambda m: [values.setting(one) for one in m.settings])


def explain_sweep(sweep: Which = 0) -> Call[str]:
    """Where a sweep stands, in sentences."""
    return Call("ExplainSweep", api.ExplainSweepRequest(sweep_id=sweep_number(sweep)),
                lambda m: str(m.text))


def explain_member(member: str) -> Call[str]:
    """Why a member is where it is."""
    return Call("ExplainMember", api.ExplainMemberRequest(member=member), lambda m: str(m.text))


def explain_worker(worker: str) -> Call[str]:
    """What a worker does, and what it is not given and why."""
    return Call("ExplainWorker", api.ExplainWorkerRequest(worker=worker), lambda m: str(m.text))


# Files and studies.

def _pieces(messages: Iterable[Any]) -> bytes:
    return b"".join(one.piece for one in messages)


def _study(sweep: Which, form: Any, read: Callable[[bytes], T]) -> Call[T]:
    request = api.GetStudyRequest(sweep_id=sweep_number(sweep), form=form)
    return Call("GetStudy", request, lambda pieces: read(_pieces(pieces)), stream=True,
                seconds=600.0)


def _json(data: bytes) -> dict[str, Any]:
    study: dict[str, Any] = json.loads(data)
    return study


def study(sweep: Which = 0) -> Call[dict[str, Any]]:
    """The study, every figure with interval, n and method: `study.json` of an export."""
    return _study(sweep, api.GetStudyRequest.FORM_JSON, _json)


def study_csv(sweep: Which = 0) -> Call[str]:
    """The study as one long table; tables.study makes a data frame of it."""
    return _study(sweep, api.GetStudyRequest.FORM_CSV, bytes.decode)


def study_text(sweep: Which = 0) -> Call[str]:
    """The study as a terminal shows it."""
    return _study(sweep, api.GetStudyRequest.FORM_TABLES, bytes.decode)


def page(sweep: Which = 0) -> Call[str]:
    """The study as an HTML page that needs no other file."""
    return _study(sweep, api.GetStudyRequest.FORM_PAGE, bytes.decode)


def _artifact(member: str, kind: str, read: Callable[[bytes], T]) -> Call[T]:
    return Call("GetArtifact", api.GetArtifactRequest(member=member, kind=kind),
                lambda pieces: read(_pieces(pieces)), stream=True, seconds=600.0)


def artifact(member: str, kind: str) -> Call[bytes]:
    """A file of a member, by its kind: "predictions", "weights", "log", ..."""
    return _artifact(member, kind, bytes)


def predictions(member: str) -> Call[Any]:
    """Its logits on the test set: float32 {examples, classes}."""
    return _artifact(member, "predictions", arrays.npy)


def weights(member: str) -> Call[dict[str, Any]]:
    """Its parameters and running statistics by name, as numpy arrays."""
    return _artifact(member, "weights", arrays.safetensors)


def log(member: str) -> Call[str]:
    """What its trainer has said."""
    return _artifact(member, "log", lambda data: data.decode(errors="replace"))


# Changes.

def cancel(sweep: Which, selection: Selection | None = None) -> Call[int]:
    """Ends members that have not ended, all or some; how many."""
    request = api.CancelSweepRequest(sweep_id=sweep_number(sweep),
                                     selection=selection.message() if selection else None)
    return Call("CancelSweep", request, lambda m: int(m.members))


def retry(sweep: Which, selection: Selection | None = None) -> Call[int]:
    """Failed and cancelled members wait again, all or some; how many."""
    request = api.RetrySweepRequest(sweep_id=sweep_number(sweep),
                                    selection=selection.message() if selection else None)
    return Call("RetrySweep", request, lambda m: int(m.members))


def extend(sweep: Which, *, replicates: int = 0, blocks: int = 0, hardware: Sequence[str] = (),
           plans: Sequence[str] = (), dry_run: bool = False) -> Call[Extended]:
    """Adds to a sweep; 0: as many as before. `hardware`: classes, or ["all"], those that are
    connected. `plans`: of which the numbers tell; none: of all."""
    request = api.ExtendSweepRequest(
        sweep_id=sweep_number(sweep), replicates=replicates, blocks=blocks,
        hardware=list(hardware), plans=list(plans), dry_run=dry_run)
    return Call("ExtendSweep", request,
                lambda m: Extended(values.sweep(m.sweep), m.members, m.cells))


def update(sweep: Which, *, priority: int | None = None, paused: bool | None = None,
           max_failures: int | None = None, archived: bool | None = None, notes: str | None = None,
           set_tags: Mapping[str, str] | None = None, remove_tags: Sequence[str] = (),
           limits: Mapping[str, int] | None = None, weight: int | None = None,
           gpu_hours: float | None = None) -> Call[SweepInfo]:
    """Changes what may change of a sweep; what is left out stays. A limit of 0 takes it away."""
    said: dict[str, Any] = {"priority": priority, "paused": paused, "max_failures": max_failures,
                            "archived": archived, "notes": notes, "weight": weight,
                            "gpu_hours": gpu_hours}
    request = api.UpdateSweepRequest(
        sweep_id=sweep_number(sweep), set_tags=dict(set_tags or {}), remove_tags=list(remove_tags),
        set_limits=dict(limits or {}),
        **{name: given for name, given in said.items() if given is not None})
    return Call("UpdateSweep", request, lambda m: values.sweep(m.sweep))


def delete(sweep: Which) -> Call[int]:
    """Removes a sweep that has ended, with all that only it has; how many members it had."""
    return Call("DeleteSweep", api.DeleteSweepRequest(sweep_id=sweep_number(sweep)),
                lambda m: int(m.members))


def replay(member: str, *, hardware: str = "", stack: str = "", count: int = 1,
           request_id: str | None = None) -> Call[int]:
    """Trains a finished member again, draw by draw, where and as often as said; the number of the
    sweep that does so."""
    request = api.ReplayMemberRequest(member=member, hardware_class=hardware, stack=stack,
                                      count=count,
                                      request_id=request_id or f"python-{uuid.uuid4().hex}")
    return Call("ReplayMember", request, lambda m: int(m.sweep_id))


def drain(worker: str, draining: bool = True) -> Call[None]:
    """A worker gets no more members and finishes what it has; False: members again."""
    return Call("UpdateWorker", api.UpdateWorkerRequest(worker=worker, draining=draining), _is_ok)
