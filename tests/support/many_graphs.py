"""Programs of thirty compiled functions of which one is guilty, each with a failure of another kind."""

from __future__ import annotations

COUNT, GUILTY = 30, 17  # the eighteenth

_INJECTED = 'torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "{}"'
# The kernel of a relu writes to address zero, from its (n + 1)th element on.
_SEGFAULT = """from torch._inductor.codegen import cpp


def broken(x):
    return f"([]() {{ static int calls = 0; if (++calls > AFTER) *(volatile int*)nullptr = 1; }}(), {x})"


cpp.CppOverrides.relu = cpp.CppVecOverrides.relu = staticmethod(broken)
"""
# Inductor does not come back from the relu; the function is nobody's file, so that no line of the program stands there.
_ENDLESS = """from torch._inductor.codegen import cpp

endless = eval("lambda x: __import__('time').sleep(9999)")
cpp.CppOverrides.relu = cpp.CppVecOverrides.relu = staticmethod(endless)
"""
_CHECK = f"""for n, out in enumerate(outs):
    torch.testing.assert_close(out, torch.relu(x) if n == {GUILTY} else x @ x)
"""


def program(head: str = "", body: str = "torch.relu(x)", tail: str = "", options: str = "") -> str:
    """The others only multiply matrices: nothing is built for them, so that a run stays short."""
    lines = ["import torch", "import torch._inductor.config", "", head, ""]
    for n in range(COUNT):
        lines += ["", f"def step{n}(x):", f"    return {body if n == GUILTY else 'torch.mm(x, x)'}", ""]
    names = ", ".join(f"step{n}" for n in range(COUNT))
    lines += [
        "",
        "torch.manual_seed(0)",
        "x = torch.randn(1, 1)",
        f"steps = [torch.compile(step{options}) for step in ({names})]",
        "outs = [step(x) for step in steps]",
        tail,
    ]
    return "\n".join(lines)


PROGRAMS = {
    "does not build": program(_INJECTED.format("compile_error")),
    "raises at run time": program(_INJECTED.format("runtime_error")),
    "dies at run time": program(_SEGFAULT.replace("AFTER", "0")),
    "dies in a later call": program(_SEGFAULT.replace("AFTER", "1"), tail="outs = [step(x) for step in steps]\n"),
    "wrong, and nothing raises": program(_INJECTED.format("accuracy")),
    "wrong, and a check at the end": program(_INJECTED.format("accuracy"), tail=_CHECK),
    "Dynamo cannot trace it": program("import zlib", "x + zlib.crc32(b'y')", options=", fullgraph=True"),
    "hangs in compile": program(_ENDLESS),
}
