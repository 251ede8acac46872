"""A graph with collectives prints as a script for one process."""

from __future__ import annotations

from printer_cases import case, meta, node, tensor

from triage.model.graphcase import GraphCase
from triage.reduce.printing.printer import print_case
from triage.trial.limits import meets_others


def talking(*collective: object, out: tuple[int, ...] = (4, 8)) -> GraphCase:
    target, *rest = collective
    assert isinstance(target, str)
    nodes = [
        node("sent", f"torch.ops._c10d_functional.{target}", "%x", *rest, out=meta(*out)),
        node("got", "torch.ops._c10d_functional.wait_tensor", "%sent", out=meta(*out)),
        node("y", "torch.relu", "%got", out=meta(*out)),
    ]
    return case([tensor("x", 4, 8)], nodes, "%y")


def test_a_reduction_stands_in_a_group_of_one() -> None:
    text = print_case(talking("all_reduce", "sum", "0"))
    assert 'dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)' in text
    assert "import torch.distributed as dist" in text
    assert not meets_others(text)


def test_a_gathering_keeps_the_size_of_its_group_and_needs_no_other_rank() -> None:
    text = print_case(talking("all_gather_into_tensor", 2, "0", out=(8, 8)))
    assert 'dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)' in text
    assert "import FakeStore" in text
    assert not meets_others(text)


def test_the_rank_that_sends_must_exist() -> None:
    assert "world_size=4" in print_case(talking("broadcast", 3, "0"))


def test_every_group_is_the_one_that_the_script_makes() -> None:
    assert 'all_reduce(x, "sum", "0")' in print_case(talking("all_reduce", "sum", "mesh_dp"))


def test_a_graph_that_lost_its_collectives_needs_no_group() -> None:
    graph = talking("all_reduce", "sum", "0")
    alone = case(list(graph.inputs), [node("y", "torch.relu", "%x", out=meta(4, 8))], "%y")
    assert "dist" not in print_case(alone)


def test_a_script_with_an_address_meets_others() -> None:
    assert meets_others('dist.init_process_group("gloo")')
