"""A Debian 12 of its own for a test, without the source tree, our libraries and a network.

deploy/setup --check makes the images: `minimal` has what Debian calls essential, and apt; `machine`
also systemd and python3 with venv.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from typing import Callable, Iterable

CACHE = os.environ.get("NOISEFLOOR_CACHE", os.path.expanduser("~/.cache/noisefloor"))
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 240  # Seconds, for what takes a few where nobody else computes.
# Whatever ends the test ends them, too.
NAMESPACES = ("setpriv", "--pdeathsig=KILL",
              "unshare", "-m", "-p", "-n", "-i", "-u", "-C", "--fork", "--kill-child")


def why_not(image: str) -> str:
    """Why there can be no such root here; empty: there can."""
    if os.geteuid() != 0:
        return "clean roots need root: chroot and mounts"
    if not os.path.exists(image_path(image)):
        return f"there is no {image_path(image)}: deploy/setup --check"
    done = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"no namespaces: {done.stderr.strip()}"


def image_path(image: str) -> str:
    return os.path.join(CACHE, "roots", f"debian-12-{image}.tar")


class CleanRoot:
    """Unpacked for a test, and removed with it. Its programs live in namespaces of their own."""

    def __init__(self, test: unittest.TestCase, image: str, packages: Iterable[str] = (),
                 binds: Iterable[tuple[str, str]] = ()) -> None:
        """`packages`: only their files, and no others. `binds`: what is seen where, read-only."""
        reason = why_not(image)
        if reason:
            raise unittest.SkipTest(reason)
        self._test = test
        self.path = tempfile.mkdtemp(prefix="nf-root-")
        os.chmod(self.path, 0o755)
        test.addCleanup(shutil.rmtree, self.path)
        self._binds = ",".join(f"{source}:{target}" for source, target in binds)
        unpack(image_path(image), self.path, set(packages))

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([*NAMESPACES, *self._enter(*words)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300)
        self._test.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def put(self, name: str, content: str) -> None:
        with open(self.path + name, "w", encoding="utf-8") as file:
            file.write(content)

    def take(self, path: str, into: str = "/root") -> str:
        """A file from outside; its path in here."""
        shutil.copy(path, self.path + into)
        return os.path.join(into, os.path.basename(path))

    def _enter(self, *words: str) -> list[str]:
        return [sys.executable, os.path.join(HERE, "enter_root.py"), self.path, self._binds, *words]


class Machine(CleanRoot):
    """One whose systemd runs, until the test ends."""

    def __init__(self, test: unittest.TestCase, binds: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(test, "machine", binds=binds)
        for unit in ("console-getty", "getty@tty1", "systemd-sysctl", "systemd-binfmt"):
            os.symlink("/dev/null", f"{self.path}/etc/systemd/system/{unit}.service")
        self.put("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 box\n")
        self._said = os.path.join(self.path, "boot.log")
        with open(self._said, "wb") as log:
            self._unshare = subprocess.Popen(
                [*NAMESPACES, *self._enter("/lib/systemd/systemd", "--unit=multi-user.target")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        test.addCleanup(self._stop)
        wait_until(self._started, PATIENCE, "systemd runs", self._boot_log)

    def run(self, *words: str, code: int = 0) -> str:
        """Beside what systemd runs."""
        done = subprocess.run(
            ["nsenter", "-t", str(self._first), "-m", "-p", "-n", "-u", "-i", "-C", "-r", "-w",
             "--", "/usr/bin/env", "-i", "--chdir=/root",
             "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
             "HOME=/root", "TERM=dumb", *words],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
        self._test.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def _started(self) -> bool:
        if self._unshare.poll() is not None:
            raise AssertionError(self._boot_log())
        children = f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children"
        with open(children, encoding="utf-8") as file:
            first = file.read().split()
        if not first:
            return False
        self._first = int(first[0])
        with open(f"/proc/{self._first}/comm", encoding="utf-8") as file:
            if file.read() != "systemd\n":
                return False
        try:
            return self.run("systemctl", "is-system-running", "--wait") == "running\n"
        except AssertionError:
            return False

    def _boot_log(self) -> str:
        with open(self._said, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _stop(self) -> None:
        """The first process of its namespace takes all others with it."""
        if self._unshare.poll() is None:
            os.kill(self._first, signal.SIGKILL)
        self._unshare.wait(60)


def wait_until(good: Callable[[], bool], seconds: float, what: str,
               told: Callable[[], str] = str) -> None:
    until = time.monotonic() + seconds
    while not good():
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds} s: {what}\n{told()}")
        time.sleep(0.1)


def unpack(image: str, to: str, packages: set[str]) -> None:
    if not packages:
        subprocess.run(["tar", "-xf", image, "-C", to], check=True)
        return
    with tarfile.open(image) as archive:
        wanted = {"./dev/null", "./tmp", "./root", "./proc", "./dev/shm", "./dev/urandom",
                  "./bin", "./lib", "./lib64", "./sbin"}
        for package in packages:
            wanted |= files_of(archive, package)
        archive.extractall(to, [member for member in archive if member.name in wanted])


def files_of(archive: tarfile.TarFile, package: str) -> set[str]:
    """As they are called in the archive: /bin and /lib are links into /usr."""
    for name in (package, f"{package}:amd64"):
        try:
            listed = archive.extractfile(f"./var/lib/dpkg/info/{name}.list")
        except KeyError:
            continue
        assert listed is not None
        lines = listed.read().decode().split()
        merged = ("/bin/", "/lib/", "/lib64/", "/sbin/")
        return {"." + ("/usr" + line if line.startswith(merged) else line) for line in lines}
    raise AssertionError(f"no package {package} in the image")
