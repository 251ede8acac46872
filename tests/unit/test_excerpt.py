"""What is quoted of a failure: texts cut where a reader can bear it, the user's line, a traceback without its middle."""

from dataclasses import replace
from pathlib import Path

from triage.culprit.own_code import raising_line
from triage.judge.naming import headline, one_line
from triage.judge.signature import FailureSignature
from triage.model.outcome import Frame, Outcome, RaisedException
from triage.model.stage import OutcomeKind
from triage.model.text import clip, clip_sentences, first_line
from triage.report.excerpt import excerpt, function_of_stacks, hints_of, library_line_of, line_of


def test_a_text_is_cut_before_a_word() -> None:
    assert clip("the quick brown fox jumps", 18) == "the quick brown…"
    assert clip("short", 18) == "short"
    assert clip("a" * 30, 10) == "a" * 9 + "…"  # one long word


def test_a_text_is_cut_before_a_list() -> None:
    assert clip("expected size [16, 32, 8, 8], got [16, 31]", 25) == "expected size…"
    assert clip("expected [16, 32], got [16, 31] here", 28) == "expected [16, 32], got…"


def test_the_agents_last_word_is_no_message() -> None:
    assert headline("SIGSEGV", "run graph 0/0") == "SIGSEGV while running compiled code"
    assert headline("no end within 60 s", "lowering of the forward graph 0/0") == "no end within 60 s while compiling"
    assert headline("SIGABRT", "graph 0/0 ran") == "SIGABRT outside compiled code"
    assert headline("SIGABRT", "SIGABRT") == "SIGABRT"
    assert headline("RuntimeError", "cannot run graph 0/0 twice") == "RuntimeError: cannot run graph 0/0 twice"


TORCH = "/v/lib/python3.11/site-packages/torch/_inductor/"


def frames(*names: str) -> tuple[Frame, ...]:
    return tuple(Frame(f"{TORCH}{name}.py", 3, name, f"{name}()") for name in names)


def test_an_excerpt_begins_in_the_users_code_and_ends_with_the_error() -> None:
    own = Frame("/home/me/train.py", 7, "step", "loss = model(x)")
    middle = frames(*(f"f{number}" for number in range(60)))
    inner = RaisedException("torch._inductor.exc.LoweringError", "no", (own, *middle))
    outer = RaisedException("torch._inductor.exc.InductorError", "LoweringError: no", (own,), inner=inner)
    text = excerpt(Outcome(OutcomeKind.EXCEPTION, exception=outer)).splitlines()
    assert text[1] == '  File "/home/me/train.py", line 7, in step'
    assert text[3] == "  ... 54 frames left out"
    assert text[-2:] == ["    f59()", "torch._inductor.exc.InductorError: LoweringError: no"]
    assert len(text) == 1 + 2 + 1 + 12 + 1


def test_a_line_of_torch_is_no_line_of_the_users() -> None:
    error = RaisedException("RuntimeError", "no", frames("a"), user_code=frames("linear"))
    assert line_of(Outcome(OutcomeKind.EXCEPTION, exception=error)) is None


def test_a_line_of_a_library_is_told_beside_the_programs_that_leads_to_it() -> None:
    own = Frame("/home/me/train.py", 7, "step", "loss = model(x)")
    library = Frame(
        "/v/lib/python3.11/site-packages/gp/exact.py", 9, "<genexpr>", "torch.equal(a, b) for a, b in pairs"
    )
    python = Frame("/usr/lib/python3.11/inspect.py", 2474, "signature", "sig = obj.__signature__")

    def told(*traced: Frame) -> str | None:
        return library_line_of(Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("E", "no", user_code=traced)))

    assert told(own, library, python, *frames("a")) == "gp/exact.py:9 in <genexpr>: torch.equal(a, b) for a, b in pairs"
    assert told(own, library, own) is None and told(own, *frames("a")) is None and told() is None
    # Dynamo asks an object for its length when it makes guards, and has no line of the program then.
    called = RaisedException("E", "no", (own, *frames("build_guards"), library, python))
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=called)
    assert library_line_of(outcome, raising_line(called)) == told(own, library)
    for raised in ((own, library, *frames("a")), (own, *frames("a"), own), ()):
        assert library_line_of(outcome, raising_line(replace(called, frames=raised))) is None


def test_of_a_cell_that_a_program_runs_its_line_is_told_and_not_that_which_runs_it() -> None:
    runs, cell = Frame("/home/me/nb.py", 23, "run", "exec(cell)"), Frame("<cell 5>", 1, "<module>")
    traced = Frame("<cell 4>", 6, "kalman")
    error = RaisedException("Unsupported", "no", (runs, cell, *frames("a")), user_code=(traced,))
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=error)
    assert line_of(outcome) == traced and traced.told == "<cell 4>:6 in kalman"
    generated = replace(error, frames=(runs, *frames("a")))  # sympy's, say: the line that calls it tells more
    assert line_of(replace(outcome, exception=generated)) == runs
    own = Frame("/home/me/net.py", 3, "f", "g(x)")
    assert line_of(replace(outcome, exception=replace(error, user_code=(traced, own)))) == own


def test_a_program_that_is_no_file_has_lines_too() -> None:
    text = "import torch\n\ndef mix(x):\n    return torch.lerp(x, x, 1j)\nmix(torch.ones(2))\n"
    called, inner = Frame("<string>", 5, "<module>"), Frame("<string>", 4, "mix")
    generated = Frame("<string>", 3, "__init__")  # a dataclass wrote it
    raised = RaisedException("TypeError", "not supported", (called, inner, generated))
    outcome = Outcome(OutcomeKind.EXCEPTION, 1.0, 1, exception=raised)
    assert line_of(outcome) is None
    told = line_of(outcome, text)
    assert told is not None and told.told == "<string>:4 in mix: return torch.lerp(x, x, 1j)"
    assert line_of(outcome, "no program") is None


def test_a_hang_names_the_users_line(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\n\nprint(step(x))\n")
    stacks = (
        "Timeout (0:01:00)!\n"
        "Thread 0x00007f01 (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 320 in wait\n\n'
        "Thread 0x00007f02 (most recent call first):\n"
        f'  File "{TORCH}graph.py", line 12 in run\n'
        f'  File "{script}", line 3 in <module>\n'
    )
    found = line_of(Outcome(OutcomeKind.HANG, detail="compile graph 0/0", stacks=stacks))
    assert found.told == "train.py:3 in <module>: print(step(x))"


def test_an_excerpt_of_a_hang_begins_at_the_users_line_and_names_torchs_function(tmp_path: Path) -> None:
    deep = "".join(
        f'  File "/v/lib/python3.11/site-packages/sympy/x.py", line {number} in f{number}\n' for number in range(40)
    )
    torch = "".join(f'  File "{TORCH}graph.py", line {number} in g{number}\n' for number in range(30))
    own = '  File "/home/me/train.py", line 7 in step\n'
    stacks = f"Timeout (0:01:00)!\nThread 0x01 (most recent call first):\n{deep}{torch}{own}"
    outcome = Outcome(OutcomeKind.HANG, detail="compile graph 0/0", stacks=stacks, seconds=60.0)
    lines = excerpt(outcome).splitlines()
    assert lines[1] == '  File "/home/me/train.py", line 7, in step'
    assert lines[2] == "  ... 24 frames left out"
    assert [line.rsplit(" ", 1)[-1] for line in lines[3:9]] == ["g5", "g4", "g3", "g2", "g1", "g0"]
    assert lines[9] == "  ... 37 frames left out"
    assert lines[-2].endswith("line 0, in f0")
    assert lines[-1] == "No end within 60 s while compiling"
    assert function_of_stacks(outcome) == "torch/_inductor/graph.py:g0"
    printed = f'  File "{TORCH.replace("_inductor", "fx")}graph_module.py", line 9 in print_readable'
    printing = stacks.replace(own, f"{printed}\n{own}")
    assert function_of_stacks(replace(outcome, stacks=printing)) is None


def test_of_a_process_and_its_worker_the_one_in_the_compiler_is_told() -> None:
    own = '  File "/home/me/train.py", line 7 in step\n'
    site = '  File "/v/lib/python3.11/site-packages/torch/utils/data'
    worker = f'Current thread 0x02 (most recent call first):\n  File "{TORCH}async_compile.py", line 5 in wait\n{own}'
    idle = f'Current thread 0x03 (most recent call first):\n{site}/_utils/worker.py", line 9 in _worker_loop\n{own}'
    parent = f'Current thread 0x01 (most recent call first):\n{site}/dataloader.py", line 9 in _get_data\n{own}'
    told = Outcome(OutcomeKind.HANG, stacks="\n\n".join((parent, worker, idle)))
    assert function_of_stacks(told) == "torch/_inductor/async_compile.py:wait"
    assert function_of_stacks(replace(told, stacks=parent)) == "torch/utils/data/dataloader.py:_get_data"


def test_stacks_without_a_line_of_the_user_are_kept() -> None:
    stacks = f'Thread 0x01 (most recent call first):\n  File "{TORCH}graph.py", line 1 in run\n'
    text = excerpt(Outcome(OutcomeKind.CRASH, detail="SIGSEGV", stacks=stacks))
    assert "graph.py" in text and text.endswith("\nSIGSEGV")


def test_torchs_own_hints_are_read_from_the_error() -> None:
    message = (
        "Attempted to call function marked as skipped\n  Explanation: Dynamo does not trace it.\n"
        "  Hint: Move the call out of the\n    compiled function.\n  Hint: Register it.\n\n  Developer debug context: module: x\n"
    )
    error = RaisedException("torch._dynamo.exc.Unsupported", message)
    assert hints_of(Outcome(OutcomeKind.EXCEPTION, exception=error), passes_uncompiled=True) == (
        "Move the call out of the compiled function.",
        "Register it.",
    )
    signature = FailureSignature(OutcomeKind.EXCEPTION, "Unsupported", "", message=message)
    assert one_line(signature) == "Unsupported: Attempted to call function marked as skipped"


def test_a_hint_to_run_it_uncompiled_says_nothing_new_where_it_passes_so() -> None:
    message = (
        "RuntimeError when making fake tensor call\n  Hint: Your code may result in an error when running in eager. Please "
        "double check that your code doesn't contain a similar error when actually running eager/uncompiled. You can do this by "
        "removing the `torch.compile` call.\n  Hint: Register it.\n"
    )
    outcome = Outcome(OutcomeKind.EXCEPTION, exception=RaisedException("TorchRuntimeError", message))
    assert hints_of(outcome, passes_uncompiled=True) == ("Register it.",)
    assert len(hints_of(outcome, passes_uncompiled=False)) == 2


def test_a_wrapped_sentence_is_one_line() -> None:
    wrapped = "A Boolean argument can only be used in Eq and Ne; all other\nrelationals expect real expressions."
    assert first_line(f"\n{wrapped}\n\nfrom user code:") == wrapped.replace("\n", " ")
    message = "sizes of tensors must match except in dimension one of this call"
    for after in ("from user code:\n  File", "note: see above", "Set TORCH_LOGS", "  x = 1"):
        assert first_line(f"{message}.\n{after}") == f"{message}."
    for after in ("note: see above", "Set TORCH_LOGS", "x = 1\n"):
        assert first_line(f"{message}\n{after}") in (message, f"{message} x = 1")


def test_prose_is_cut_behind_a_sentence() -> None:
    text = "It passes alone. It takes torch 2.13.0 and 5.5 s. It is shown unreduced."
    assert clip_sentences(text, 72) == text
    assert clip_sentences(text, 60) == "It passes alone. It takes torch 2.13.0 and 5.5 s. …"
    assert (
        clip_sentences(text, 45) == "It passes alone. It takes torch 2.13.0 and…"
    )  # that sentence is too short to be all
    assert len(clip_sentences(text, 50)) <= 50
