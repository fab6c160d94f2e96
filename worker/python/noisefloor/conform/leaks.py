"""Which lines of a script let in what is not its own: found by changing one thing at a time.

Two baselines, in which nothing comes in from outside, must agree. Then each place where something
does come in gives something else, alone: if the outcome is another one, it is a leak, and that is
its line.
"""

from __future__ import annotations

import os
from typing import Callable

from noisefloor.conform import findings
from noisefloor.conform.findings import Finding
from noisefloor.conform.runs import Broken, Seen, Wish, Workshop

KINDS = ("clock", "entropy", "process", "machine", "cores", "hash", "address", "listing",
         "completion", "set", "memory")
GENERATORS = ("random", "numpy", "torch")
Say = Callable[[str], None]


class Found:
    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.of = ""  # What outcomes were taken of.
        self.repeats: bool | None = None  # Whether two runs as they are came to the same.
        self.unexplained = False

    def add(self, finding: Finding) -> None:
        known = {(f.place, f.kind) for f in self.findings}
        if (finding.place, finding.kind) not in known:
            self.findings.append(finding)


def search(shop: Workshop, is_member: bool, say: Say) -> Found:
    """`is_member`: the script uses noisefloor.member, which seeds generators itself."""
    return _Search(shop, is_member, say).run()


class _Search:
    def __init__(self, shop: Workshop, is_member: bool, say: Say) -> None:
        self._shop = shop
        self._is_member = is_member
        self._say = say
        self._found = Found()
        self._always: dict[str, object] = {}  # Options of every run.

    def run(self) -> Found:
        self._say("two runs as they are, two with nothing from outside")
        natural_1, natural_2, first, second = self._shop.see_all([
            Wish(natural=True, hash_seed="1"), Wish(natural=True, hash_seed="2"), Wish(), Wish()])
        for seen in (natural_1, natural_2, first, second):
            if seen.code != 0 or not seen.outcome:
                raise Broken(_why(seen))
        self._found.of = first.of
        self._found.repeats = natural_1.outcome == natural_2.outcome
        self._switches(first)
        steady: Seen | None = first
        if first.outcome != second.outcome:
            steady = self._operations()
        if steady is not None:
            self._places(steady)
            self._generators(steady)
            self._resume(steady)
        self._found.unexplained = not self._found.repeats and not self._found.findings
        return self._found

    def _wish(self, changes: dict[str, str] | None = None, **options: object) -> Wish:
        return Wish(changes or {}, {**self._always, **options})

    def _switches(self, baseline: Seen) -> None:
        set_at = {e["name"].rpartition(".")[2]: e["place"] for e in baseline.told("switch")}
        for event in baseline.told("switch"):
            if event["name"].endswith("in_order"):
                self._found.add(findings.of_switch(event["place"], event["name"]))
        for event in baseline.told("switch_at_end"):
            name = event["name"]
            place = set_at.get(name.rpartition(".")[2], "")
            self._found.add(findings.of_switch(place, name))

    def _operations(self) -> Seen | None:
        """Of a script that differs from itself: which operations do; then on with one thread. None:
        it differs then, too, so nothing can be learnt by changing things."""
        self._say("the baselines differ: each operation twice")
        twice, alone, again = self._shop.see_all([
            self._wish(twice=True), self._wish(threads=1), self._wish(threads=1)])
        for event in twice.told("twice"):
            self._found.add(findings.of_operation(event["place"], event["operation"]))
        self._always["threads"] = 1
        if alone.outcome == again.outcome:
            return alone
        self._found.add(Finding("", "unknown", "runs in which nothing comes in from outside "
                                "differ, with one thread, too", "observed",
                                "threads of the script's own, or a library's"))
        return None

    def _places(self, first: Seen) -> None:
        sites = {(e["kind"], e["place"]): e["what"] for e in first.told("site")
                 if e["kind"] in KINDS}
        if not sites:
            return
        self._say(f"{len(sites)} places where something comes in, all at once")
        every = {kind: "other" for kind in KINDS if kind != "clock"}
        changed = {name for name, seen in zip(("all", "shift", "scale"), self._shop.see_all([
            self._wish(every), self._wish({"clock": "shift"}), self._wish({"clock": "scale"})]))
            if seen.outcome != first.outcome}
        # Where all clocks go wrong alike and nothing changes, only durations matter.
        clock = "shift" if "shift" in changed else "scale" if "scale" in changed else ""
        wishes = [((kind, place), clock if kind == "clock" else "other") for kind, place in sites
                  if (clock if kind == "clock" else "all" in changed)]
        if not wishes:
            return
        self._say("one at a time")
        for (site, change), seen in zip(wishes, self._shop.see_all(
                [self._wish({f"{kind}@{place}": change}) for (kind, place), change in wishes])):
            if seen.outcome != first.outcome:
                kind = "clock scale" if change == "scale" else site[0]
                self._found.add(findings.of_site(site[1], kind, sites[site]))

    def _generators(self, first: Seen) -> None:
        names = ["ground"] if self._is_member else [*GENERATORS, "tensorflow"]
        self._say("generators that begin with another state")
        for name, seen in zip(names, self._shop.see_all(
                [self._wish(begin=[name]) for name in names])):
            if seen.outcome == first.outcome:
                continue
            if name == "tensorflow":
                self._found.add(findings.of_tensorflow())
                continue
            blamed = GENERATORS if name == "ground" else (name,)
            for generator, attributed in zip(blamed, self._shop.see_all(
                    [self._wish(draws=generator) for generator in blamed])):
                for event in attributed.told("draw"):
                    self._found.add(findings.of_generator(event["place"], generator,
                                                          name == "ground"))

    def _resume(self, first: Seen) -> None:
        """Stops after one of its checkpoints and starts it again."""
        saves = first.told("save")
        if not saves or self._is_member:
            return
        self._say("stopped after a checkpoint, and started again")
        folder = self._shop.folder()
        states = os.path.join(folder, ".noisefloor-states")
        stopped = self._shop.see(self._wish(stop_after_save=(len(saves) + 1) // 2, states=states)
                                 ._replace(folder=folder))
        if not stopped.told("stopped"):
            return
        place = stopped.told("stopped")[0]["place"]
        kept = {e["path"] for e in stopped.told("save")}
        twin = self._shop.copied(folder)
        resumed = self._shop.see(self._wish()._replace(folder=folder))
        if not any(e["path"] in kept for e in resumed.told("load")):
            return  # It does not go on by itself.
        if resumed.outcome == first.outcome:
            return
        with_states = self._shop.see(self._wish(
            restore_at_load=os.path.join(twin, ".noisefloor-states"))._replace(folder=twin))
        self._found.add(findings.of_resume(place, with_states.outcome == first.outcome))


def _why(seen: Seen) -> str:
    if seen.code == 0:
        return ("there is nothing to compare: no optimiser, no model, and no call of its own "
                "whose result is an array or a float (what it prints is not looked at)")
    last = "\n".join(seen.said.strip().splitlines()[-15:])
    return f"it ended with exit code {seen.code}:\n{last}"
