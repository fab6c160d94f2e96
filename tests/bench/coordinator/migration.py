#!/usr/bin/env python3
"""How long a large home of version 0.1.0 takes to be brought up, and the disk that it needs meanwhile.

    migration.py [--programs=build/release/bin] [--members=100000] [--folder=DIR] [--rounds=3]

Makes the home of the fixture (tests/coordinator/store/home_of_0_1.sql) large: one cell, of whose
members half have ended as its first one did, each with its own lease, specification and environment,
as that version kept them. Prints JSON: seconds until `noisefloor serve` listens, bytes of the database
before and after, the most that home and SQLite's temporary files had together; medians over rounds.
Fails when the home of after does not have every member and result.
"""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
FIXTURE = SOURCE / "tests/coordinator/store/home_of_0_1.sql"
ENDED_LEASE = 1  # Of member s1c0r0 of the fixture.
# Stands for the hash of an environment: beginnings differ, too.
HASH = "printf('%08x%056x', n.i, n.i)"
OF_A_LEASE = ("attempt", "attempt_hash", "attempt_metric", "record")


def clone(database, table, numbers, changes, where):
    """Rows of `table` that `where` selects, once for each of `numbers`, `changes` in place of columns."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changes.get(column, f"t.{column}") for column in columns)
    database.execute(f"INSERT INTO {table} SELECT {values} FROM {numbers} n, {table} t WHERE {where}")


def make(path, members):
    database = sqlite3.connect(path)
    database.executescript(FIXTURE.read_text(encoding="utf-8"))
    for table in OF_A_LEASE + ("artifact", "lease"):
        database.execute(f"DELETE FROM {table} WHERE lease <> {ENDED_LEASE}")
    database.execute("DELETE FROM event")
    for table in ("lane", "member"):
        database.execute(f"DELETE FROM {table} WHERE cell <> 0 OR replicate <> 0")
    database.execute("DELETE FROM cell WHERE cell <> 0")
    definition = json.loads(database.execute("SELECT definition FROM sweep").fetchone()[0])
    definition["axes"][0][0]["values"] = definition["axes"][0][0]["values"][:1]
    definition["plans"] = definition["plans"][:1]
    definition["replicates"] = members
    database.execute("UPDATE sweep SET replicates = ?, definition = ?",
                     (members, json.dumps(definition, separators=(",", ":"), sort_keys=True)))
    database.execute("CREATE TEMP TABLE rest AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                     f"SELECT i + 1 FROM n WHERE i < {members - 1}) SELECT i FROM n")
    database.execute(f"CREATE TEMP TABLE ended AS SELECT i FROM rest WHERE i < {members // 2}")
    changes = {"replicate": "n.i", "lease": f"n.i + {ENDED_LEASE}"}
    clone(database, "member", "rest",
          {**changes, "state": f"iif(n.i < {members // 2}, 'done', 'waiting')",
           "attempt": f"n.i < {members // 2}"}, "t.replicate = 0")
    clone(database, "lane", "rest", changes, "t.replicate = 0")
    clone(database, "lease", "ended", changes, f"t.lease = {ENDED_LEASE}")
    # Times and loads of the machine were in it: no two were the same.
    database.execute(
        f"INSERT INTO environment SELECT {HASH}, json_set(t.facts, '$.load_at_end', "
        "'0.40 0.34 1.04 5/117 ' || n.i) FROM ended n, environment t WHERE t.sha256 = "
        f"(SELECT environment FROM attempt WHERE lease = {ENDED_LEASE})")
    for table in OF_A_LEASE:
        clone(database, table, "ended", {**changes, "environment": HASH},
              f"t.lease = {ENDED_LEASE}")
    database.execute("INSERT INTO event(sweep, cell, replicate, kind, text, at_us) SELECT 1, 0, i, "
                     "'member_done', 's1c0r' || i, 1795355300000000 + i FROM ended")
    database.commit()
    database.execute("VACUUM")
    database.close()


class Disk:
    """The most bytes that files below folders had, looked at every 20 ms. A file that SQLite has
    removed while it writes to it is found by who has it open."""
    def __init__(self, process, folders):
        self.process, self.folders, self.most = process, folders, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.ended.wait(0.02):
            files = {}
            try:
                opened = [f"/proc/{self.process}/fd/{name}"
                          for name in os.listdir(f"/proc/{self.process}/fd")]
            except OSError:
                opened = []
            below = [str(file) for folder in self.folders for file in pathlib.Path(folder).rglob("*")]
            for path in below + opened:
                try:
                    about = os.stat(path)
                    target = os.readlink(path) if path in opened else path
                except OSError:
                    continue
                if any(target.startswith(str(folder)) for folder in self.folders):
                    files[about.st_dev, about.st_ino] = about.st_blocks * 512
            self.most = max(self.most, sum(files.values()))

    def stop(self):
        self.ended.set()
        self.thread.join()
        return self.most


def bring_up(program, template, folder, members):
    home, temporary = folder / "home", folder / "temporary"
    for path in (home, temporary):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    shutil.copyfile(template, home / "noisefloor.db")
    os.sync()
    begin = time.monotonic()
    served = subprocess.Popen(
        [program, "serve", f"--home={home}", "--listen=127.0.0.1:0"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "SQLITE_TMPDIR": str(temporary)})
    disk = Disk(served.pid, (home, temporary))
    line = served.stdout.readline()
    seconds = time.monotonic() - begin
    most = disk.stop()
    served.terminate()
    _, told = served.communicate()
    if " listens on " not in line:
        sys.exit(f"migration: the home was refused: {told}")
    after = sqlite3.connect(f"file:{home}/noisefloor.db?mode=ro", uri=True)
    states = dict(after.execute("SELECT state, count(*) FROM v_member GROUP BY state"))
    accepted = after.execute("SELECT count(*) FROM attempt WHERE accepted = 1").fetchone()[0]
    after.close()
    wanted = {"done": members // 2, "waiting": members - members // 2}
    if states != wanted or accepted != members // 2:
        sys.exit(f"migration: {states}, {accepted} results of {wanted}")
    return {"seconds": seconds, "after_mb": (home / "noisefloor.db").stat().st_size / 1e6,
            "most_mb": most / 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--programs", default=SOURCE / "build/release/bin", type=pathlib.Path)
    parser.add_argument("--members", default=100000, type=int)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    args = parser.parse_args()
    if args.members < 4 or args.rounds < 1:
        parser.error("expected --members of 4 or more and --rounds of 1 or more")
    with tempfile.TemporaryDirectory(dir=args.folder) as made:
        folder = pathlib.Path(made)
        template = folder / "template.db"
        make(template, args.members)
        rounds = [bring_up(args.programs / "noisefloor", template, folder, args.members)
                  for _ in range(args.rounds)]
        print(json.dumps({
            "members": args.members, "rounds": args.rounds,
            "before_mb": round(template.stat().st_size / 1e6, 1),
            **{name: {"median": round(statistics.median(values), 2), "least": round(min(values), 2),
                      "most": round(max(values), 2)}
               for name in rounds[0] for values in [[one[name] for one in rounds]]}}, indent=2))


if __name__ == "__main__":
    main()
