"""The walls round one submission: a process in a world of its own, which no other process can be seen from.

bubblewrap has built the outer walls before (no network, a read-only disk without the instructor's files). Inside
them every submission gets new user, mount, process and IPC namespaces, small private folders to write in, no
capability, and no system call that starts a process or a thread, sets memory aside where no limit counts it, lets
others go first, so that its own time hardly passes, or leaves something for others to notice: a lock on a file that
all read, a name to connect to, a watched folder.
"""

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
from collections.abc import Iterable
from pathlib import Path

import booktools

HOME = "/home/student"
GRADER = [Path(__file__).parents[1], Path(str(booktools.__file__)).parent]  # packages that no submission may read
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_MOUNTS, NEW_PROCESSES, NEW_IPC = 0x10000000, 0x00020000, 0x20000000, 0x08000000
READ_ONLY, NO_SUID, NO_DEVICES, AGAIN, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")  # bubblewrap takes them from the machine
PARENT_DEATH, NO_NEW_PRIVILEGES, SECCOMP, FILTER = 1, 38, 22, 2

# System calls that are refused: their numbers on x86-64 and on 64-bit ARM.
REFUSED = {
    "clone": (56, 220),
    "clone3": (435, 435),
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
    "bind": (49, 200),
    "connect": (42, 203),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "recvmsg": (47, 212),
    "recvmmsg": (299, 243),
    "flock": (73, 32),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    "sync": (162, 81),
    "syncfs": (306, 267),
    "syslog": (103, 116),
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
    "io_setup": (206, 0),
    "membarrier": (324, 283),
    "seccomp": (317, 277),
    "futex_waitv": (449, 449),
    "futex_wake": (454, 454),
    "futex_wait": (455, 455),
    "futex_requeue": (456, 456),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "sched_yield": (24, 124),
    "mincore": (27, 232),
    "cachestat": (451, 451),
    "fadvise64": (221, 223),
    "readahead": (187, 213),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
}
# System calls of which one argument decides: their numbers, which argument, and the values that may pass.
PRIVATE_FUTEX, REAL_TIME = 128, 256  # without the first, it would reach whoever maps the same file
SIEVED = {
    "fcntl": (72, 25, 1, [*range(5), 1030]),  # duplicate a descriptor, get and set its flags: no locks, no leases
    "ioctl": (16, 29, 1, [0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A]),  # is it a terminal?
    "prctl": (157, 167, 0, [15, 16, 0x53564D41]),  # names
    "futex": (202, 98, 1, [PRIVATE_FUTEX | clock | do for clock in (0, REAL_TIME) for do in range(14)]),
    "socketpair": (53, 199, 1, [1 | flags for flags in (0, 0x800, 0x80000, 0x80800)]),  # streams have no names
}
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def _call(name: str, *args) -> None:
    if getattr(LIBC, name)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def enter_new_namespaces() -> None:
    """Leaves the namespaces of all other processes; the next child is the first process of the new ones."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", NEW_USER | NEW_MOUNTS | NEW_PROCESSES | NEW_IPC)
    for file, text in (("setgroups", "deny"), ("uid_map", f"1000 {user} 1"), ("gid_map", f"1000 {group} 1")):
        with open(f"/proc/self/{file}", "w") as map_file:
            map_file.write(text)


def confine(megabytes: int) -> None:
    """Confines this process: resources, folders, capabilities and system calls."""
    os.setsid()  # a signal to its group reaches nobody else
    _limit_resources(megabytes)
    _mount_private_folders(megabytes)
    _call("capset", struct.pack("Ii", 0x20080522, 0), bytes(24))
    _call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _refuse_calls()


def _mount_private_folders(megabytes: int) -> None:
    """Mounts small empty folders over those that can be written in, and over the grader's packages."""
    _call("mount", None, b"/", None, RECURSIVE | PRIVATE, None)
    with open("/proc/cpuinfo") as file:
        processors = file.read()
    size = f"size={megabytes // 16}m,nr_inodes=1000".encode()
    for place in (HOME, "/dev/shm", "/dev/pts", "/proc"):
        _call("mount", b"tmpfs", place.encode(), b"tmpfs", NO_SUID | NO_DEVICES, size)
    for package in GRADER:
        _call("mount", b"tmpfs", bytes(package), b"tmpfs", READ_ONLY, None)
    for device in DEVICES:  # to be used, and not to be changed: it may be the instructor's own
        _call("mount", None, f"/dev/{device}".encode(), None, AGAIN | BIND | READ_ONLY | NO_SUID, None)
    with open("/proc/cpuinfo", "w") as file:  # PyTorch looks up what the processor can do
        file.write(processors)
    os.chdir(HOME)


def detach_standard_streams() -> None:
    """Gives this process an input of its own, a pipe that nobody writes to, and outputs that nobody reads.

    Whatever it does to them concerns no other process, if it is confined already: what was opened before the walls
    stood is the machine's own device, whose times and owner could be changed through it.
    """
    empty, end = os.pipe()
    null = os.open(os.devnull, os.O_WRONLY)
    for file, standard in ((empty, 0), (null, 1), (null, 2)):
        os.dup2(file, standard)
    for file in (empty, end, null):
        os.close(file)


def _limit_resources(megabytes: int) -> None:
    """Limits memory, and the size and number of files."""
    limit_memory(megabytes)
    for what, most in (
        (resource.RLIMIT_FSIZE, 2**24),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_SIGPENDING, 64),
    ):
        resource.setrlimit(what, (most, most))


def limit_memory(megabytes: int) -> None:
    """Allows this process so many megabytes more than it has now."""
    with open("/proc/self/statm") as file:
        most = int(file.read().split()[0]) * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _refuse_calls() -> None:
    """A filter in the kernel: a submission stays one process, with one thread."""
    column, architecture = MACHINES[platform.machine()]
    load, jump_if_equal, jump_if_from, give = 0x20, 0x15, 0x35, 0x06
    refuse, allow, kill = 0x00050000 | errno.EPERM, 0x7FFF0000, 0x80000000
    program = [(load, 0, 0, 4), (jump_if_equal, 1, 0, architecture), (give, 0, 0, kill), (load, 0, 0, 0)]
    program += [(jump_if_from, 0, 1, 0x40000000), (give, 0, 0, refuse)]  # the 32-bit calls of x86-64
    for numbers in REFUSED.values():
        if numbers[column] is not None:
            program += [(jump_if_equal, 0, 1, numbers[column]), (give, 0, 0, refuse)]
    for *numbers, argument, values in SIEVED.values():
        sieve = [(load, 0, 0, 16 + 8 * argument)]
        sieve += [(jump_if_equal, len(values) - place, 0, value) for place, value in enumerate(values)]
        sieve += [(give, 0, 0, refuse), (give, 0, 0, allow)]
        program += [(jump_if_equal, 0, len(sieve), numbers[column]), *sieve]
    program += [(give, 0, 0, allow)]
    steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    _call("prctl", SECCOMP, FILTER, struct.pack("HxxxxxxP", len(program), ctypes.addressof(steps)), 0, 0)


def end_with_its_parent() -> None:
    """Has the kernel kill this process when its guardian ends, in whatever way: nobody else would."""
    _call("prctl", PARENT_DEATH, signal.SIGKILL, 0, 0, 0)


def close_files(keep: Iterable[int]) -> None:
    """Closes every file that another process opened, except these."""
    start = 3
    for file in sorted(keep):
        os.closerange(start, file)
        start = file + 1
    os.closerange(start, 4096)
