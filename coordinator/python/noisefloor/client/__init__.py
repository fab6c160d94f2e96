"""A coordinator from Python: submit, watch, results as values, data frames and arrays.

    import noisefloor.client as nf

    with nf.Client() as client:          # the coordinator that `noisefloor` would ask
        sweep = client.submit("study.yaml").sweep
        client.wait(sweep)
        table = nf.tables.members(client.members(sweep))
        logits = client.predictions("s1c0r0")

AsyncClient has the same methods, to be awaited. Guide: README.md beside this package.
"""

from noisefloor.client import arrays, tables
from noisefloor.client.access import Coordinator, find_coordinator
from noisefloor.client.aio import AsyncClient
from noisefloor.client.blocking import Client
from noisefloor.client.calls import Selection
from noisefloor.client.errors import BadSweep, Mistake, NoCoordinator, NoisefloorError, Refused
from noisefloor.client.local import Local, serve
from noisefloor.client.values import (Artifact, Change, Counts, Event, Extended, Identity, Member,
                                      MemberChange, Outcome, Plan, PlannedCell, PlannedPlan,
                                      Setting, Submitted, SweepInfo, Value, Version, Worker)

__all__ = [
    "Artifact", "AsyncClient", "BadSweep", "Change", "Client", "Coordinator", "Counts", "Event",
    "Extended", "Identity", "Local", "Member", "MemberChange", "Mistake", "NoCoordinator",
    "NoisefloorError", "Outcome", "Plan", "PlannedCell", "PlannedPlan", "Refused", "Selection",
    "Setting", "Submitted", "SweepInfo", "Value", "Version", "Worker", "arrays", "find_coordinator",
    "serve", "tables",
]
