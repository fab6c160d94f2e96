"""The client for asyncio; words about methods are in blocking.py and calls.py."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Any, AsyncIterator, Awaitable, Callable, Concatenate, ParamSpec, TypeVar

import grpc
import grpc.aio

from noisefloor.client import calls, channel, methods
from noisefloor.client.access import find_coordinator
from noisefloor.client.calls import Call, Pages, Which
from noisefloor.client.errors import from_rpc
from noisefloor.client.values import Change, MemberChange, SweepInfo
from noisefloor.client.watching import PATIENCE, MemberWatching, SweepWatching

P = ParamSpec("P")
T = TypeVar("T")


def _asks(make: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    async def method(self: AsyncClient, /, *args: P.args, **keywords: P.kwargs) -> T:
        return await self.ask(make(*args, **keywords))
    methods.dress(method, make)
    return method


def _lists(make: Callable[P, Pages[T]]
           ) -> Callable[Concatenate[AsyncClient, P], Awaitable[list[T]]]:
    async def method(self: AsyncClient, /, *args: P.args, **keywords: P.kwargs) -> list[T]:
        return await self.pages(make(*args, **keywords))
    methods.dress(method, make)
    return method


class AsyncClient:
    """A coordinator, for one event loop: made and used in coroutines. Its methods are Client's."""

    def __init__(self, coordinator: str = "", *, home: str | os.PathLike[str] = "",
                 access: str | os.PathLike[str] = "") -> None:
        """Which coordinator: "HOST:PORT", else the one of a data directory, else of an access file;
        without any as the program `noisefloor` finds it."""
        self.coordinator = find_coordinator(coordinator, home, access)
        self._metadata = channel.metadata_of(self.coordinator)
        self._channel = channel.open_channel(grpc.aio, self.coordinator)
        self._stubs = {name: make(self._channel) for name, make in channel.STUBS.items()}

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    async def ask(self, call: Call[T]) -> T:
        """As Client.ask."""
        method = getattr(self._stubs[call.service], call.method)
        try:
            answer = method(call.request, timeout=call.seconds, metadata=self._metadata)
            return call.read([one async for one in answer] if call.stream else await answer)
        except grpc.RpcError as error:
            raise from_rpc(error, self.coordinator.address) from None

    async def pages(self, call: Pages[T]) -> list[T]:
        """As Client.pages."""
        found: list[T] = []
        while True:
            answer = await self.ask(Call(call.method, call.request, lambda message: message))
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

    async def watch(self, sweep: Which = 0, *, token: int = 0, seconds: float | None = None,
                    patience: float = PATIENCE) -> AsyncIterator[Change]:
        """As Client.watch."""
        number = calls.sweep_number(sweep) or (await self.get_sweep()).sweep
        async for change in self._watch(SweepWatching(number, token, seconds, patience)):
            yield change

    async def watch_member(self, member: str, *, seconds: float | None = None,
                           patience: float = PATIENCE) -> AsyncIterator[MemberChange]:
        """As Client.watch_member."""
        async for change in self._watch(MemberWatching(member, seconds, patience)):
            yield change

    async def wait(self, sweep: Which = 0, *, seconds: float | None = None) -> SweepInfo:
        """As Client.wait."""
        async for change in self.watch(sweep, seconds=seconds):
            if change.sweep.ended:
                return change.sweep
        raise AssertionError("a watch ends with its sweep")

    async def _watch(self, watching: Any) -> AsyncIterator[Any]:
        method = getattr(self._stubs["CoordinatorService"], watching.method)
        while not watching.ended:
            stream = method(watching.request(), timeout=watching.seconds_left(),
                            metadata=self._metadata)
            broken = None
            try:
                async for message in stream:
                    yield watching.heard(message)
            except grpc.RpcError as error:
                broken = from_rpc(error, self.coordinator.address)
            finally:
                stream.cancel()
            if not watching.ended:
                await asyncio.sleep(watching.broken(broken))
