"""Code that runs inside the target interpreter: standard library and torch only, Python 3.9 syntax, torch 2.1 to newest.

It is loaded by file location under the name `_triage_agent`, so that neither the target's modules nor ours can shadow each
other, and uses relative imports only. Nothing in here may ever raise into the user's program: an agent that fails is an
agent that stays silent.
"""
