"""A coordinator with TLS and tokens in a folder of its own, with workers and commands, as processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any, Callable

BIN = os.environ["NOISEFLOOR_BIN"]
SOURCE = os.environ["NOISEFLOOR_SOURCE"]
SLOW = f"slow={sys.executable} {SOURCE}/tests/slurm/slow.py"
PATIENCE_S = 120.0
SWEEP = """\
name: {name}
stack: {stack}
hardware: [{hardware}]
noise: [algo]
replicates: {replicates}
{more}
"""


def wait_until(reached: Callable[[], Any], what: str, seconds: float = PATIENCE_S) -> Any:
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        found = reached()
        if found:
            return found
        time.sleep(0.02)  # Between two looks.
    raise AssertionError(f"not within {seconds} s: {what}")


class World:
    """`name` is the host in the access files; by 127.0.0.1 it is reached in any case."""

    def __init__(self, test: unittest.TestCase, name: str = "localhost") -> None:
        self._test = test
        self.name = name
        self.folder = tempfile.mkdtemp(prefix="nf-net-")
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.home = self.path("home")
        self.access = self.path("access")
        drop = ("NOISEFLOOR_", "http_proxy", "https_proxy", "grpc_proxy", "no_proxy", "no_grpc_proxy",
                "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(drop)}
        self.environment.update(HOME=self.folder, PYTHONPATH=f"{SOURCE}/worker/python",
                                PYTHONDONTWRITEBYTECODE="1")
        self.ask("access", "init", f"--address={name}:7077", self.access)
        self.port = 0
        self.coordinator: subprocess.Popen[str] | None = None
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        test.addCleanup(self.end)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def end(self) -> None:
        for worker in self.workers.values():
            worker.kill()
            worker.wait()
        self.kill()

    def kill(self) -> None:
        if self.coordinator is None:
            return
        self.coordinator.kill()
        self.coordinator.wait()
        if self.coordinator.stdout:
            self.coordinator.stdout.close()
        self.coordinator = None

    def serve(self, port: int = 0) -> None:
        """At that port, or a free one; the access files say which, from then on."""
        with open(self.path("serve.log"), "a", encoding="utf-8") as log:
            self.coordinator = subprocess.Popen(
                [os.path.join(BIN, "noisefloor"), "serve", "--output=json", f"--home={self.home}",
                 f"--listen=127.0.0.1:{port}"], env=self.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True)
        text = ""
        assert self.coordinator.stdout is not None
        for line in self.coordinator.stdout:
            text += line
            if line.startswith("}"):
                break
        assert text, self.said("serve")
        self.port = int(json.loads(text)["address"].rpartition(":")[2])
        self.point()

    def point(self) -> None:
        """Each access file is whole at any moment."""
        for name in os.listdir(self.access):
            if not name.endswith(".access"):
                continue
            path = os.path.join(self.access, name)
            with open(path, encoding="utf-8") as file:
                lines = [f"coordinator {self.name}:{self.port}\n"
                         if line.startswith("coordinator ") else line for line in file]
            with open(path + ".part", "w", encoding="utf-8", opener=_private) as file:
                file.writelines(lines)
            os.rename(path + ".part", path)

    def worker(self, name: str, *options: str, before: tuple[str, ...] = (),
               trainer: str = SLOW, declare: str = "test-cpu",
               **variables: str) -> subprocess.Popen[bytes]:
        """`before`: a program that starts it. Its log is NAME.log."""
        environment = {**self.environment, "NOISEFLOOR_ACCESS": self.access, **variables}
        with open(self.path(f"{name}.log"), "ab") as log:
            self.workers[name] = subprocess.Popen(
                [*before, os.path.join(BIN, "noisefloor-worker"), f"--name={name}",
                 f"--state={self.path(name)}", f"--trainer={trainer}",
                 f"--declare={declare}", *options], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.folder)
        return self.workers[name]

    def said(self, name: str) -> str:
        with open(self.path(f"{name}.log"), encoding="utf-8") as file:
            return file.read()

    def wait_for(self, name: str, words: str, times: int = 1) -> None:
        """Until the log of that name has these words so often."""
        wait_until(lambda: self.said(name).count(words) >= times,
                   f"{name} says {words!r}: {self.said(name)}")

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([os.path.join(BIN, "noisefloor"), "--output=json", *words],
                              env={**self.environment, **variables}, capture_output=True, text=True,
                              timeout=PATIENCE_S, cwd=self.folder)

    def ask(self, *words: str, code: int = 0, role: str = "") -> Any:
        """What `noisefloor` answers its owner, or who has that access file; else what it complains of."""
        who: dict[str, str] = {}
        if role:
            who["NOISEFLOOR_ACCESS"] = os.path.join(self.access, f"{role}.access")
        else:
            words = (f"--home={self.home}", *words)
        done = self.run(*words, **who)
        self._test.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout) if code == 0 and done.stdout.startswith("{") else done.stderr

    def sweep_file(self, replicates: int, name: str = "net", stack: str = "slow",
                   more: str = "") -> str:
        path = self.path(f"{name}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(name=name, stack=stack, hardware="test-cpu",
                                    replicates=replicates, more=more))
        return path

    def submit(self, replicates: int, **more: str) -> str:
        return str(self.ask("submit", self.sweep_file(replicates, **more))["sweep"])

    def counts(self, sweep: str) -> dict[str, int]:
        found: dict[str, int] = self.ask("status", sweep)["sweep"]["members"]
        return found

    def wait_for_end(self, sweep: str) -> None:
        def done() -> bool:
            now = self.counts(sweep)
            self._test.assertEqual(now["failed"], 0, now)
            return now["done"] == now["total"]
        wait_until(done, f"{sweep} is done; {self.said('serve')}")

    def rows(self, sql: str) -> list[list[Any]]:
        rows: list[list[Any]] = self.ask("sql", sql)["rows"]
        return rows

    def wait_for_workers(self, count: int) -> None:
        wait_until(lambda: sum(one["connected"] for one in self.ask("workers")["workers"]) >= count,
                   f"{count} workers are connected")

    def stop(self, name: str) -> int:
        """By SIGTERM; its exit code."""
        self.workers[name].send_signal(signal.SIGTERM)
        return self.workers[name].wait(PATIENCE_S)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
