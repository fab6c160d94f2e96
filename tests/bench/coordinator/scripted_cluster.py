#!/usr/bin/env python3
"""A cluster that is a script: as sbatch it starts a job's places as processes of this machine, as
squeue it tells them, as scancel it ends them. What it knows is in jobs.db in $TMPDIR; each call
leaves a mark in NAME.calls. pool_bench.py puts it on PATH."""
import os
import re
import signal
import sqlite3
import subprocess
import sys

NAME = os.path.basename(sys.argv[0])
FOLDER = os.environ["TMPDIR"]


def option(words, name, otherwise=""):
    found = [word.split("=", 1)[1] for word in words if word.startswith(f"--{name}=")]
    return found[-1] if found else otherwise


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(") ")[2][:1] not in ("Z", "X")
    except OSError:
        return False


def submit(database, words):
    if "--test-only" in words:
        print("sbatch: Job 1 to start at once on this machine", file=sys.stderr)
        return
    script = sys.stdin.read()
    last = int(option(words, "array", "0-0").split("-")[1])
    number = database.execute("SELECT coalesce(max(number), 0) + 1 FROM job").fetchone()[0]
    for index in range(last + 1):
        path = os.path.join(FOLDER, f"job-{number}-{index}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        environment = {**os.environ, "SLURM_JOB_ID": str(number + index)}
        if last > 0:
            environment["SLURM_ARRAY_TASK_ID"] = str(index)
        process = subprocess.Popen(["/bin/bash", path], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        database.execute("INSERT INTO job VALUES (?, ?, ?, ?, ?)",
                         (number, index, last, option(words, "job-name"), process.pid))
    database.commit()
    print(number)


def key(number, index, last):
    return f"{number}_{index}" if last > 0 else str(number)


def queue(database, words):
    wanted = words[words.index("-j") + 1] if "-j" in words else ""
    for number, index, last, name, pid in database.execute("SELECT * FROM job"):
        one = key(number, index, last)
        if wanted and wanted not in (one, str(number)):
            continue
        state = "RUNNING" if lives(pid) else "COMPLETED"
        place = str(index) if last > 0 else "N/A"
        print(f"{one}|{number}|{place}|{state}|None|{name}|here|N/A|1700000000")


def cancel(database, words):
    name, keys = option(words, "name"), [word for word in words if re.match(r"\d", word)]
    for number, index, last, its_name, pid in database.execute("SELECT * FROM job"):
        its_keys = {key(number, index, last), str(number)}
        meant = its_name == name if name else not its_keys.isdisjoint(keys)
        if meant and lives(pid):
            os.killpg(pid, signal.SIGTERM)


def main():
    with open(os.path.join(FOLDER, f"{NAME}.calls"), "a", encoding="ascii") as file:
        file.write(".")
    database = sqlite3.connect(os.path.join(FOLDER, "jobs.db"), timeout=60)
    database.execute("CREATE TABLE IF NOT EXISTS job (number INTEGER, place INTEGER, last INTEGER, "
                     "name TEXT, pid INTEGER)")
    {"sbatch": submit, "squeue": queue, "scancel": cancel}[NAME](database, sys.argv[1:])
    database.close()


if __name__ == "__main__":
    main()
