"""What is said where bubblewrap, which keeps programs apart from the rest of the machine, does not work."""

NO_NAMESPACES = """Where it says "Operation not permitted": Ubuntu 24.04 lets a program make namespaces only after
`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; a container needs `--security-opt seccomp=unconfined`
or `--privileged`."""
