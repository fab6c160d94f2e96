"""Members and studies as pandas data frames, and with them as Parquet: `frame.to_parquet(path)`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Iterable

if TYPE_CHECKING:
    import pandas

    from noisefloor.client.values import Event, Member, MemberChange

_MEMBER = ("member", "sweep", "cell", "replicate", "block", "plan", "hardware", "stack", "state",
           "attempt", "worker", "step", "steps")
_INTEGERS = ("sweep", "cell", "replicate", "block", "attempt", "step", "steps")


def members(given: Iterable[Member]) -> pandas.DataFrame:
    """A row for each member: what it is, a column for each setting that an axis varies (by its
    path) and for each metric ("top1", "loss"), `seconds` of training, and of full members a column
    `lane.SOURCE` for each source and `hash.NAME` for each hash. A setting or metric of the name of
    another column has `axis.` or `metric.` before it."""
    import pandas
    rows = []
    for one in given:
        row: dict[str, Any] = {name: getattr(one, name) for name in _MEMBER}
        row["seconds"] = one.outcome.train_seconds if one.outcome else None
        for path, value in one.axes.items():
            row[f"axis.{path}" if path in row else path] = value
        if one.outcome:
            for name, number in one.outcome.metrics.items():
                row[f"metric.{name}" if name in row else name] = number
            row |= {f"hash.{name}": value for name, value in one.outcome.hashes.items()}
        row |= {f"lane.{name}": value for name, value in one.lanes.items()}
        rows.append(row)
    frame = pandas.DataFrame(rows, columns=None if rows else [*_MEMBER, "seconds"])
    return frame.astype({name: "Int64" for name in frame.columns
                         if name in _INTEGERS or name.startswith("lane.")} |
                        {"seconds": "float64"})


def study(csv: str) -> pandas.DataFrame:
    """A row for each figure, from Client.study_csv: what it is about (`table`, `cell`, `label`,
    `subject`), `metric`, `value` with its interval `low` to `high`, `n`, `unit`, the smallest
    effect that n could have seen (`detectable`), and what is to be known (`note`)."""
    import pandas
    frame = pandas.read_csv(io.StringIO(csv), keep_default_na=False, na_values={
        name: [""] for name in ("cell", "value", "low", "high", "n", "detectable")})
    for name in frame.columns:
        if name in ("cell", "n"):
            frame[name] = frame[name].astype("Int64")
        elif name in ("value", "low", "high", "detectable"):
            frame[name] = frame[name].astype("float64")
        else:  # An apostrophe keeps spreadsheets from taking a text for a formula.
            frame[name] = frame[name].astype("str").str.replace(r"^'(?=[=+\-@])", "", regex=True)
    return frame


def curve(changes: Iterable[MemberChange]) -> pandas.DataFrame:
    """What a member has measured, from Client.watch_member: `step`, `name`, `value`; of its last
    attempt alone."""
    import pandas
    rows: list[tuple[int, str, float]] = []
    lease = 0
    for change in changes:
        if change.lease != lease:
            rows, lease = [], change.lease
        rows += change.values
    frame = pandas.DataFrame(rows, columns=["step", "name", "value"])
    return frame.astype({"step": "int64", "name": "str", "value": "float64"})


def events(given: Iterable[Event]) -> pandas.DataFrame:
    """A row for each event, in their order."""
    import pandas
    columns = ["number", "time", "kind", "member", "attempt", "worker", "caller", "text"]
    return pandas.DataFrame([[getattr(one, name) for name in columns] for one in given],
                            columns=columns)
