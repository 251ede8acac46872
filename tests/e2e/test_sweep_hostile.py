"""A sweep is killed again and again, or a machine of its cluster is: the same bugs at the end, and no process left."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from command import TAG, Command, nobody_left
from swept_programs import LERP, MISSING, PASSES

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200), pytest.mark.filterwarnings("ignore")]

DECIMAL = """from decimal import Decimal
import torch
PRICE = Decimal("{price}")
print(torch.compile(lambda x: x * float(PRICE))(torch.ones({rows})).sum())
"""
REFUSED = """import torch


def refuse(graph, inputs):
    raise LookupError("no kernel for {op}")


print(torch.compile(lambda x: x.{op}(), backend=refuse)(torch.ones(3)))
"""
SCRIPTS = {
    "fine": PASSES,
    "good": PASSES.replace("sin", "cos"),
    "lerp": LERP.format(weight="0.3 + 0.2j", rows=4),
    "mixer": LERP.format(weight="0.9j", rows=2),
    "price": DECIMAL.format(price="1.5", rows=4),
    "refused": REFUSED.format(op="sin"),
    "missing": MISSING,
}
KILLS = 10


@pytest.fixture
def command(tmp_path: Path) -> Command:
    made = Command(tmp_path)
    (tmp_path / "models").mkdir()
    for name, text in SCRIPTS.items():
        made.script(text, f"models/{name}.py")
    return made


def bugs(command: Command) -> tuple[list[list[str]], dict[str, tuple[str, str]]]:
    """Who belongs together, and the fate and stage of each."""
    told: dict[str, Any] = json.loads((command.out / "sweep.json").read_text())
    assert told["complete"]
    assert all(each["reproducer"] for each in told["clusters"] if each["known_cause"] is None)
    fates = {each["script"]: (each["fate"], each["stage"]) for each in told["results"]}
    return sorted(sorted(each["members"]) for each in told["clusters"]), fates


def check(command: Command) -> None:
    groups, fates = bugs(command)
    assert groups[0] == ["models/lerp.py", "models/mixer.py"]
    assert len(groups) == 3
    assert fates["models/fine.py"] == fates["models/good.py"] == ("passes", "none")
    assert fates["models/missing.py"] == ("script", "script")


def test_killed_ten_times_it_ends_as_it_would_have(command: Command) -> None:
    words = ["sweep", "models", "--out", "out", "--timeout", "120"]
    for number in range(KILLS):
        begun = command.start(*words)
        time.sleep(3.0 + 2.7 * number)
        if begun.poll() is not None:
            break
        os.kill(begun.pid, signal.SIGKILL)
        begun.communicate()
        nobody_left(command.tag)
        words = ["sweep", "--resume", "out", "--timeout", "120"]
    ended = command.start(*words)
    _, error = ended.communicate(timeout=600)
    assert ended.returncode == 1, error
    assert number >= KILLS // 2, "it was killed too seldom to say anything"
    check(command)
    nobody_left(command.tag)


def test_on_three_nodes_of_ray_one_is_killed_and_nothing_is_lost(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv(TAG, command.tag)  # of the nodes, too: what they start is ours to end
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        cluster.wait_for_nodes()
        words = ("--engine", "ray", "--address", cluster.address)
        sweeping = command.start("sweep", "models", "--out", "out", "--timeout", "120", *words)
        assert sweeping.stderr is not None
        for line in sweeping.stderr:
            if "4/7" in line:
                break
        cluster.remove_node(nodes[0], allow_graceful=False)
        _, error = sweeping.communicate(timeout=900)
        assert sweeping.returncode == 1, error
        check(command)
    finally:
        cluster.shutdown()
    nobody_left(command.tag)
