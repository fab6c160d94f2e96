"""Becomes a program in a root of its own: `enter_root.py ROOT BINDS PROGRAM ...`.

Started by `unshare`, in namespaces of mounts, processes and networks: what is mounted is gone with
the program, of networks there is loopback alone. BINDS: "SOURCE:TARGET,...", read-only.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def loopback_up() -> None:
    set_flags, up = 0x8914, 1  # SIOCSIFFLAGS, IFF_UP.
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up))


def become_root(path: str) -> None:
    """Nothing of what was the root stays: in a chroot there would be no namespaces of users."""
    libc = ctypes.CDLL(None, use_errno=True)
    pivot_root, detach = 155, 2  # SYS_pivot_root of x86-64, MNT_DETACH.
    os.chdir(path)
    if libc.syscall(pivot_root, b".", b".") != 0 or libc.umount2(b".", detach) != 0:
        raise OSError(ctypes.get_errno(), f"cannot make {path} the root")
    os.chdir("/root")


def main() -> None:
    root, binds, *words = sys.argv[1:]
    mount("--make-rprivate", "/")
    mount("--bind", root, root)  # A mount of its own, as systemd wants its root to be.
    mount("--bind", f"{root}/dev", f"{root}/dev")  # And would put the kernel's on this one.
    mount("-t", "proc", "proc", f"{root}/proc")
    mount("-t", "tmpfs", "tmpfs", f"{root}/dev/shm")
    for bind in filter(None, binds.split(",")):
        source, target = bind.split(":")
        os.makedirs(root + target, exist_ok=True)
        mount("--bind", "-o", "ro", source, root + target)
    if words[0].endswith("/systemd"):
        mount("-t", "sysfs", "-o", "ro", "sysfs", f"{root}/sys")
        mount("-t", "cgroup2", "cgroup2", f"{root}/sys/fs/cgroup")
        mount("-t", "tmpfs", "tmpfs", f"{root}/run")
        # The kernel is everybody's.
        mount("--bind", "-o", "ro", "/proc/sys", f"{root}/proc/sys")
        for silent in ("proc/sysrq-trigger", "dev/console"):
            if os.path.exists(f"{root}/{silent}"):
                mount("--bind", "/dev/null", f"{root}/{silent}")
    loopback_up()
    become_root(root)
    os.execvpe(words[0], words, {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                 "HOME": "/root", "TERM": "dumb", "container": "other"})


if __name__ == "__main__":
    main()
