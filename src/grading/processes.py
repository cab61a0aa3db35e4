"""Runs work in several processes at once, and goes on if one of them dies."""

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import cast

from grading.sandbox.confinement import limit_memory

MEMORY = 4096  # megabytes for one process of the grader
FORK = get_context("fork")  # a forked process has what the work needs: sockets can't be sent


def side_by_side(work: Callable, things: Iterable, jobs: int, seconds: float) -> Iterator[tuple]:
    """Yields each thing with what `work` returns for it, as soon as it is known; None if a process died of it.

    A process that works on one thing for so many `seconds` of a processor is ended by the kernel, since nothing in
    Python stops a long calculation in C. An error that `work` raises is raised here.

    >>> sorted(side_by_side(abs, [-3, 2], jobs=2, seconds=9))
    [(-3, 3), (2, 2)]
    """
    waiting, busy, processes = deque(things), {}, []

    def next_to(pipe: Connection) -> None:
        busy[pipe] = waiting.popleft()
        with suppress(OSError):  # whoever is gone does not answer either
            pipe.send(busy[pipe])

    try:
        while waiting and len(busy) < jobs:
            next_to(_start_process(work, seconds, processes))
        while busy:
            for pipe in cast(list[Connection], wait(list(busy))):
                thing = busy.pop(pipe)
                try:
                    result = pipe.recv()
                except (EOFError, OSError):
                    result = None
                    if waiting:
                        pipe = _start_process(work, seconds, processes)
                if isinstance(result, Exception):
                    raise result
                if waiting:
                    next_to(pipe)
                yield thing, result
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _start_process(work: Callable, seconds: float, processes: list[BaseProcess]) -> Connection:
    """Starts a process that calls `work` on each thing it is sent; returns the pipe that leads to it."""
    ours, its = Pipe()
    process = FORK.Process(target=_serve, args=(work, seconds, its, ours), daemon=True)
    process.start()
    processes.append(process)
    its.close()
    return ours


def _serve(work: Callable, seconds: float, pipe: Connection, other_end: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who presses Ctrl-C means the grader, which ends all of them
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    other_end.close()  # or nobody would notice that the grader is gone
    limit_memory(MEMORY)
    while True:
        try:
            thing = pipe.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            pipe.send(work(thing))
        except Exception as error:
            pipe.send(error)
