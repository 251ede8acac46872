"""What to type: the examples at the end of each command's help. A test parses every one."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "triage run train.py --steps 2",
        "triage run --budget 600 -m pkg.train",
        "triage run --no-reduce -- torchrun --nproc-per-node 2 train.py",
        "triage run -- pytest tests/test_model.py::test_step",
        "triage run --resume",
    ),
    "explain": ("triage explain train.py", "triage explain --fullgraph train.py --steps 2"),
    "bisect": (
        "triage bisect train.py --good 2.6.0 --bad 2.9.0",
        "triage bisect latest",
        "triage bisect --find-fix --nightly repro.py --bad 2025-05-01",
    ),
    "sweep": (
        "triage sweep models/",
        "triage sweep --resume",
        "triage sweep --python venv/bin/python --against triage-out/sweep-20260101-120000 models/",
    ),
    "report": ("triage report", "triage report triage-out/train-20260101-120000 -f github", "triage report --schema"),
    "verify": ("triage verify", "triage verify --runs 10 repro.py"),
    "doctor": ("triage doctor", "triage doctor --python venv/bin/python"),
    "list": ("triage list", "triage list --json ../other/triage-out"),
    "clean": ("triage clean", "triage clean --keep 20 --yes", "triage clean --keep 0 --older-than 30"),
    "open": ("triage open", "triage open triage-out/train-20260101-120000"),
    "compare": ("triage compare latest triage-out/train-20260101-120000",),
}


def epilog(command: str) -> str:
    """The examples, after the mark (a backspace) that has the parser's library keep lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in EXAMPLES[command])])
