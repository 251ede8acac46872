"""Plain facts the rest of triage exchanges: frozen dataclasses and enums, standard library only.

Nothing here runs, prints, reads or writes. Everything converts to and from JSON with `codec`.
"""
