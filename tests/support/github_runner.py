"""What GitHub does with the steps of a workflow or an action, as far as ours ask for it: expressions, conditions, shells.

Steps that `use` another action are handed to the test. Everything else is run to the letter, in the shell that GitHub takes.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHELLS = {
    None: ["bash", "-e"],  # where a workflow names none
    "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
}
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<sign>==|!=|&&|\|\||[()])|(?P<word>[A-Za-z_][\w.-]*))")


@dataclass
class Job:
    """`contexts` are inputs, github and the like; `uses` is asked for each step that uses an action."""

    workspace: Path
    contexts: dict[str, Any]
    environ: Mapping[str, str]
    uses: Callable[[str, dict[str, str]], None]
    ran: list[str] = field(default_factory=list)
    failed: bool = False
    said: str = ""

    def run(self, steps: list[dict[str, Any]]) -> None:
        outputs: dict[str, Any] = self.contexts.setdefault("steps", {})
        for number, step in enumerate(steps):
            if self.failed or not _true(self.value(str(step.get("if", "true")))):
                continue
            given = {
                name: self.filled(str(text)) for name, text in {**step.get("env", {}), **step.get("with", {})}.items()
            }
            self.ran.append(step.get("uses") or step["run"])
            if "uses" in step:
                self.uses(step["uses"], given)
                continue
            written = self.workspace.parent / f"output-{number}"
            written.touch()
            outputs[step.get("id", str(number))] = {"outputs": self._in_shell(step, given, written)}

    def _in_shell(self, step: dict[str, Any], given: Mapping[str, str], written: Path) -> dict[str, str]:
        script = self.workspace.parent / "step.sh"
        script.write_text(self.filled(step["run"]), encoding="utf-8")
        environ = {**os.environ, **self.environ, **given, "GITHUB_OUTPUT": str(written)}
        words = [*SHELLS[step.get("shell")], str(script)]
        ran = subprocess.run(words, cwd=self.workspace, env=environ, capture_output=True, text=True, timeout=500)
        self.said += ran.stdout + ran.stderr
        self.failed = ran.returncode != 0
        lines = written.read_text(encoding="utf-8").splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    def filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: _text(self.value(found[1])), text)

    def value(self, expression: str) -> Any:
        """The value of an expression of the kinds that our files have."""
        whole = _EXPRESSION.fullmatch(expression.strip())
        tokens = [found for found in _TOKEN.finditer(whole[1] if whole else expression) if found[0].strip()]
        python = []
        for number, token in enumerate(tokens):
            if token["text"]:
                python.append(repr(token["text"][1:-1].replace("''", "'")))
            elif token["sign"]:
                python.append({"&&": " and ", "||": " or "}.get(token["sign"], token["sign"]))
            elif number + 1 < len(tokens) and tokens[number + 1]["sign"] == "(":
                python.append(token["word"])
            else:
                python.append(repr(self._looked_up(token["word"])))
        functions = {"hashFiles": lambda pattern: "1" if list(self.workspace.glob(pattern)) else ""}
        return eval("".join(python), {"__builtins__": {}}, functions)

    def _looked_up(self, word: str) -> Any:
        if word in ("true", "false"):
            return word == "true"
        found: Any = self.contexts
        for part in word.split("."):
            found = found.get(part, "") if isinstance(found, dict) else ""
        return found


def _true(value: Any) -> bool:
    return value not in (False, "", None, 0)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
