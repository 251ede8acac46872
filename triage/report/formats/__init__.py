"""One file per format, named as `--format` names it: `render(report, sources)` returns the whole text, and writes nothing."""
