"""The client that waits for each answer."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any, Callable, Concatenate, Iterator, ParamSpec, TypeVar

import grpc

from noisefloor.client import calls, channel, methods
from noisefloor.client.access import find_coordinator
from noisefloor.client.calls import Call, Pages, Which
from noisefloor.client.errors import from_rpc
from noisefloor.client.values import Change, MemberChange, SweepInfo
from noisefloor.client.watching import PATIENCE, MemberWatching, SweepWatching

P = ParamSpec("P")
T = TypeVar("T")


def _asks(make: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    def method(self: Client, /, *args: P.args, **keywords: P.kwargs) -> T:
        return self.ask(make(*args, **keywords))
    methods.dress(method, make)
    return method


def _lists(make: Callable[P, Pages[T]]) -> Callable[Concatenate[Client, P], list[T]]:
    def method(self: Client, /, *args: P.args, **keywords: P.kwargs) -> list[T]:
        return self.pages(make(*args, **keywords))
    methods.dress(method, make)
    return method


class Client:
    """A coordinator. Any number of threads may use one. Refused, NoCoordinator: errors.py."""

    def __init__(self, coordinator: str = "", *, home: str | os.PathLike[str] = "",
                 access: str | os.PathLike[str] = "") -> None:
        """Which coordinator: "HOST:PORT", else the one of a data directory, else of an access file;
        without any as the program `noisefloor` finds it."""
        self.coordinator = find_coordinator(coordinator, home, access)
        self._metadata = channel.metadata_of(self.coordinator)
        self._channel = channel.open_channel(grpc, self.coordinator)
        self._stubs = {name: make(self._channel) for name, make in channel.STUBS.items()}

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def ask(self, call: Call[T]) -> T:
        """Asks what one of calls.py's functions has made."""
        method = getattr(self._stubs[call.service], call.method)
        try:
            answer = method(call.request, timeout=call.seconds, metadata=self._metadata)
            return call.read(answer)  # Reads the stream, where it is one.
        except grpc.RpcError as error:
            raise from_rpc(error, self.coordinator.address) from None

    def pages(self, call: Pages[T]) -> list[T]:
        """All pages."""
        found: list[T] = []
        while True:
            answer = self.ask(Call(call.method, call.request, lambda message: message))
            found += call.read(answer)
            if not answer.next_page_token:
                return found
            call.request.page_token = answer.next_page_token

    version = _asks(calls.version)
    who_am_i = _asks(calls.who_am_i)
    submit = _asks(calls.submit)
    plan = _asks(calls.plan)
    sweeps = _lists(calls.sweeps)
    get_sweep = _asks(calls.get_sweep)
    members = _lists(calls.members)
    get_member = _asks(calls.get_member)
    workers = _asks(calls.workers)
    settings = _asks(calls.settings)
    explain_sweep = _asks(calls.explain_sweep)
    explain_member = _asks(calls.explain_member)
    explain_worker = _asks(calls.explain_worker)
    study = _asks(calls.study)
    study_csv = _asks(calls.study_csv)
    study_text = _asks(calls.study_text)
    page = _asks(calls.page)
    artifact = _asks(calls.artifact)
    predictions = _asks(calls.predictions)
    weights = _asks(calls.weights)
    log = _asks(calls.log)
    cancel = _asks(calls.cancel)
    retry = _asks(calls.retry)
    extend = _asks(calls.extend)
    update = _asks(calls.update)
    delete = _asks(calls.delete)
    replay = _asks(calls.replay)
    drain = _asks(calls.drain)

    def watch(self, sweep: Which = 0, *, token: int = 0, seconds: float | None = None,
              patience: float = PATIENCE) -> Iterator[Change]:
        """What changes in a sweep until it has ended: first as it is, or all since `token`. Goes on
        over breaks, however often, unless none answers for `patience` seconds. TimeoutError: it has
        not ended within `seconds`."""
        number = calls.sweep_number(sweep) or self.get_sweep().sweep
        yield from self._watch(SweepWatching(number, token, seconds, patience))

    def watch_member(self, member: str, *, seconds: float | None = None,
                     patience: float = PATIENCE) -> Iterator[MemberChange]:
        """What a member has measured and measures, until it has ended; else as watch()."""
        yield from self._watch(MemberWatching(member, seconds, patience))

    def wait(self, sweep: Which = 0, *, seconds: float | None = None) -> SweepInfo:
        """Waits until a sweep has ended, as watch() does."""
        for change in self.watch(sweep, seconds=seconds):
            if change.sweep.ended:
                return change.sweep
        raise AssertionError("a watch ends with its sweep")

    def _watch(self, watching: Any) -> Iterator[Any]:
        method = getattr(self._stubs["CoordinatorService"], watching.method)
        while not watching.ended:
            stream = method(watching.request(), timeout=watching.seconds_left(),
                            metadata=self._metadata)
            broken = None
            try:
                for message in stream:
                    yield watching.heard(message)
            except grpc.RpcError as error:
                broken = from_rpc(error, self.coordinator.address)
            finally:
                stream.cancel()
            if not watching.ended:
                time.sleep(watching.broken(broken))
