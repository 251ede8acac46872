"""Code that runs inside the target interpreter: standard library and torch only, Python 3.9 syntax, torch 2.1 to newest.

It is loaded by file location under the name `_triage_agent`, so that neither the target's modules nor ours can shadow each
other, and uses relative imports only. `hooks` stand in the program; `capture`, `compare` and `trace` are what they are there
for; `warm` runs candidates; `programs` run by themselves. Private torch APIs are reached through `compat` alone.
Nothing in here may ever raise into the user's program: an agent that fails is an agent that stays silent.
"""
