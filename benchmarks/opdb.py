"""Failing scripts that nobody wrote: samples of PyTorch's own databases, each compiled once in a fork.

    python benchmarks/opdb.py [--out DIR] [--databases LIST] [--dtypes LIST] [--samples N] [--minutes N] [--jobs N]
                              [--backend NAME] [--seed N]

Those that fail become files; then `triage sweep DIR/scripts` says how many bugs they are. A body fails where it passes with
`torch.compile` taken away and does not with it; `--backend` is where that is looked for (by default with everything but code
generation, which costs a second each), and the file is written without a backend if it fails so, too. An earlier look is gone
on with. Needs `pip install expecttest`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from opdb_forks import ended, in_child, lines, warm_up
from opdb_samples import Entry, Wanted, entries
from opdb_text import UnprintableError

DATABASES = "op,module,hop,custom_op,autograd_function,optim"
DTYPES = "float32,bfloat16,float64,complex64,int64,bool"
BODY_SECONDS = 20.0
PATIENT_SECONDS = 180.0  # some compile that long with dynamic shapes, on a machine that does other things besides
HELD, STARTED, ENDED = "held", "started", "crash or hang"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/opdb"))
    parser.add_argument("--databases", default=DATABASES)
    parser.add_argument("--dtypes", default=DTYPES)
    parser.add_argument("--samples", type=int, default=3, help="of one line of a database in one dtype")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--backend", default="aot_eager_decomp_partition")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    (given.out / "scripts").mkdir(parents=True, exist_ok=True)
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # a pool of workers does not outlive a fork
    workers = []
    for number in range(given.jobs):
        worker = os.fork()
        if worker == 0:
            work(given, number, until)
            os._exit(0)
        workers.append(worker)
    for worker in workers:
        os.waitpid(worker, 0)
    told(given.out)
    return 0


def work(given: argparse.Namespace, number: int, until: float) -> None:
    """One process's share of all entries."""
    warnings.simplefilter("ignore")
    log = given.out / f"looked-{number}.jsonl"
    dtypes = [getattr(torch, name) for name in given.dtypes.split(",")]
    found = entries(given.databases.split(","), Wanted(dtypes, given.samples, given.backend))
    random.Random(given.seed).shuffle(found)
    known = {line["key"] for file in given.out.glob("looked-*.jsonl") for line in lines(file)}
    warm_up(given.backend)
    for entry in found[number :: given.jobs]:
        if entry.key in known:
            continue
        if time.monotonic() > until:
            return
        bodies, failing = 0, []
        for name, kind, text in looked(entry):
            bodies += kind != HELD
            if kind not in (HELD, "") and not (kind == ENDED and only_slow(text)):
                failing.append({"name": f"{entry.key.replace('/', '-')}-{name}", "kind": kind, "text": text})
        for script in failing:
            script["text"] = plainest(script["text"], given.backend)
            (given.out / "scripts" / f"{script['name']}.py").write_text(script["text"])
        with log.open("a") as out:
            out.write(json.dumps({"key": entry.key, "bodies": bodies, "failing": failing}) + "\n")


def looked(entry: Entry) -> Iterator[tuple[str, str, str]]:
    """(name, how it failed, text) of each body; a body that ends or holds the child is one that failed."""
    skip: list[str] = []
    while True:
        open_body = None
        for name, kind, text in _child(entry, skip):
            if kind == STARTED:
                open_body = (name, text)
                continue
            open_body = None
            skip.append(name)
            yield name, kind, text
        if open_body is None:
            return
        skip.append(open_body[0])
        yield open_body[0], ENDED, open_body[1]


def _child(entry: Entry, skip: list[str]) -> Iterator[tuple[str, str, str]]:
    """What a fork says of the bodies that are not to be skipped, until it ends or says nothing for too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with contextlib.suppress(BaseException), os.fdopen(writing, "w") as out:
            _look(entry, skip, lambda *words: print(json.dumps(words), file=out, flush=True))
        os._exit(0)
    os.close(writing)
    rest = b""
    with os.fdopen(reading, "rb", buffering=0) as given:
        while select.select([given], [], [], BODY_SECONDS)[0]:
            got = given.read(1 << 16)
            if not got:
                break
            *whole, rest = (rest + got).split(b"\n")
            yield from (tuple(json.loads(line)) for line in whole)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _look(entry: Entry, skip: list[str], say: Callable[..., None]) -> None:
    """Each body first without torch.compile: what does not hold then is none of the compiler's."""
    torch.manual_seed(0)
    for name, make in entry.samples():
        if name in skip:
            continue
        try:
            text = make()
        except UnprintableError:
            continue
        if fails_uncompiled(text):
            say(name, HELD, "")
            continue
        say(name, STARTED, text)
        kind = ended(text)
        say(name, kind, text if kind else "")


def fails_uncompiled(text: str) -> bool:
    """Only its own `torch.compile` is taken away: `while_loop` compiles by itself, and then refuses what it refuses."""
    return bool(ended(text.replace("torch.compile(", "(lambda model, **_: model)(")))


def only_slow(text: str) -> bool:
    return in_child(lambda: ended(text), PATIENT_SECONDS) == ""


def plainest(text: str, backend: str) -> str:
    """Without a backend where it fails so, too."""
    plain = text.replace(f', backend="{backend}"', "")
    passes = in_child(lambda: ended(plain), 4 * BODY_SECONDS) == ""
    return text if passes else plain


def told(out: Path) -> None:
    found = [line for file in sorted(out.glob("looked-*.jsonl")) for line in lines(file)]
    print("| database | entries | bodies | failing | how |\n|---|---|---|---|---|")
    for database in sorted({line["key"].split("/")[0] for line in found}):
        mine = [line for line in found if line["key"].startswith(f"{database}/")]
        kinds = Counter(script["kind"] for line in mine for script in line["failing"])
        how = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        print(f"| {database} | {len(mine)} | {sum(line['bodies'] for line in mine)} | {sum(kinds.values())} | {how} |")


if __name__ == "__main__":
    sys.exit(main())
