"""One run of triage: its directory, clock, settings and events."""
