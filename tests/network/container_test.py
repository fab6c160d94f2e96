"""What `fleet manifest` prints starts workers: its container and its unit, run as a cluster would."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest
from typing import Any

from world import BIN, PATIENCE_S, SOURCE, World, wait_until

POD, NODE = "a100-0-x7k2p", "node-7.example"
SLOW = f"slow={sys.executable} {SOURCE}/tests/slurm/slow.py"


def expanded(text: str, variables: dict[str, str]) -> str:
    """As Kubernetes expands arguments and values: $(NAME) of those that are known, $$ for $."""
    return re.sub(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)",
                  lambda found: "$" if found[0] == "$$" else variables.get(found[1], found[0]), text)


class Pod:
    """One container of a Job, on this machine: its volumes are folders, its files those of the
    Secret. What isolates it is left out; all that it is told is as the manifest says."""

    def __init__(self, world: World, job: dict[str, Any], claims: dict[str, str]) -> None:
        self._world = world
        self.pod = job["spec"]["template"]["spec"]
        self.container = self.pod["containers"][0]
        self.folder = world.path(f"pod-{len(os.listdir(world.folder))}")
        os.mkdir(self.folder)
        self.places = {mount["mountPath"]: self._volume(mount["name"], claims)
                       for mount in self.container["volumeMounts"]}
        fields = {"metadata.name": POD, "spec.nodeName": NODE}
        self.environment: dict[str, str] = {}
        for one in self.container["env"]:
            value = (fields[one["valueFrom"]["fieldRef"]["fieldPath"]] if "valueFrom" in one
                     else expanded(one["value"], self.environment))
            self.environment[one["name"]] = self._here(one["name"], value)
        self.words = [self._word(word) for word in
                      (*self.container["command"], *self.container["args"])]

    def _volume(self, name: str, claims: dict[str, str]) -> str:
        volume = next(one for one in self.pod["volumes"] if one["name"] == name)
        if "persistentVolumeClaim" in volume:
            return claims[volume["persistentVolumeClaim"]["claimName"]]
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        for item in volume.get("secret", {}).get("items", []):
            path = os.path.join(folder, item["path"])
            shutil.copyfile(os.path.join(self._world.access, item["key"]), path)
            os.chmod(path, volume["secret"]["defaultMode"])
        return folder

    def _here(self, name: str, text: str) -> str:
        """Of what the manifest itself says: the folder in the place of what is mounted."""
        if name not in ("HOME", "NOISEFLOOR_ACCESS", "--state", "--checkpoints"):
            return text
        path = max((one for one in self.places if f"{text}/".startswith(one + "/")), key=len)
        return self.places[path] + text.removeprefix(path)

    def _word(self, text: str) -> str:
        name, equals, value = expanded(text, self.environment).partition("=")
        return name + equals + self._here(name, value)

    def start(self) -> subprocess.Popen[bytes]:
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log:
            process = subprocess.Popen(self.words, env={"PATH": f"{BIN}:/usr/bin:/bin",
                                                        **self.environment},
                                       cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log)
        self._world.workers[self.folder] = process
        return process

    def said(self) -> str:
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    @property
    def grace(self) -> float:
        return float(self.pod["terminationGracePeriodSeconds"])


class Container(unittest.TestCase):
    def setUp(self) -> None:
        self.world = World(self)
        self.world.serve()
        self.claims = {"kept": self.world.path("kept")}
        os.mkdir(self.claims["kept"])
        self.script = self.world.path("stepping.py")
        with open(f"{SOURCE}/tests/slurm/slow.py", encoding="utf-8") as file:
            text = file.read()
        # It leaves a mark once it trains.
        marked = text.replace("        run.step()\n", "        run.step()\n        open(MARK, 'w').close()\n")
        self.assertNotEqual(marked, text)
        with open(self.script, "w", encoding="utf-8") as file:
            file.write("import os\nMARK = os.path.expanduser('~/stepped')\n" + marked)

    def pod(self, *words: str) -> Pod:
        listed = self.world.ask(
            "fleet", "manifest", "a100", "--kubernetes", "--image=registry.example/noisefloor:0.2",
            "--checkpoints-claim=kept", "--grace=5s", f"--env=PYTHONPATH={SOURCE}/worker/python",
            f"--worker=--trainer=slow={sys.executable} {self.script}",
            "--worker=--declare=test-cpu", *words)
        return Pod(self.world, listed["items"][0], self.claims)

    def names(self) -> list[str]:
        return [one["name"] for one in self.world.ask("workers")["workers"] if one["connected"]]

    def test_it_registers_by_its_pod_and_node_keeps_its_checkpoint_and_ends_in_time(self) -> None:
        pod = self.pod("--idle=0s")
        process = pod.start()
        wait_until(self.names, f"a worker is connected: {pod.said()}")
        self.assertEqual(self.names(), [POD])
        unit = self.world.ask("workers")["workers"][0]["devices"][0]["unit"]
        self.assertTrue(unit.startswith(NODE + " "), unit)
        sweep = self.world.submit(1, more="steps: 150")
        wait_until(lambda: os.path.exists(os.path.join(pod.places["/tmp"], "stepped")), "it trains")
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        # Another code than that of a worker that leaves by itself: the Job begins another pod.
        self.assertEqual(process.wait(pod.grace), 75, pod.said())
        self.assertLess(time.monotonic() - begun, pod.grace - 5, "with time to spare")
        self.assertEqual(os.listdir(pod.places["/var/lib/noisefloor"]), [], "its state has gone")
        kept = [name for _, _, names in os.walk(self.claims["kept"]) for name in names]
        self.assertTrue(kept, "a checkpoint is kept")
        wait_until(lambda: self.world.counts(sweep)["waiting"] == 1, "its member waits again")

        # The next one goes on from there, and leaves by itself: its Job is complete.
        following = self.pod("--idle=2s")
        last = following.start()
        self.world.wait_for_end(sweep)
        self.assertEqual(last.wait(PATIENCE_S), 0, following.said())
        self.assertIn("idle", following.said())
        rows = self.world.rows("SELECT attempt, accepted FROM v_attempt ORDER BY attempt")
        self.assertEqual(rows, [[1, 0], [2, 1]])

    def test_before_its_time_is_up_it_begins_nothing_new_and_leaves(self) -> None:
        pod = self.pod("--idle=0s", "--time=32s", "--drain-before=30s")
        self.assertIn("--leave-after=2", pod.words)
        process = pod.start()
        self.assertEqual(process.wait(30), 0, pod.said())
        self.assertIn("--leave-after: nothing new is begun", pod.said())

    def test_what_the_job_gives_up_for_ends_with_the_codes_that_it_knows(self) -> None:
        hopeless = self.pod()
        os.remove(os.path.join(hopeless.places["/etc/noisefloor/access"], "worker.access"))
        self.assertEqual(hopeless.start().wait(60), 2)
        self.world.ask("access", "revoke", "worker")
        refused = self.pod()
        self.assertEqual(refused.start().wait(60), 1, refused.said())


def unit_words(line: str) -> list[str]:
    """Of ExecStart=, as systemd takes it apart."""
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line)]


class Unit(unittest.TestCase):
    def test_it_starts_a_worker_as_it_is_told(self) -> None:
        world = World(self)
        world.serve()
        nasty = f"other=sh -c \"echo 100% '$HOME'\""
        unit = world.ask("fleet", "manifest", "lab", "--systemd", f"--program={BIN}/noisefloor-worker",
                         f"--worker=--trainer={SLOW}", "--worker=--declare=test-cpu",
                         "--worker=--slots=2", "--grace=5s",
                         f"--env=PYTHONPATH={SOURCE}/worker/python")
        self.assertEqual(unit["unit"], "noisefloor-worker-lab.service")
        line, = re.findall("^ExecStart=(.*)$", unit["text"], re.MULTILINE)
        words = [word.replace("%l", "box").replace("${STATE_DIRECTORY}", world.path("state"))
                 .replace("${NOISEFLOOR_DRAIN_SECONDS}", "1") for word in unit_words(line)]
        with open(world.path("unit.log"), "wb") as log:
            world.workers["unit"] = subprocess.Popen(
                words, env={**world.environment, "NOISEFLOOR_ACCESS": world.access}, stdout=log,
                stderr=log, stdin=subprocess.DEVNULL, cwd=world.folder)
        world.wait_for_workers(1)
        self.assertEqual(world.ask("workers")["workers"][0]["name"], "box-lab")
        world.wait_for_end(world.submit(2, more="steps: 2"))
        self.assertEqual(world.stop("unit"), 0)
        told = world.ask("fleet", "manifest", "lab", "--systemd", f"--worker=--trainer={nasty}")
        line, = re.findall("^ExecStart=(.*)$", told["text"], re.MULTILINE)
        self.assertEqual(unit_words(line)[-1], f"--trainer={nasty}")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_systemd_understands_every_line(self) -> None:
        world = World(self)
        unit = world.ask("fleet", "manifest", "lab", "--systemd", f"--program={BIN}/noisefloor-worker",
                         "--worker=--trainer=mine=python \"100% $HOME\"", "--env=A=x y", "--idle=5m")
        path = world.path(unit["unit"])
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit["text"])
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True,
                              text=True, timeout=PATIENCE_S)
        mine = [line for line in done.stderr.splitlines() if unit["unit"] in line]
        self.assertEqual(mine, [], done.stderr)
        with open(path, "a", encoding="utf-8") as file:
            file.write("NoSuchLine=yes\n")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True,
                              text=True, timeout=PATIENCE_S)
        self.assertIn("NoSuchLine", done.stderr, "it would say so")


if __name__ == "__main__":
    unittest.main()
