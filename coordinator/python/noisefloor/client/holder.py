"""The program between noisefloor.client.serve and what it has started: it stops both when its
standard input is closed, which happens however the process at the other end has ended, and removes
a home that was temporary.

    python -m noisefloor.client.holder WISH      prints {"address": ...} or {"problem": ...}
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Mapping, TextIO

from noisefloor.client.blocking import Client


def _hold(wish: Mapping[str, Any]) -> int:
    # Of a terminal, and of its end: for whoever started us. Our standard input ends with them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    home = wish["home"]
    started: list[subprocess.Popen[str]] = []
    try:
        os.makedirs(home, exist_ok=True)
        path = wish["log"] or os.path.join(home, "serve.log")
        with open(path, "a", encoding="utf-8") as log:
            begin = log.tell()
            well = _begin(wish, started, log)
            print(json.dumps({"address": well} if well else {"problem": _last_lines(path, begin)}),
                  flush=True)
            if well:
                sys.stdin.read()  # Until it is closed.
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            if process is not started[0]:
                process.send_signal(signal.SIGINT)  # The second one: what runs is stopped.
            process.wait()
        if wish["temporary"]:
            shutil.rmtree(home, ignore_errors=True)
    return 0


def _begin(wish: Mapping[str, Any], started: list[subprocess.Popen[str]], log: TextIO) -> str:
    """Where the coordinator listens, with a worker if one is wished for; empty: one has ended.
    What was started is in `started` in any case."""
    own: dict[str, Any] = {"stderr": log, "stdin": subprocess.DEVNULL, "start_new_session": True}
    home = wish["home"]
    started.append(subprocess.Popen(
        [wish["programs"][0], "serve", "--output=json", "--listen=127.0.0.1:0", f"--home={home}"],
        stdout=subprocess.PIPE, text=True, **own))
    address = _address(started[0])
    if not address or wish["worker"] is None:
        return address
    started.append(subprocess.Popen(
        [wish["programs"][1], f"--coordinator={address}", "--name=local",
         f"--state={os.path.join(home, 'worker')}", *wish["worker"]],
        stdout=log, text=True, **own))
    return address if _is_there(address, started[1]) else ""


def _address(coordinator: subprocess.Popen[str]) -> str:
    """Empty: it has ended without one."""
    text = ""
    assert coordinator.stdout is not None
    for line in coordinator.stdout:
        text += line
        try:
            return str(json.loads(text)["address"])
        except json.JSONDecodeError:
            continue
    return ""


def _is_there(address: str, worker: subprocess.Popen[str]) -> bool:
    """False: it has ended instead."""
    with Client(address) as client:
        while worker.poll() is None:
            if any(one.connected for one in client.workers()):
                return True
            time.sleep(0.02)
    return False


def _last_lines(path: str, begin: int) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        file.seek(begin)
        lines = [line for line in file.read().split("\n") if line]
    return "\n".join(lines[-4:]) if lines else "the coordinator has said nothing"


if __name__ == "__main__":
    sys.exit(_hold(json.loads(sys.argv[1])))
