"""A real Slurm cluster of three nodes on this machine, for one test: own munge and ports, loopback.

Works as root and as an ordinary user, without systemd and cgroups. Times are as short as Slurm
takes them: a dead node is noticed after some 25 s, a requeued job waits 6 s.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from typing import Callable, Sequence

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
# Name, features, GPUs by type.
NODES = (("nfv100", "v100", {"v100": 1}), ("nfa100", "a100,avx512", {"a100": 2}),
         ("nfcpu", "cpuonly", {}))

CONF = """\
ClusterName=nftest
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
MailProg=/bin/true
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
GresTypes=gpu
SlurmdTimeout=5
SlurmctldTimeout=10
KillWait=3
MinJobAge=300
InactiveLimit=0
ReturnToService=2
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
{nodes}
PartitionName=DEFAULT Nodes={names} MaxTime=UNLIMITED DefaultTime=10 State=UP GraceTime=5
PartitionName=main Default=YES PriorityTier=1 PreemptMode=REQUEUE
PartitionName=scavenge PriorityTier=1 PreemptMode=CANCEL
PartitionName=urgent PriorityTier=10 PreemptMode=OFF
"""


def wait_until(good: Callable[[], object], seconds: float, what: str) -> None:
    """Bounded by the clock: a client of Slurm takes 9 s to give up on a dead controller."""
    until = time.monotonic() + seconds
    while not good():
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


class Cluster:
    """Runs from its making to stop()."""

    @staticmethod
    def available() -> bool:
        return all(shutil.which(name, path=PATH) for name in PROGRAMS)

    def __init__(self, conf: dict[str, str] | None = None) -> None:
        """`conf`: of slurm.conf, by key, what is to be otherwise."""
        # Short: the paths of sockets are. Others must be let through: munged asks for it.
        self.folder = tempfile.mkdtemp(prefix="nfs-", dir="/tmp")
        os.chmod(self.folder, 0o711)
        for name in ("munge", "state", "spool", "log", "run", "dev"):
            os.mkdir(os.path.join(self.folder, name), 0o755)
        os.chmod(os.path.join(self.folder, "munge"), 0o711)
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._configure(conf or {})
        try:
            self._start_all()
        except BaseException:
            self.stop()
            raise

    def environment(self) -> dict[str, str]:
        """What programs of Slurm need to find this cluster, and no other."""
        return {"PATH": PATH, "HOME": os.environ.get("HOME", "/"),
                "SLURM_CONF": os.path.join(self.folder, "slurm.conf")}

    def run(self, *words: str, code: int | None = 0) -> str:
        done = subprocess.run(words, env=self.environment(), capture_output=True, text=True,
                              timeout=60)
        assert code is None or done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout

    def submit(self, script: str, *words: str) -> str:
        """A job of somebody else; its key."""
        return subprocess.run(["sbatch", "--parsable", "-o", "/dev/null", *words], check=True,
                              env=self.environment(), input=f"#!/bin/sh\n{script}\n", text=True,
                              capture_output=True, timeout=60).stdout.strip()

    def jobs(self) -> list[dict[str, str]]:
        """All that are known, ended ones too: key, state, name, node."""
        lines = self.run("squeue", "-a", "-r", "-h", "-t", "all", "-o", "%i|%T|%j|%N").splitlines()
        return [dict(zip(("key", "state", "name", "node"), line.split("|"))) for line in lines]

    def pid(self, daemon: str) -> int:
        return self._daemons[daemon].pid

    def forget(self, daemon: str) -> None:
        """Somebody else has killed it."""
        self._daemons.pop(daemon).wait(30)

    def kill(self, daemon: str) -> None:
        """kill -9 of "slurmctld", or of "slurmd-NODE"; its jobs live on."""
        self._daemons[daemon].kill()
        self._daemons.pop(daemon).wait()

    def wait_until_kept(self, job: str) -> None:
        """Until the controller's state on disk has this job as it is now. It is written seconds
        later than anything happens (a busy machine: many), and a controller that dies before that
        begins a job once more which it takes to be waiting still."""
        changed = time.time_ns()
        self.run("scontrol", "update", f"jobid={job}", "comment=kept")  # Asks for a save.
        state = os.path.join(self.folder, "state", "job_state")
        wait_until(lambda: os.path.exists(state) and os.stat(state).st_mtime_ns > changed, 60,
                   f"the state of job {job} is saved")

    def start(self, daemon: str) -> None:
        name, _, node = daemon.partition("-")
        conf = self.environment()["SLURM_CONF"]
        self._start(daemon, [name, "-D", "-f", conf, *(["-N", node] if node else [])])

    def wait_for_nodes(self) -> None:
        """Resumes those that are out of use, as a person would: a controller that was killed may
        have kept that a node was down, and not that it came back, and one that has given a number
        twice drains the node on which it finds that ("Duplicate jobid")."""
        def ready() -> bool:
            done = subprocess.run(["sinfo", "-hN", "-o", "%N %T"], env=self.environment(),
                                  capture_output=True, text=True, timeout=30)
            # "down*": it does not answer, either.
            states = {words[0]: words[1].rstrip("*") for words in
                      map(str.split, done.stdout.splitlines())}
            for daemon in [name for name, process in self._daemons.items()
                           if name.startswith("slurmd") and process.poll() is not None]:
                self.start(daemon)  # Its port was still in use, perhaps.
            for node in [node for node, state in states.items()
                         if state in ("down", "draining", "drained")]:
                self.run("scontrol", "update", f"nodename={node}", "state=resume", code=None)
            return sum(state in ("idle", "mixed", "allocated", "completing")
                       for state in states.values()) == len(NODES)
        try:
            wait_until(ready, 60, "all nodes answer")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.run('sinfo', '-NlR', code=None)}\n"
                                 f"{self.run('scontrol', 'show', 'nodes', code=None)}") from None

    def stop(self) -> None:
        """Jobs first: they outlive their slurmd. Again: nothing."""
        if "slurmctld" in self._daemons:
            subprocess.run(["scancel", "--full", "--signal=KILL", "-u", getpass.getuser()],
                           env=self.environment(), capture_output=True, timeout=30)
        for name in sorted(self._daemons, key=lambda daemon: daemon == "munged"):
            daemon = self._daemons[name]
            daemon.terminate()
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._daemons.clear()
        wait_until(lambda: not self._end_jobs(), 20, "no process of a job is left")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end_jobs(self) -> int:
        """Ends what has our configuration in its environment and is of a job; how many were left.
        """
        ours = b"SLURM_CONF=" + os.fsencode(self.environment()["SLURM_CONF"])
        left = 0
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
                with open(f"/proc/{name}/stat", "rb") as file:
                    program, state = file.read().rpartition(b") ")[::2]
            except OSError:
                continue
            of_job = any(one.startswith(b"SLURM_JOB_ID=") for one in variables)
            if ours in variables and state[:1] not in (b"Z", b"X") and (
                    of_job or program.endswith(b"(slurmstepd")):
                left += 1
                os.kill(int(name), signal.SIGKILL)
        return left

    def _configure(self, conf: dict[str, str]) -> None:
        user = getpass.getuser()
        port = self._free_ports(len(NODES) + 1)
        nodes, gres = [], []
        for number, (name, features, gpus) in enumerate(NODES):
            line = (f"NodeName={name} NodeAddr=127.0.0.1 NodeHostname={name} "
                    f"Port={port + 1 + number} CPUs=4 RealMemory=4000 Feature={features} "
                    "State=UNKNOWN")
            for kind, count in gpus.items():
                line += f" Gres=gpu:{kind}:{count}"
                files = []
                for index in range(count):  # A device must be one: these look so.
                    files.append(os.path.join(self.folder, "dev", f"{name}-nvidia{index}"))
                    os.symlink("/dev/null", files[-1])
                gres.append(f"NodeName={name} Name=gpu Type={kind} File={','.join(files)}")
            nodes.append(line)
            os.mkdir(os.path.join(self.folder, "spool", name))
        text = CONF.format(port=port, user=user, folder=self.folder, nodes="\n".join(nodes),
                           names=",".join(name for name, *_ in NODES))
        lines = [line for line in text.splitlines() if line.partition("=")[0] not in conf]
        lines += [f"{key}={value}" for key, value in conf.items()]
        files = {"slurm.conf": "\n".join(lines) + "\n",
                 "gres.conf": "\n".join(gres) + "\n", "cgroup.conf": "CgroupAutomount=no\n"}
        for name, content in files.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(content)

    @staticmethod
    def _free_ports(count: int) -> int:
        """The first of `count` in a row that nobody has, below those that the system gives out."""
        for _ in range(100):
            first = 20000 + int.from_bytes(os.urandom(2), "little") % 10000
            try:
                for port in range(first, first + count):
                    with socket.socket() as one:
                        one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
        raise AssertionError("no free ports")

    def _start_all(self) -> None:
        munge = os.path.join(self.folder, "munge")
        key = os.path.join(munge, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(128))
        self._start("munged", ["munged", "--foreground", f"--key-file={key}",
                               f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                               f"--log-file={munge}/log", f"--seed-file={munge}/seed"])
        wait_until(lambda: os.path.exists(f"{munge}/socket"), 20, "munged answers")
        self.start("slurmctld")
        for name, *_ in NODES:
            self.start(f"slurmd-{name}")
        self.wait_for_nodes()

    def _start(self, name: str, words: Sequence[str]) -> None:
        with open(os.path.join(self.folder, "log", f"{name}.out"), "ab") as log:
            self._daemons[name] = subprocess.Popen(
                words, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
