"""One submission at work in a sandbox, as the grader sees it: ask for something, wait for the answer."""

import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Sequence

from torch import Tensor

from attnbook.language import plain
from booktools.book import NO_NAMESPACES, BookError
from booktools.book.limits import Limits
from grading.sandbox.messages import BadMessage, receive, send
from grading.sandbox.stopwatch import Spent, Stopwatch
from grading.sandbox.tensor_sizes import replay_sizes, without_watchers
from grading.wording import say

CREDENTIALS = struct.Struct("3i")  # process, user, group
STARTS_WITHIN = 120  # seconds
BUSY = 30  # times as long as a call may take, on a clock on the wall, before the machine is called too busy
NO_START = f"""the sandbox does not start, so nothing was graded. It said:
{{said}}
{NO_NAMESPACES}"""


class StudentError(Exception):
    """An error that a student's code raised, in words that a student understands. A test may ask for one."""


class NoAnswer(BaseException):
    """A call without an answer: the process ended, or what came back can't be read.

    No `except Exception` of a test takes it for an error that the student's code was asked to raise.
    """


class TookTooLong(NoAnswer):
    """A call, or a test of many calls, that did not come to an end in time."""


class OutOfTime(BaseException):
    """A submission has used up its time, or never got it: what it would have got is not known.

    No `except Exception` of a test takes it for anything else.
    """


class Sandbox:
    """One submission at work, behind walls.

    `used` gathers the forbidden calls it makes, by exercise, and `spent` how long each request has taken.
    """

    def __init__(self, pipe: socket.socket, lifeline: socket.socket, limits: Limits):
        self.pipe, self.lifeline, self.limits = pipe, lifeline, limits
        self.process: int | None = None  # a descriptor, since a number is given to another process after its end
        self.dead: str | None = None
        self.used: dict[str, set[str]] = {}
        self.spent: list[Spent] = []
        until = time.monotonic() + STARTS_WITHIN
        try:
            sender = _sender(self.pipe)
            self.process, self.stopwatch = os.pidfd_open(sender), Stopwatch(sender)
            header, *_ = receive(self.pipe, lambda: until - time.monotonic())
        except (EOFError, OSError):
            header = {"error": "a submission's process did not start"}
        if "error" in header:
            self.close()
            raise BookError(NO_START.format(said=header["error"]))

    def request(
        self,
        seconds: float,
        exercise: str,
        header: dict,
        tensors: Sequence[Tensor] = (),
        when_late: Callable[[], float] = lambda: 0,
    ):
        """Asks for something and waits for the answer; a process that dies or is late is not asked again.

        `when_late` is called once when the seconds are over, and returns how many are given still.
        """
        if self.dead:
            raise NoAnswer(self.dead)
        started, given, until = self.stopwatch.read(), [seconds], time.monotonic() + BUSY * seconds

        def patience() -> float:
            if time.monotonic() > until:
                raise OutOfTime(say("starved", seconds=plain(BUSY * seconds)))
            left = sum(given) - (self.stopwatch.read() - started).longer
            if left <= 0 and len(given) == 1:
                given.append(when_late())
                left += given[-1]
            return left

        try:
            with without_watchers():
                send(self.pipe, header, tensors, patience)
                answer, results, grads = receive(self.pipe, patience)
            used = {name for name in header.get("forbidden", ()) if name in answer.get("used", ())}
            error, form, tape = answer.get("error"), answer.get("answer"), answer.get("tape")
            kind = StudentError if answer.get("raised") else NoAnswer
        except TookTooLong as late:  # of the whole test: who knows how much of the answer has been read
            raise self.give_up(str(late), TookTooLong) from None
        except TimeoutError:
            raise self.give_up(say("late", seconds=plain(seconds)), TookTooLong) from None
        except OutOfTime as starved:
            self.give_up(str(starved))
            raise
        except (EOFError, OSError):
            raise self.give_up(say("ended")) from None
        except (BadMessage, AttributeError, TypeError) as error:
            raise self.give_up(str(error) if isinstance(error, BadMessage) else say("unreadable_answer")) from None
        finally:
            self.spent.append(self.stopwatch.read() - started)
        if used:
            self.used.setdefault(exercise, set()).update(used)
        if error is not None:
            raise kind(str(error))
        replay_sizes(answer.get("made"))
        return form, results, grads, tape

    def give_up(self, reason: str, kind: type[NoAnswer] = NoAnswer) -> NoAnswer:
        self.dead = reason
        self.close()
        return kind(reason)

    def run(self, cell: dict) -> str | None:
        """Run a cell of the submission; what it raised."""
        header = {"do": "run", "source": cell["source"], "forbidden": cell["forbidden"]}
        error, *_ = self.request(self.limits.cell, cell["name"], header, when_late=self.interrupt)
        return None if error is None else str(error)

    def interrupt(self) -> float:
        """Raises a TimeoutError in the cell that runs; returns how many seconds it has to come to an end."""
        if self.process is not None:
            signal.pidfd_send_signal(self.process, signal.SIGALRM)
        return 2

    def close(self) -> None:
        self.lifeline.close()
        self.pipe.close()
        if self.process is not None:
            os.close(self.process)
            self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _sender(pipe: socket.socket) -> int:
    """Returns the number of the process that has sent what can be read next, as the kernel knows it."""
    pipe.settimeout(STARTS_WITHIN)
    _, about, *_ = pipe.recvmsg(1, socket.CMSG_SPACE(CREDENTIALS.size), socket.MSG_PEEK)
    pipe.settimeout(None)
    if not about:
        raise EOFError
    process, _, _ = CREDENTIALS.unpack(about[0][2])
    return process
