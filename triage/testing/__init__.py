"""triage in a test run: the plugin of pytest."""
