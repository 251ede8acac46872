"""`python -m triage`."""

from triage.cli.app import main

main()
