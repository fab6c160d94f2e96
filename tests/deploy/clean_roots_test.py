"""Packages install into a Debian that has nothing else, and train there: neither the source tree,
nor our libraries, nor a network.

Times are of this machine: with NOISEFLOOR_ROOTS_ALL=1 the first look (12 trainings) runs instead of
a smaller sweep, and the time from install to first figure is held against 90 s.
"""

from __future__ import annotations

import filecmp
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from clean_root import CACHE, PATIENCE, CleanRoot, Machine, wait_until

PACKAGES = os.environ["NOISEFLOOR_PACKAGES"]
ALL = os.environ.get("NOISEFLOOR_ROOTS_ALL") == "1"
STACK = "/opt/stack"  # Where roots see the folder that has LibTorch.
SMALL = """\
name: first-look
data: {name: fashion-mnist-sample, train_examples: 256, test_examples: 100}
train: {epochs: 1, batch_size: 64}
noise: [control, algo]
hardware: any
replicates: 2
"""
# What `sh` and our launcher need: glibc, and what copies and names files. No libstdc++, no libgcc.
BARE = ("base-files", "libc6", "libc-bin", "dash", "coreutils", "libacl1", "libattr1", "libgmp10",
        "libselinux1", "libpcre2-8-0")
LOOK = "/usr/share/noisefloor/sweeps/first_look.yaml"
WORKER = "noisefloor-worker@main.service"
EXPOSURE = {"noisefloor-coordinator.service": 15, WORKER: 25}  # Tenths, as systemd counts it.


def stack() -> tuple[str, str]:
    found = glob.glob(os.path.join(CACHE, "stacks/torch-*"))
    if not found:
        raise unittest.SkipTest(f"there is no LibTorch in {CACHE}/stacks: deploy/setup")
    return found[0], STACK


def package(pattern: str) -> str:
    return glob.glob(os.path.join(PACKAGES, pattern))[0]


def install(root: CleanRoot) -> None:
    root.run("dpkg", "-i", root.take(package("noisefloor_*.deb")),
             root.take(package("noisefloor-worker_*.deb")))


class Roots(unittest.TestCase):
    def first_figure(self, root: CleanRoot, began: float, *words: str, look: str = LOOK) -> None:
        """`words`: what runs a sweep file."""
        root.put("/root/small.yaml", SMALL)
        told = root.run(*words, look if ALL else "/root/small.yaml")
        took = time.monotonic() - began
        self.assertRegex(told, r"algo .* \d+(\.\d+)? %")
        self.assertRegex(told, r"control .*bit-identical")
        self.assertIn("first-look-s1.html", told)
        print(f"\n{self.id()}: {took:.1f} s from install to first figure")
        if ALL:
            self.assertLess(took, 90)


class Files(unittest.TestCase):
    @unittest.skipUnless(ALL, "takes a minute: NOISEFLOOR_ROOTS_ALL=1")
    def test_the_same_build_makes_the_same_files(self) -> None:
        """Whatever the umask."""
        with tempfile.TemporaryDirectory() as again:
            subprocess.run(
                [sys.executable, os.path.join(os.environ["NOISEFLOOR_SOURCE"], "deploy/package"),
                 f"--build={os.environ['NOISEFLOOR_BUILD']}", f"--to={again}"], check=True,
                stdout=subprocess.DEVNULL, preexec_fn=lambda: os.umask(0o077) and None)
            names = sorted(os.listdir(again))
            self.assertEqual(names, sorted(os.listdir(PACKAGES)))
            self.assertEqual(filecmp.cmpfiles(again, PACKAGES, names, shallow=False)[0], names)


class Debs(Roots):
    def test_debs_train_in_a_minimal_debian(self) -> None:
        root = CleanRoot(self, "minimal", binds=[stack()])
        before = root.run("find", "/usr", "/etc", "-newer", "/var/lib/dpkg/status", "-type", "f")
        began = time.monotonic()
        install(root)
        lacking = root.run("noisefloor", "run", LOOK, code=1)
        self.assertIn("/usr/lib/noisefloor/torch is to be the folder `torch` of a Python", lacking)
        root.run("ln", "-s", f"{STACK}/torch", "/usr/lib/noisefloor/torch")
        self.first_figure(root, began, "noisefloor", "run")
        # And go: what they were not asked for they have not done.
        root.run("rm", "/usr/lib/noisefloor/torch")
        root.run("dpkg", "--purge", "noisefloor-worker", "noisefloor")
        self.assertEqual(root.run("find", "/usr/lib/noisefloor", "/usr/share/noisefloor",
                                  "/etc/noisefloor", "-maxdepth", "0", code=1).count("No such"), 3)
        self.assertEqual(root.run("find", "/usr", "/etc", "-name", "*noisefloor*"), before)

    def test_the_worker_wants_its_own_version(self) -> None:
        root = CleanRoot(self, "minimal")
        refused = root.run("dpkg", "-i", root.take(package("noisefloor-worker_*.deb")), code=1)
        self.assertRegex(refused, r"noisefloor-worker depends on noisefloor \(= \d+\.\d+\.\d+\)")

    @unittest.skipUnless(ALL, "takes a minute: NOISEFLOOR_ROOTS_ALL=1")
    def test_lintian_has_no_error(self) -> None:
        if shutil.which("lintian") is None:
            self.skipTest("there is no lintian: deploy/setup --check")
        done = subprocess.run(["lintian", "--fail-on", "error,warning", "--display-level",
                               ">=warning", "--allow-root", package("noisefloor_*.deb"),
                               package("noisefloor-worker_*.deb")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipUnless(ALL, "the wheel is installed by package_test, too: NOISEFLOOR_ROOTS_ALL=1")
class Wheel(Roots):
    def test_the_wheel_needs_python_alone(self) -> None:
        root = CleanRoot(self, "machine", binds=[stack()])
        began = time.monotonic()
        root.run("python3", "-m", "venv", "/opt/env")
        root.run("/opt/env/bin/pip", "install", "-q", "--no-index", root.take(package("*.whl")))
        lacking = root.run("/opt/env/bin/noisefloor", "run", self.look(root), code=1)
        self.assertIn("pip install 'torch==2.11.*' where noisefloor is installed", lacking)
        root.run("sh", "-c", f"ln -s {STACK}/torch /opt/env/lib/python3*/site-packages")
        self.first_figure(root, began, "/opt/env/bin/noisefloor", "run", look=self.look(root))

    @staticmethod
    def look(root: CleanRoot) -> str:
        return root.run("sh", "-c", "ls /opt/env/lib/python3*/site-packages/noisefloor/programs/"
                        "share/noisefloor/sweeps/first_look.yaml").strip()


class Tarball(Roots):
    def test_the_tarball_needs_glibc_alone(self) -> None:
        root = CleanRoot(self, "minimal", packages=BARE, binds=[stack()])
        self.assertEqual(glob.glob(root.path + "/usr/lib/**/libstdc++*", recursive=True), [])
        self.assertEqual(glob.glob(root.path + "/usr/lib/**/libgcc_s*", recursive=True), [])
        os.makedirs(root.path + "/opt")
        began = time.monotonic()
        subprocess.run(["tar", "-xzf", package("*.tar.gz"), "-C", root.path + "/opt",
                        "--transform=s,^[^/]*,noisefloor,"], check=True)
        root.run("ln", "-s", f"{STACK}/torch", "/opt/noisefloor/torch")
        self.first_figure(root, began, "/opt/noisefloor/bin/noisefloor", "run",
                          look="/opt/noisefloor/share/noisefloor/sweeps/first_look.yaml")


class Units(unittest.TestCase):
    """With systemd, which starts what the units say: nobody else, and with what it may see."""

    def setUp(self) -> None:
        self.machine = Machine(self, binds=[stack()])
        install(self.machine)
        self.machine.run("ln", "-s", f"{STACK}/torch", "/usr/lib/noisefloor/torch")
        self.machine.put("/root/small.yaml", SMALL)

    def start(self, unit: str) -> None:
        try:
            self.machine.run("systemctl", "start", unit)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.journal(unit)}") from None

    def journal(self, unit: str) -> str:
        return self.machine.run("journalctl", "--no-pager", "-o", "cat", "-u", unit)

    def property_of(self, unit: str, name: str) -> str:
        return self.machine.run("systemctl", "show", "--value", "-p", name, unit).strip()

    def test_units_run_studies_and_stop_as_they_should(self) -> None:
        run = self.machine.run
        for unit, most in EXPOSURE.items():
            self.assertEqual(run("systemd-analyze", "verify", "--man=no", unit), "")
            run("systemd-analyze", "security", "--no-pager", f"--threshold={most}", unit)
            self.assertEqual(self.property_of(unit, "ActiveState"), "inactive")
            self.assertEqual(self.property_of(unit, "UnitFileState"), "disabled")
        self.start_with_access()
        run("noisefloor", "submit", "/root/small.yaml")
        run("noisefloor", "watch", "s1")
        self.assertIn("bit-identical", run("noisefloor", "report", "s1"))
        self.check_isolation()
        self.check_a_new_token_needs_no_restart()
        self.check_what_runs_finishes()
        run("systemctl", "stop", "noisefloor-coordinator")
        self.assertEqual(self.property_of("noisefloor-coordinator", "Result"), "success")

    def start_with_access(self) -> None:
        """As README.Debian says it."""
        run = self.machine.run
        run("noisefloor", "access", "init", "--address=box:7077", "--home=/var/lib/noisefloor")
        self.start("noisefloor-coordinator")
        run("install", "-m", "640", "-g", "noisefloor-access",
            "/root/.config/noisefloor/access/worker.access", "/etc/noisefloor/worker.access")
        self.machine.put("/etc/default/noisefloor-worker-main",
                         "NOISEFLOOR_WORKER_OPTIONS='--slots=1 --trainer=ours --trainer \"blobs="
                         "python3 /usr/share/noisefloor/trainers/blobs_trainer.py\"'\n")
        self.start(WORKER)
        self.wait_for_log("connected", 1)

    def wait_for_log(self, event: str, times: int) -> None:
        def told() -> str:
            return self.journal(WORKER)
        wait_until(lambda: len(re.findall(rf"\b{event}\b", told())) >= times, PATIENCE, event, told)

    def check_a_new_token_needs_no_restart(self) -> None:
        run = self.machine.run
        before = self.property_of(WORKER, "MainPID")
        run("noisefloor", "access", "add", "worker", "--to=/root/new.access")
        run("install", "-m", "640", "-g", "noisefloor-access", "/root/new.access",
            "/etc/noisefloor/worker.access")
        token = re.search(r"^ *(\d+) +worker +worker ", run("noisefloor", "access", "list"), re.M)
        assert token is not None
        run("noisefloor", "access", "revoke", "worker", f"--token={token[1]}")
        self.wait_for_log("connected", 2)
        self.assertEqual(self.property_of(WORKER, "MainPID"), before)

    def check_what_runs_finishes(self) -> None:
        """The unit's stop is the first SIGTERM: no attempt is lost, and what waits is not begun."""
        run = self.machine.run
        run("noisefloor", "submit", "/usr/share/noisefloor/trainers/blobs.yaml")

        def done() -> int:
            return int(json.loads(run("noisefloor", "--output=json", "status", "s2"))
                       ["sweep"]["members"]["done"])
        wait_until(lambda: done() > 0, PATIENCE, "a member is done")
        run("systemctl", "stop", WORKER)
        self.assertEqual(self.property_of(WORKER, "Result"), "success")
        self.wait_for_log("left", 1)
        # One may have been on its way when the unit was stopped: it is given back.
        begun = "why NOT LIKE '%left before it began'"
        wait_until(lambda: self.attempts(f"NOT accepted AND {begun}") == 0, PATIENCE,
                   "every attempt that was begun has its result")
        self.assertEqual(self.attempts(f"member LIKE 's2%' AND {begun}"), done())

    def attempts(self, which: str) -> int:
        told = self.machine.run("runuser", "-u", "noisefloor", "--", "noisefloor", "--output=json",
                                "--home=/var/lib/noisefloor", "sql",
                                f"SELECT count(*) FROM v_attempt WHERE {which}")
        return int(json.loads(told)["rows"][0][0])

    def check_isolation(self) -> None:
        """Read back from the processes that run."""
        def seen(unit: str, *words: str, code: int = 0) -> str:
            process = self.property_of(unit, "MainPID")
            return self.machine.run("nsenter", "-t", process, "-m", "--", *words, code=code)
        for unit in ("noisefloor-coordinator", WORKER):
            status = self.machine.run("cat", f"/proc/{self.property_of(unit, 'MainPID')}/status")
            self.assertRegex(status, r"NoNewPrivs:\s1\n")
            self.assertRegex(status, r"CapBnd:\s0{16}\n")
            self.assertRegex(status, r"Seccomp:\s2\n")
            self.assertNotRegex(status, r"Uid:\s0\s")
            self.assertIn("Read-only", seen(unit, "touch", "/usr/x", code=1))
        device = ("sh", "-c", ": </dev/nvidia0")
        self.machine.run("mknod", "-m", "666", "/dev/nvidia0", "c", "1", "3")
        seen(WORKER, *device)
        seen("noisefloor-coordinator", *device, code=2)
        self.assertEqual(self.property_of(WORKER, "DevicePolicy"), "auto")
        self.assertEqual(self.property_of(WORKER, "DeviceAllow"), "")


if __name__ == "__main__":
    unittest.main()
