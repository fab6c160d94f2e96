"""The trainer's processes, each of which is stopped in time: what tests/gpu/run looks at."""
import concurrent.futures
import contextlib
import importlib.util
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
AT_ONCE = min(8, len(os.sched_getaffinity(0)))


class Failure(Exception):
    """A process that should have done something did not."""


class NoTime(Exception):
    """The script has to be done."""


class Deadline:
    def __init__(self, minutes, most=120):
        """most: seconds of one process, against hanging, never to prove speed."""
        self.end, self.most = time.monotonic() + 60 * minutes, most

    def seconds(self):
        """Those that a process may take which starts now."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise NoTime("no time left")
        return min(self.most, left)


def finished(command, deadline, variables=None):
    """The process when it has ended, by itself."""
    limit = deadline.seconds()
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired as stopped:
            os.killpg(process.pid, signal.SIGKILL)  # With what it has started, which may hold the GPU.
            process.communicate()
            deadline.seconds()                 # Raises where the script's time is why.
            raise Failure(f"{command[0]}: stopped after {limit:.0f} s") from stopped
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextlib.contextmanager
def killed_after(seconds, process):
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def torch_libraries():
    """Where Python's package torch has LibTorch with CUDA; None without one."""
    package = importlib.util.find_spec("torch")
    for folder in (package and package.submodule_search_locations) or []:
        if (pathlib.Path(folder) / "lib/libtorch_cuda.so").is_file():
            return f"{folder}/lib"
    return None


def outcome_of(told, exit_code, said):
    """The last event, with all records, and the times of the first event, the first records and the last event."""
    if not told:
        raise Failure(f"the trainer said nothing, exit code {exit_code}: {said}")
    events = [event for _, event in told]
    outcome = events[-1]
    if outcome["event"] != "done":
        raise Failure(f"exit code {exit_code}: {outcome['event']}: {outcome.get('message', said)}")
    outcome["records"] = [record for event in events if event["event"] == "records"
                          for record in event["records"]]
    outcome["began"], outcome["ended"] = told[0][0], told[-1][0]
    outcome["under_way"] = next((when for when, event in told if event["event"] == "records"), told[-1][0])
    return outcome


class Trainer:
    """Runs members and keeps their outcomes."""

    def __init__(self, arguments, folder, deadline, add):
        """add: takes a row (Checks.add)."""
        self.program, self.folder = arguments.trainer, folder
        self.deadline, self.add = deadline, add
        self.numbers = itertools.count(1)
        self.few = arguments.rehearse
        self.variables = dict(os.environ, OMP_NUM_THREADS="1",
                              MKL_NUM_THREADS="1", OMP_DYNAMIC="FALSE", MKL_DYNAMIC="FALSE",
                              NOISEFLOOR_KERNELS="off")
        self.use(arguments.libraries)
        self.start()

    def use(self, libraries):
        self.libraries = libraries
        if libraries:
            old = self.variables.get("LD_LIBRARY_PATH", "")
            self.variables["LD_LIBRARY_PATH"] = libraries + (":" + old if old else "")

    def start(self):
        """That it starts is shown first: as it is, or else with the LibTorch of Python's torch."""
        try:
            self.text = self.answer("--example-spec")
        except Failure:
            found = None if self.libraries else torch_libraries()
            if found is None:
                raise
            self.use(found)
            self.text = self.answer("--example-spec")

    def answer(self, *options, **variables):
        """What it prints."""
        done = finished([self.program, *options], self.deadline, dict(self.variables, **variables))
        if done.returncode != 0:
            raise Failure(f"{' '.join(options)}: exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def example(self):
        return json.loads(self.text)

    def work(self):
        work = self.folder / str(next(self.numbers))
        work.mkdir()
        return work

    def by_hand(self, specification):
        """The outcome of a direct run, which gets its class's variables from itself."""
        work = self.work()
        (work / "spec.json").write_text(json.dumps(specification))
        variables = dict(self.variables)
        variables.pop("CUDA_VISIBLE_DEVICES", None)
        return self.outcome([f"--spec={work}/spec.json", f"--work={work}",
                             f"--data-root={ROOT}/deploy/data"], "", variables, work)

    def run(self, specification, keep=None, **more):
        """keep: files that it leaves, by name, and where they go. more: of the request. Any thread."""
        work = self.work()
        gpu = specification["hardware_class"].startswith("nvidia-")
        visible = ",".join(str(i) for i in range(specification["train"]["devices"]))
        variables = dict(self.variables, CUDA_VISIBLE_DEVICES=visible if gpu else "",
                         CUDA_DEVICE_ORDER="PCI_BUS_ID")
        fixed = specification["noise"]["kernels"]["state"] == "fixed"
        if gpu and (fixed or specification["measure"]["steps"] > 0):
            variables["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        request = dict(protocol=1, member="s0c0r0", attempt=1, specification=specification,
                       data_root=str(ROOT / "deploy/data"), work_directory=str(work),
                       write_evaluation_set=False)
        request.update(more)
        return self.outcome([], json.dumps(request) + "\n", variables, work, keep)

    def pool(self, at_once=AT_ONCE):
        """For members of which none is timed and none waits for another."""
        return concurrent.futures.ThreadPoolExecutor(at_once)

    def probe(self, hardware_class):
        """What it says of the class before a worker offers it."""
        visible = "0" if hardware_class.startswith("nvidia-") else ""
        return json.loads(self.answer("--probe", hardware_class, CUDA_VISIBLE_DEVICES=visible))

    def outcome(self, options, request, variables, work, keep=None):
        """Of a member that is done; where it fell when it left, that is a row of its own."""
        try:
            told, exit_code, said = self.watch(options, request, variables, work)
            outcome = outcome_of(told, exit_code, said)
            for name, into in (keep or {}).items():
                shutil.copy(work / name, into)
        finally:
            shutil.rmtree(work)                # Weights: many and large.
        if exit_code != 0:
            self.add("a member that is done leaves with exit code 0", False, f"exit code {exit_code}: {said}")
        return outcome

    def watch(self, options, request, variables, work):
        """Its events, each with the time when it came, its exit code, and what it said besides."""
        limit, start = self.deadline.seconds(), time.monotonic()
        # A descriptor of their own: libraries may write to the others.
        reading, writing = os.pipe()
        with open(work / "stderr", "w+", encoding="utf-8") as errors, open(reading, encoding="utf-8") as lines:
            with subprocess.Popen([self.program, *options], text=True, stderr=errors, stdout=errors,
                                  stdin=subprocess.PIPE, pass_fds=[writing],
                                  env=dict(variables, NOISEFLOOR_EVENTS=str(writing))) as process:
                os.close(writing)
                with killed_after(limit, process):
                    with contextlib.suppress(BrokenPipeError):  # It says why on its other ways out.
                        process.stdin.write(request)
                        process.stdin.close()
                    told = [(time.monotonic(), line) for line in lines]
                    process.wait()
            errors.seek(0)
            said = errors.read().strip()
        if process.returncode == -signal.SIGKILL and time.monotonic() - start >= limit:
            self.deadline.seconds()            # Raises where the script's time is why.
            said = f"stopped after {limit:.0f} s. {said}"
        # A line that was cut off is no event.
        return [(when, json.loads(line)) for when, line in told if line.endswith("\n")], process.returncode, said
