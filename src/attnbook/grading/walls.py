"""The walls round one submission: a process in a world of its own, which no other process can be seen from.

bubblewrap has built the outer walls before (no network, a read-only disk without the instructor's files). Inside
them every submission gets new user, mount, process and IPC namespaces, two small private folders to write in, no
capability, and no system call that starts a process or sets memory aside where no limit counts it.
"""

import ctypes
import errno
import os
import platform
import resource
import struct
from collections.abc import Iterable

HOME = "/home/student"
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_MOUNTS, NEW_PROCESSES, NEW_IPC = 0x10000000, 0x00020000, 0x20000000, 0x08000000
NO_SUID, NO_DEVICES, RECURSIVE, PRIVATE = 2, 4, 16384, 1 << 18
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2

# System calls that are refused: their numbers on x86-64 and on 64-bit ARM.
REFUSED = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_by_handle_at": (304, 265),
    "socket": (41, 198),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
}
CLONE, CLONE3 = (56, 220), 435
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
THREAD = 0x10000


def call(name: str, *args) -> None:
    if getattr(LIBC, name)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def new_world() -> None:
    """Leave the namespaces of all others; the next child is the first process of the new ones."""
    user, group = os.getuid(), os.getgid()
    call("unshare", NEW_USER | NEW_MOUNTS | NEW_PROCESSES | NEW_IPC)
    for file, text in (("setgroups", "deny"), ("uid_map", f"1000 {user} 1"), ("gid_map", f"1000 {group} 1")):
        with open(f"/proc/self/{file}", "w") as map_file:
            map_file.write(text)


def close_in(megabytes: int) -> None:
    """Build the walls round this process."""
    limit(megabytes)
    own_folders(megabytes)
    call("capset", struct.pack("Ii", 0x20080522, 0), bytes(24))
    call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    refuse_calls()


def own_folders(megabytes: int) -> None:
    call("mount", None, b"/", None, RECURSIVE | PRIVATE, None)
    with open("/proc/cpuinfo") as file:
        processors = file.read()
    size = f"size={megabytes // 16}m,nr_inodes=1000".encode()
    for place in (HOME, "/dev/shm", "/proc"):
        call("mount", b"tmpfs", place.encode(), b"tmpfs", NO_SUID | NO_DEVICES, size)
    with open("/proc/cpuinfo", "w") as file:  # PyTorch looks up what the processor can do
        file.write(processors)
    os.chdir(HOME)


def limit(megabytes: int) -> None:
    """`megabytes` more of memory than this process has now, small files, few of them."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    for what, most in (
        (resource.RLIMIT_AS, pages * resource.getpagesize() + megabytes * 2**20),
        (resource.RLIMIT_FSIZE, 2**24),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(what, (most, most))


def refuse_calls() -> None:
    """A filter in the kernel: a submission stays one process, though it may have threads."""
    column, architecture = MACHINES[platform.machine()]
    load, jump_if, jump_bits, give = 0x20, 0x15, 0x45, 0x06
    refuse, unknown, allow, kill = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x7FFF0000, 0x80000000
    program = [(load, 0, 0, 4), (jump_if, 1, 0, architecture), (give, 0, 0, kill), (load, 0, 0, 0)]
    if column == 0:  # the 32-bit calls of x86-64
        program += [(0x35, 0, 1, 0x40000000), (give, 0, 0, refuse)]
    for numbers in REFUSED.values():
        if numbers[column] is not None:
            program += [(jump_if, 0, 1, numbers[column]), (give, 0, 0, refuse)]
    program += [(jump_if, 0, 1, CLONE3), (give, 0, 0, unknown)]
    program += [(jump_if, 0, 3, CLONE[column]), (load, 0, 0, 16), (jump_bits, 1, 0, THREAD), (give, 0, 0, refuse)]
    program += [(give, 0, 0, allow)]
    steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    call("prctl", SECCOMP, FILTER, struct.pack("HxxxxxxP", len(program), ctypes.addressof(steps)), 0, 0)


def close_files(keep: Iterable[int]) -> None:
    """Nothing that another process opened stays open, except these."""
    start = 3
    for file in sorted(keep):
        os.closerange(start, file)
        start = file + 1
    os.closerange(start, 4096)
