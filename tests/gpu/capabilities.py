#!/usr/bin/env python3
"""What has run where: the table of tests/gpu/README.md.

    tests/gpu/capabilities.py            prints it
    tests/gpu/capabilities.py --write    writes it into README.md
    tests/gpu/capabilities.py --check BUILD   whether README.md has it, and the tests that it names are
                                      tests of this build

A result on a GPU (verified.json, written by tests/gpu/run) holds the SHA-256 of all files that it depended on: when one
of them has changed since, or come or gone, the table says "not verified".
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Of tests/gpu/run, in its order.
PARTS = ("stock", "infer", "measure", "kernels", "wired", "noisy", "together", "devices", "speed")
BEGIN, END = "<!-- table of capabilities -->\n", "<!-- end of the table -->\n"


def capabilities():
    with open(HERE / "capabilities.toml", "rb") as file:
        return tomllib.load(file)["capability"]


def content_of(capability, root=ROOT):
    """The SHA-256 over paths and contents of what a capability depends on."""
    digest = hashlib.sha256()
    for name in sorted(capability["depends_on"]):
        place = root / name
        if not place.exists():
            raise FileNotFoundError(f"{capability['name']}: depends on {name}, which is not there")
        files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
        for path in files:
            text = path.read_bytes()
            digest.update(f"{path.relative_to(root)} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def read_verified(path):
    return json.loads(path.read_text()) if path.is_file() else {}


def record(part, held, gpu, date, path=HERE / "verified.json"):
    """Notes that a part of tests/gpu/run held on a GPU, at the present content; one that did not loses what was noted."""
    verified = read_verified(path)
    for capability in capabilities():
        if capability["gpu"] != part:
            continue
        verified.pop(capability["name"], None)
        if held:
            verified[capability["name"]] = {"gpu": gpu, "date": date, "content": content_of(capability)}
    path.write_text(json.dumps(verified, indent=2, sort_keys=True) + "\n")


def on_gpu(capability, verified, root=ROOT):
    seen = verified.get(capability["name"])
    if seen is None or seen["content"] != content_of(capability, root):
        return "not verified"
    return f"{seen['gpu']}, {seen['date']}"


def table(verified):
    lines = ["| Capability | Compiled | Rehearsed on the host | Run on a GPU at this content |",
             "| --- | --- | --- | --- |"]
    for capability in capabilities():
        compiled = f"`{capability['compiled']}`" if capability["compiled"] else "by LibTorch"
        rehearsed = f"`{capability['rehearsed']}`" if capability["rehearsed"] else "no"
        lines.append(f"| {capability['name']} | {compiled} | {rehearsed} | {on_gpu(capability, verified)} |")
    return "\n".join(lines) + "\n"


def with_table(text, rows):
    before, rest = text.split(BEGIN)
    return before + BEGIN + rows + END + rest.split(END)[1]


def tests_of(build):
    """Their names. Asked from a folder of its own: ctest, though it only shows, begins its log anew, and
    that of `build` may be being written by who runs this."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(f'subdirs("{pathlib.Path(build).resolve()}")\n')
        shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=folder, check=True, capture_output=True)
    return {test["name"] for test in json.loads(shown.stdout)["tests"]}


def check(build):
    problems = []
    readme = (HERE / "README.md").read_text()
    if with_table(readme, table(read_verified(HERE / "verified.json"))) != readme:
        problems.append("tests/gpu/README.md is stale: tests/gpu/capabilities.py --write")
    tests = tests_of(build)
    for capability in capabilities():
        for test in (capability["compiled"], capability["rehearsed"]):
            if test and test not in tests:
                problems.append(f"{capability['name']}: there is no test {test}")
        if capability["gpu"] not in ("", *PARTS):
            problems.append(f"{capability['name']}: tests/gpu/run has no part {capability['gpu']}")
    return problems


def main(words):
    rows = table(read_verified(HERE / "verified.json"))
    if words == []:
        print(rows, end="")
    elif words == ["--write"]:
        readme = HERE / "README.md"
        readme.write_text(with_table(readme.read_text(), rows))
    elif len(words) == 2 and words[0] == "--check":
        problems = check(words[1])
        print("\n".join(problems) or "the table is true")
        return 1 if problems else 0
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
