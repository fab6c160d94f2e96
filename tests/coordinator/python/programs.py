"""Programs that tests start, and stop."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from typing import Any

BIN = os.environ["NOISEFLOOR_BIN"]
SOURCE = os.environ["NOISEFLOOR_SOURCE"]


def run(*words: str, **more: Any) -> str:
    done = subprocess.run([os.path.join(BIN, words[0]), *words[1:]], capture_output=True, text=True,
                          **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Served:
    """`noisefloor serve`, to be killed and started again at the same address."""

    def __init__(self, test: unittest.TestCase, home: str, listen: str = "127.0.0.1:0") -> None:
        self._home = home
        self._start(listen)
        test.addCleanup(self.kill)

    def _start(self, listen: str) -> None:
        self._process = subprocess.Popen(
            [os.path.join(BIN, "noisefloor"), "serve", "--output=json", f"--listen={listen}",
             f"--home={self._home}", "--log-level=off"], stdout=subprocess.PIPE, text=True)
        text = ""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            text += line
            if line.startswith("}"):
                break
        self.address = json.loads(text)["address"]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def start_again(self) -> None:
        self._start(self.address)
