"""One submission at work, kept apart from the machine and from the grader, and the grader's way to talk to it.

The grader's end is in `client`, `remote` and `fork_server`; the submission's end is `worker`, which `confinement` shuts
in. What they say to each other is written and read by `messages`.
"""
