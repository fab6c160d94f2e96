"""deploy/package: what it makes runs where there is neither the source tree nor its libraries."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.environ["NOISEFLOOR_SOURCE"]
CACHE = os.environ.get("NOISEFLOOR_CACHE", os.path.expanduser("~/.cache/noisefloor"))
SWEEP = """\
name: small
data: {name: fashion-mnist-sample, train_examples: 256, test_examples: 100}
train: {epochs: 1, batch_size: 64}
noise: [control, algo]
hardware: any
replicates: 2
"""
SCRIPT = """\
import noisefloor.member as nf
import random
with nf.member({"n": 3}, stack="own") as run:
    run.data(nf.data.identity_of([1]))
    with run.init:
        w = [[random.random() for _ in range(2)] for _ in range(run["n"])]
    run.initial({"w": w})
    run.progress(1)
    run.batch([[1.0]], [0])
    run.step()
    run.evaluation(w, [0] * run["n"])
    run.finish({"w": w})
"""
ASK = """\
import noisefloor.client as nf
with nf.serve(trainers={"own": "python own.py"}) as here, nf.Client(here.address) as client:
    sweep = client.submit("own.yaml")
    client.wait(sweep)
    print(nf.tables.members(client.members(sweep)).groupby("plan").state.agg(set).to_dict())
"""
OWN = "name: own\nstack: own\nnoise: [control, {name: draw, init: free}]\nreplicates: 2\n"


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp(prefix="nf-package-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.symlink(os.environ["NOISEFLOOR_PACKAGES"], cls.folder + "/made")
        cls.torch = glob.glob(os.path.join(CACHE, "stacks/torch-*/torch"))[0]

    def run_in(self, name: str, *words: str, code: int = 0, path: str = "", **more: str) -> str:
        """In a folder and a home of its own, with nothing of this environment."""
        work = os.path.join(self.folder, name)
        os.makedirs(work, exist_ok=True)
        for file, content in (("small.yaml", SWEEP), ("own.py", SCRIPT), ("own.yaml", OWN),
                              ("ask.py", ASK)):
            with open(os.path.join(work, file), "w", encoding="utf-8") as into:
                into.write(content)
        done = subprocess.run(words, cwd=work, capture_output=True, text=True,
                              env={"PATH": path + "/usr/local/bin:/usr/bin:/bin", "HOME": work,
                                   "TERM": "dumb", **more}, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def check_programs(self, tree: str) -> None:
        """Everything they load but glibc is in the tree, and nothing knows where it was built."""
        for name in ("noisefloor", "noisefloor-worker"):
            told = subprocess.run(["ldd", os.path.join(tree, "libexec", name)], check=True,
                                  capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
            outside = [line.split()[0] for line in told.stdout.splitlines()
                       if "=>" in line and os.path.realpath(tree) not in line]
            for library in outside:
                self.assertRegex(library, r"^lib(c|m|dl|rt|pthread|resolv)\.so")
        trainers = os.listdir(os.path.join(tree, "libexec"))
        self.assertIn("noisefloor-trainer", trainers)
        self.assertIn("noisefloor-trainer-torch-2.7-cu126", trainers)
        for name in trainers:
            with open(os.path.join(tree, "libexec", name), "rb") as file:
                content = file.read()
            self.assertEqual(content.find(ROOT.encode() + b"/"), -1, name)
            self.assertEqual(content.find(CACHE.encode()), -1, name)

    def test_the_tarball_runs_where_it_is_unpacked(self) -> None:
        packed = glob.glob(self.folder + "/made/*.tar.gz")[0]
        subprocess.run(["tar", "-xzf", packed, "-C", self.folder], check=True)
        tree = glob.glob(self.folder + "/noisefloor-*")[0]
        self.check_programs(tree)
        program = os.path.join(tree, "bin/noisefloor")
        self.assertRegex(self.run_in("plain", program, "version"), r"^noisefloor \d+\.\d+\.\d+\n$")
        # A link to a program is as good as the program.
        os.symlink(program, os.path.join(self.folder, "nf"))
        self.run_in("plain", os.path.join(self.folder, "nf"), "version")

        lacking = self.run_in("none", program, "run", "small.yaml", code=1)
        self.assertIn("libtorch_cpu.so: cannot open shared object file", lacking)
        self.assertIn(f"{os.path.realpath(tree)}/torch is to be the folder `torch`", lacking)
        os.symlink(self.torch, os.path.join(tree, "torch"))
        self.assertIn("small-s1.html", self.run_in("plain", program, "run", "small.yaml"))
        checked = self.run_in("plain", program, "conform", "--", "python3", "own.py")
        self.assertIn("Nothing comes in from outside", checked)

    def test_a_system_that_is_too_old_is_told_so(self) -> None:
        with zipfile.ZipFile(glob.glob(self.folder + "/made/*.whl")[0]) as wheel:
            needed = re.search(r"manylinux_2_(\d+)_", wheel.filename)[1]
        launch = os.path.join(self.folder, "bin/noisefloor")
        os.makedirs(self.folder + "/bin")
        with open(os.path.join(ROOT, "deploy/packaging/launch.sh"), encoding="utf-8") as file:
            text = file.read().replace("@GLIBC@", "2." + needed)
        with open(launch, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(launch, 0o755)
        os.makedirs(self.folder + "/libexec")
        with open(self.folder + "/libexec/noisefloor", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho \"runs: $*\"\n")
        os.chmod(self.folder + "/libexec/noisefloor", 0o755)
        old = os.path.join(self.folder, "old")
        os.makedirs(old)
        for answer, good in (("glibc 2.31", False), ("glibc 2." + needed, True), ("", False),
                             ("glibc 2.99", True), ("musl 1.2", False)):
            with open(os.path.join(old, "getconf"), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho '{answer}'\n")
            os.chmod(os.path.join(old, "getconf"), 0o755)
            said = self.run_in("x", launch, "a b", code=0 if good else 1, path=old + ":")
            self.assertIn("runs: a b" if good else f"noisefloor: needs glibc 2.{needed} or newer, "
                          f"found", said)

    def test_the_wheel_is_all_that_pip_needs(self) -> None:
        environment = os.path.join(self.folder, "env")
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        packed = glob.glob(self.folder + "/made/*.whl")[0]
        subprocess.run([environment + "/bin/pip", "install", "-q", "--no-index", packed], check=True,
                       env={"PATH": "/usr/bin:/bin", "HOME": self.folder})
        packages = glob.glob(environment + "/lib/python3*/site-packages")[0]
        self.check_programs(packages + "/noisefloor/programs")
        program = environment + "/bin/noisefloor"
        # A script of one's own needs no LibTorch.
        said = self.run_in("own", program, "run", "own.yaml", "--trainer",
                           f"own={environment}/bin/python own.py")
        self.assertIn("own-s1.html", said)
        self.assertIn("Nothing comes in from outside", self.run_in(
            "own", program, "conform", "--", environment + "/bin/python", "own.py"))
        client = os.path.join(CACHE, "python-client-packages")
        if os.path.exists(client):
            self.assertIn("{'control': {'done'}, 'draw': {'done'}}", self.run_in(
                "ask", environment + "/bin/python", "ask.py", path=environment + "/bin:",
                PYTHONPATH=client))
        os.symlink(self.torch, packages + "/torch")
        self.assertIn("small-s1.html", self.run_in("first", program, "run", "small.yaml"))

    def test_libraries_keep_their_licences(self) -> None:
        with zipfile.ZipFile(glob.glob(self.folder + "/made/*.whl")[0]) as wheel:
            names = wheel.namelist()
        libraries = [name for name in names if "/programs/lib/" in name]
        licences = [name for name in names if "/doc/noisefloor/libraries/" in name]
        self.assertGreater(len(libraries), 20)
        self.assertGreater(len(licences), 10)
        self.assertIn("noisefloor/member/__init__.py", names)
        self.assertIn("noisefloor/member/py.typed", names)


if __name__ == "__main__":
    unittest.main()
