"""Proofs that an assignment's tests can fail, and grades for a class.

Students' code runs in a sandbox; the tests stay outside it.
"""
