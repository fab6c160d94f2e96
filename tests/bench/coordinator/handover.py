#!/usr/bin/env python3
"""For how long nobody answers while one coordinator hands its data over to the next one.

    handover.py [--programs=build/release/bin] [--megabytes=10,100] [--files=200] [--folder=DIR]

Makes a home with a database of that size and so many files of 1 MB, and hands it over from one process
to another. Prints JSON, for each size: seconds from the last word of the one to the first of the other.
Fails when the second has not every row.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[3]
TEXT = 1000  # Bytes of an event.


def serve(program, folder, name, log):
    process = subprocess.Popen(
        [program, "serve", f"--home={folder}/{name}", f"--handover={folder}/shared",
         "--listen=127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
        text=True)
    line = process.stdout.readline()
    if " listens on " not in line:
        sys.exit(f"{name} does not serve: {(folder / 'log').read_text(encoding='utf-8')}")
    return process


def fill(home, megabytes, files):
    """With events, and files of an attempt that never was."""
    database = sqlite3.connect(home / "noisefloor.db")
    database.executemany(
        "INSERT INTO event(kind, text, at_us) VALUES ('noted', ?, 0)",
        ((os.urandom(TEXT // 2).hex(),) for _ in range(megabytes * 1000000 // TEXT)))
    for number in range(files):
        content = os.urandom(1000000)
        sha256 = hashlib.sha256(content).hexdigest()
        (home / "blobs" / sha256[:2] / sha256[2:]).write_bytes(content)
        database.execute("INSERT INTO artifact(lease, kind, path, sha256, size_bytes) "
                         "VALUES (?, 'log', 'log', ?, ?)", (number + 1, sha256, len(content)))
    database.commit()
    database.execute("VACUUM")
    events = database.execute("SELECT count(*) FROM event").fetchone()[0]
    database.close()
    return events


def at(log, word):
    """When that was last said."""
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if f" {word} " in line]
    return datetime.datetime.fromisoformat(lines[-1].split()[0].replace("Z", "+00:00"))


def measure(program, folder, megabytes, files):
    (folder / "shared").mkdir()
    log = folder / "log"
    with open(log, "a", encoding="utf-8") as said:
        first = serve(program, folder, "first", said)
        first.terminate()
        first.wait()
        events = fill(folder / "first", megabytes, files)
        first = serve(program, folder, "first", said)
        second = serve(program, folder, "second", said)
        code = first.wait()
        gap = (at(log, "coordinator_serves") - at(log, "hands_over")).total_seconds()
        second.terminate()
        second.wait()
    database = sqlite3.connect(folder / "second/noisefloor.db")
    if code or database.execute("SELECT count(*) FROM event").fetchone()[0] != events:
        sys.exit(f"not handed over whole: {log.read_text(encoding='utf-8')}")
    size = (folder / "second/noisefloor.db").stat().st_size
    return {"database_bytes": size, "files": files, "seconds": gap}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--programs", default=SOURCE / "build/release/bin", type=pathlib.Path)
    parser.add_argument("--megabytes", default="10,100")
    parser.add_argument("--files", default=200, type=int)
    parser.add_argument("--folder", help="on the disk to measure")
    given = parser.parse_args()
    rows = []
    for megabytes in given.megabytes.split(","):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            rows.append(measure(given.programs / "noisefloor", pathlib.Path(folder),
                                int(megabytes), given.files))
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
