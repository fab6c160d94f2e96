"""Debian packages of the tree of deploy/package: noisefloor, and noisefloor-worker on top of it.

The tree lies in /usr/lib/noisefloor as the tarball has it, so that programs find each other, their
libraries and LibTorch (the folder or link `torch` there) in the same way. What is no program or
library is in /usr/share/noisefloor.
"""

import dataclasses
import glob
import gzip
import hashlib
import os
import shutil
import subprocess

PACKAGING = os.path.dirname(os.path.abspath(__file__))
DATE = 1577836800  # Of every file: 2020-01-01.
TREE = "usr/lib/noisefloor"
ABOUT = """\
 Measures how much two trainings of the same network differ, which source of
 noise that comes from, and what the hardware adds: one sweep file, a
 coordinator, workers, a report in which every figure has its uncertainty.
 ."""


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    programs: dict[str, str]  # By name, what each is.
    depends: str
    recommends: str
    summary: str
    about: str
    unit: str
    default: str


PACKAGES = (
    Package("noisefloor", {"noisefloor": "how much two trainings of a network differ, and why"},
            "libc6 (>= {glibc})", "noisefloor-worker, python3 (>= 3.10)",
            "How much two trainings of a network differ, and why",
            " This package has the command line, which is the coordinator, too, and what\n"
            " training scripts in Python import.\n",
            "noisefloor-coordinator.service", "noisefloor-coordinator.default"),
    Package("noisefloor-worker",
            {"noisefloor-worker": "trains members of studies for a noisefloor coordinator",
             "noisefloor-trainer": "trains one member of a study, with LibTorch"},
            "libc6 (>= {glibc}), noisefloor (= {version})", "",
            "Workers and the trainer of noisefloor",
            " This package has the worker, which every machine that trains runs, and the\n"
            " trainer. LibTorch 2.11 is not in it: README.Debian says where it is put.\n",
            "noisefloor-worker@.service", "noisefloor-worker.default"),
)


def debs(tree: str, build: str, to: str, glibc: str, version: str) -> list[str]:
    """Their paths. `build`: where the programs themselves run, to be asked for their help."""
    made = []
    for package in PACKAGES:
        root = f"{tree}-{package.name}"
        place_programs(tree, root, package)
        if package.name == "noisefloor":
            place_shared(tree, root)
        place_unit(root, package)
        place_documents(tree, build, root, package, version)
        place_control(root, package, glibc, version)
        set_modes(root)
        made.append(os.path.join(to, f"{package.name}_{version}_amd64.deb"))
        # Not xz, which takes a minute where this takes seconds, for a sixth less.
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z6", "--build", root,
                        made[-1]], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "SOURCE_DATE_EPOCH": str(DATE)})
        shutil.rmtree(root)
    return made


# What is in them.

def place_programs(tree: str, root: str, package: Package) -> None:
    for folder in (f"{TREE}/bin", f"{TREE}/libexec", "usr/bin"):
        os.makedirs(os.path.join(root, folder))
    for name in package.programs:
        for folder in ("bin", "libexec"):
            shutil.copy2(os.path.join(tree, folder, name), os.path.join(root, TREE, folder, name))
        os.symlink(f"../lib/noisefloor/bin/{name}", os.path.join(root, "usr/bin", name))
    if "noisefloor-trainer" in package.programs:
        for program in glob.glob(os.path.join(tree, "libexec", "noisefloor-trainer-*")):
            shutil.copy2(program, os.path.join(root, TREE, "libexec"))


def place_shared(tree: str, root: str) -> None:
    """Libraries, and what programs and people look for in share/noisefloor."""
    shutil.copytree(os.path.join(tree, "lib"), os.path.join(root, TREE, "lib"))
    shutil.copytree(os.path.join(tree, "share/noisefloor"),
                    os.path.join(root, "usr/share/noisefloor"))
    os.makedirs(os.path.join(root, TREE, "share"))
    os.symlink("../../../share/noisefloor", os.path.join(root, TREE, "share/noisefloor"))
    # For the system's Python; an environment of one's own has the wheel, or PYTHONPATH.
    os.makedirs(os.path.join(root, "usr/lib/python3/dist-packages"))
    os.symlink("../../../share/noisefloor/python/noisefloor",
               os.path.join(root, "usr/lib/python3/dist-packages/noisefloor"))
    put(root, "usr/lib/sysusers.d/noisefloor.conf", packaged("systemd/noisefloor.sysusers"))


def place_unit(root: str, package: Package) -> None:
    put(root, f"usr/lib/systemd/system/{package.unit}", packaged(f"systemd/{package.unit}"))
    name = package.default.removesuffix(".default")
    put(root, f"etc/default/{name}", packaged(f"systemd/{package.default}"))
    if package.name == "noisefloor-worker":
        os.makedirs(os.path.join(root, "etc/noisefloor"))  # For worker.access.


def place_documents(tree: str, build: str, root: str, package: Package, version: str) -> None:
    documents = f"usr/share/doc/{package.name}"
    put(root, f"{documents}/copyright", copyright_of(tree).encode())
    put(root, f"{documents}/README.Debian", packaged("debian/README.Debian"))
    change = (f"noisefloor ({version}) stable; urgency=medium\n\n  * Version {version}.\n"
              f"\n -- {maintainer()}  Wed, 01 Jan 2020 00:00:00 +0000\n")
    put(root, f"{documents}/changelog.gz", gzip.compress(change.encode(), 9, mtime=0))
    if package.name == "noisefloor":
        shutil.copytree(os.path.join(tree, "share/doc/noisefloor/libraries"),
                        os.path.join(root, documents, "libraries"))
    for name, what in package.programs.items():
        page = manual(os.path.join(build, "bin", name), what, version)
        put(root, f"usr/share/man/man1/{name}.1.gz", gzip.compress(page.encode(), 9, mtime=0))
    put(root, f"usr/share/lintian/overrides/{package.name}",
        packaged(f"debian/{package.name}.lintian-overrides"))


def copyright_of(tree: str) -> str:
    with open(os.path.join(tree, "share/noisefloor/data/fashion-mnist-sample/LICENSE"),
              encoding="utf-8") as file:
        lines = [f" {line}" if line.strip() else " ." for line in file.read().splitlines()]
    return packaged("debian/copyright").decode().replace("@EXPAT@", "\n".join(lines))


def manual(program: str, what: str, version: str) -> str:
    """A page of what the program itself says of its use."""
    said = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
    name = os.path.basename(program)
    # A line that begins with a dot or a quote is a request.
    lines = [("\\&" if line[:1] in (".", "'") else "")
             + line.replace("\\", "\\e").replace("-", "\\-") for line in said.splitlines()]
    return (f'.TH {name.upper()} 1 2020-01-01 "noisefloor {version}"\n.SH NAME\n{name} \\- {what}\n'
            ".SH DESCRIPTION\n.nf\n" + "\n".join(lines) + "\n.fi\n")


def place_control(root: str, package: Package, glibc: str, version: str) -> None:
    size = sum((os.path.getsize(os.path.join(root, name)) + 1023) // 1024
               for name in files_of(root))
    recommends = f"Recommends: {package.recommends}\n" if package.recommends else ""
    control = (f"Package: {package.name}\nSource: noisefloor\nVersion: {version}\n"
               f"Architecture: amd64\nMaintainer: {maintainer()}\nInstalled-Size: {size}\n"
               f"Depends: {package.depends.format(glibc=glibc, version=version)}\n{recommends}"
               "Section: science\nPriority: optional\n"
               f"Description: {package.summary}\n{ABOUT}\n{package.about}")
    sums = "".join(f"{md5(os.path.join(root, name))}  {name}\n" for name in files_of(root)
                   if not name.startswith("etc/"))
    put(root, "DEBIAN/control", control.encode())
    put(root, "DEBIAN/md5sums", sums.encode())
    default = package.default.removesuffix(".default")
    put(root, "DEBIAN/conffiles", f"/etc/default/{default}\n".encode())
    for script in ("postinst", "prerm", "postrm"):
        text = packaged(f"debian/{script}").decode()
        put(root, f"DEBIAN/{script}",
            text.replace("@UNITS@", package.unit.replace("@.", "@*.")).encode())


# Files.

def maintainer() -> str:
    return "The noisefloor authors <maintainers@noisefloor.invalid>"


def packaged(name: str) -> bytes:
    with open(os.path.join(PACKAGING, name), "rb") as file:
        return file.read()


def put(root: str, name: str, content: bytes) -> None:
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def files_of(root: str) -> list[str]:
    """Plain files, by their paths in the package, without those of its control."""
    return sorted(os.path.relpath(os.path.join(place, name), root)
                  for place, _, names in os.walk(root) for name in names
                  if not os.path.islink(os.path.join(place, name)) and "/DEBIAN" not in place)


def md5(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.md5(file.read(), usedforsecurity=False).hexdigest()


def set_modes(root: str) -> None:
    """Whatever the umask was."""
    for place, _, names in os.walk(root):
        os.chmod(place, 0o755)
        for name in names:
            path = os.path.join(place, name)
            if os.path.islink(path):
                continue
            runs = place.endswith((f"{TREE}/bin", f"{TREE}/libexec")) or name in (
                "postinst", "prerm", "postrm")
            os.chmod(path, 0o755 if runs else 0o644)
