"""Which coordinator is meant, and what opens it: as the program `noisefloor` finds them.

The first that says so: `coordinator`, `home`, $NOISEFLOOR_COORDINATOR, $NOISEFLOOR_ACCESS,
$NOISEFLOOR_HOME, ./noisefloor-data, ~/.config/noisefloor/access.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import re
from dataclasses import dataclass, field

from noisefloor.client.errors import NoCoordinator

# As common/access/access_file.h: what a person takes of a folder, the first that is there.
_FILES = ("admin.access", "submitter.access", "reader.access")


@dataclass(frozen=True)
class Coordinator:
    """Where one listens, and what opens it. The token is never printed."""
    address: str                                  # "box:7077".
    token: str = field(default="", repr=False)    # Empty: plain text, as on loopback.
    certificate: str = field(default="", repr=False)  # Of its authority; PEM.


def find_coordinator(coordinator: str = "", home: str | os.PathLike[str] = "",
                     access: str | os.PathLike[str] = "") -> Coordinator:
    """The coordinator that the arguments, else the environment, name. `access`: an access file, or
    a folder of them. NoCoordinator says what was looked for."""
    environment = os.environ
    if coordinator and access:
        raise ValueError("name a coordinator or an access file, not both")
    if coordinator:
        return _at(coordinator)
    if access:
        return read_access_file(os.fspath(access))
    if home:
        return of_home(os.fspath(home))
    if environment.get("NOISEFLOOR_COORDINATOR"):
        return _at(environment["NOISEFLOOR_COORDINATOR"])
    if environment.get("NOISEFLOOR_ACCESS"):
        return read_access_file(environment["NOISEFLOOR_ACCESS"])
    if environment.get("NOISEFLOOR_HOME"):
        return of_home(environment["NOISEFLOOR_HOME"])
    if os.path.isdir("noisefloor-data"):
        return of_home("noisefloor-data")
    if os.path.exists(_usual()):
        return read_access_file(_usual())
    raise NoCoordinator(
        "no coordinator is named: Client(\"HOST:PORT\"), Client(home=...), "
        "$NOISEFLOOR_COORDINATOR, an access file in $NOISEFLOOR_ACCESS or "
        f"{_usual()}; noisefloor.client.serve() starts one")


def _usual() -> str:
    return os.path.expanduser("~/.config/noisefloor/access")


def _at(address: str) -> Coordinator:
    """With the access file that names the address, where there is one."""
    if not re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^:\s/]+):\d{1,5}", address):
        raise ValueError(f"{address!r} is no HOST:PORT")
    for place in (os.environ.get("NOISEFLOOR_ACCESS", ""), _usual()):
        try:
            found = read_access_file(place) if place else None
        except NoCoordinator:
            continue
        if found is not None and found.address == address:
            return found
    return Coordinator(address)


def of_home(home: str) -> Coordinator:
    """The coordinator that serves a data directory of this machine."""
    owner = os.path.join(home, "access", "owner.access")
    if os.path.exists(owner):
        return read_access_file(owner)
    address = _address_of_holder(os.path.join(home, "lock"))
    if not address:
        raise NoCoordinator(f"no coordinator serves {home}: `noisefloor serve --home={home}`, or "
                            f"noisefloor.client.serve({home!r})")
    return Coordinator(address)


def _address_of_holder(path: str) -> str:
    """As coordinator/store/home_lock.h tells it; empty: nobody serves. What a coordinator that was
    killed has left in the file counts for nothing: its port may be another's by now."""
    try:
        with open(path, encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().split("\n")[1]
    except (OSError, IndexError, UnicodeDecodeError):
        pass
    return ""


def read_access_file(path: str) -> Coordinator:
    """As common/access/access_file.h describes it."""
    if os.path.isdir(path):
        names = [os.path.join(path, name) for name in _FILES]
        path = next((name for name in names if os.path.exists(name)), names[0])
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise NoCoordinator(f"access file {path}: {error}") from None
    words = {key: value for key, _, value in
             (line.strip().partition(" ") for line in text.split("-----BEGIN", 1)[0].split("\n"))
             if key in ("coordinator", "token")}
    begin = text.find("-----BEGIN CERTIFICATE-----")
    for key in ("coordinator", "token"):
        if not words.get(key):
            raise NoCoordinator(f"access file {path}: expected a line `{key} ...`")
    if begin < 0:
        raise NoCoordinator(f"access file {path}: expected a certificate after the token")
    return Coordinator(words["coordinator"], words["token"], text[begin:])


def user() -> str:
    """Who calls, where no token proves it; empty: not known."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        return ""
    return name if re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name) else ""
