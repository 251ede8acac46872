"""What must not leave the machine, taken out of every text before it becomes part of a report.

Paths of the person become `~`, `<tmp>` or relative to the project; names of users and hosts, e-mail and network addresses
become placeholders; secrets go by the values the environment holds, by the values given on the command line, and by shape.
Invariants: redaction comes before any cutting (half a secret has no shape); it is idempotent; the placeholders say what
stood there. A name that is also a word ("root", "mark", "torch") is only taken out where its place says that it is a name.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from triage.model.stage import Stage, Symptom
from triage.model.text import words
from triage.report import credentials
from triage.report.addresses import without_addresses, without_gpus
from triage.report.credentials import SECRET, mentions, take_out
from triage.report.markdown import clean

# Names that are words of English or of this field; replacing them everywhere would destroy the text.
_WORDS = words(
    """root user users admin administrator ubuntu debian fedora centos alpine runner builder build jenkins travis circleci docker
    vagrant worker node nobody guest test tests tester default python torch pytorch triton cuda inductor dynamo linux darwin
    windows local localhost localdomain host hostname server client desktop laptop computer machine main master model models
    data train trainer home work team developer student research lambda spark hadoop slurm cluster conda miniconda jupyter
    jovyan colab kaggle sagemaker mark grant bill drew chase frank grace hope faith rich will dean amber page stone april june
    august summer autumn crystal pearl young king wood field long case code error file line type graph tensor value input
    output backward forward kernel compile script stage report debug trace stack frame call list dict self none true false
    name path"""
)
_FLAG_OR_START = r"(?:(?<![\w./)~-])|(?<=\s-[A-Z])|(?<=file://))"  # -I/home/... is a path too
_OTHERS_HOME = re.compile(
    r"(?P<root>(?:/(?:home|Users)/|\b[A-Za-z]:\\{1,2}Users\\{1,2}))(?!<)(?P<name>[^\s/\\'\":;,<>()\[\]]+)"
)
_TORCH_CACHE = re.compile(r"(?<=[/\\]torchinductor_)(?!<)[\w.-]+")  # torch/_inductor/runtime/cache_dir_utils.py
_MAC_TEMPORARY = re.compile(r"(?:/private)?/var/folders/\w\w/\w+/[TC0]\b")
LONGEST_KNOWN = 200  # characters: what is so short stands in trees by the thousand, and mostly the same
_BACK = "\\"
_DECIDED = {"stage": {str(each.value) for each in Stage}, "symptom": {str(each.value) for each in Symptom}}
# What is looked for, what stands in its place, what it counts as, and words of which one is in every text that holds it.
_Rule = tuple[re.Pattern[str], str, str, tuple[str, ...]]
_PATHS: tuple[_Rule, ...] = (
    (_MAC_TEMPORARY, "<tmp>", "temporary_path", ("/var/folders/",)),
    (_TORCH_CACHE, "<user>", "user", ("torchinductor_",)),
    (_OTHERS_HOME, r"\g<root><user>", "user", ("home", "Users")),
)


@dataclass(frozen=True, eq=False)
class Redactor:
    """Takes out what belongs to one person and one machine.

    `home`, `project` and `temporary` are absolute directories; `user` and `host` names; `environ` the variables whose
    secret values must not appear; `known` further secret values. What is empty is not looked for. `tally` counts what was
    taken out, by kind.
    """

    home: str = ""
    user: str = ""
    host: str = ""
    temporary: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    project: str = ""
    home_itself: str = ""  # where `home` is a link
    known: frozenset[str] = field(default=frozenset(), repr=False)
    tally: Counter[str] = field(default_factory=Counter, repr=False)
    _known_texts: dict[str, tuple[str, Counter[str]]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_this_machine(cls, environ: Mapping[str, str], project: Path) -> Redactor:
        """For this user on this host."""
        try:
            user = getpass.getuser()
        except (OSError, KeyError, ImportError):  # a container may run under a number without a name
            user = environ.get("USER", "")
        home = Path(environ.get("HOME") or environ.get("USERPROFILE") or "~").expanduser()
        return cls(
            home=str(home),
            user=user,
            host=socket.gethostname(),
            temporary=_temporary(environ),
            environ=dict(environ),
            project=str(project.absolute()),
            home_itself=str(home.resolve()),
        )

    def counting(self) -> Redactor:
        """The same, with a count that begins at nothing."""
        return replace(self, tally=Counter())

    @property
    def counted(self) -> dict[str, int] | None:
        """What was taken out so far, by kind, most first."""
        return {kind: count for kind, count in self.tally.most_common() if count}

    def knowing(self, command: Sequence[str]) -> Redactor:
        """Also takes out, wherever they appear, the secrets given as arguments of this command."""
        found = {value for _, value in credentials.argument_secrets(command) if credentials.worth_hiding(value)}
        return replace(self, known=self.known | found) if found else self

    def text(self, text: str) -> str:
        """Any text but program text."""
        if len(text) > LONGEST_KNOWN:
            return self._text(text)
        known = self._known_texts.get(text)
        if known is None:
            before = self.tally.copy()
            known = self._known_texts[text] = (self._text(text), self.tally - before)
        else:
            self.tally.update(known[1])
        return known[0]

    def _text(self, text: str) -> str:
        return without_addresses(self._apply(self._bare_names, self.source(text)), self.tally)

    def source(self, text: str) -> str:
        """Program text: as `text`, but a bare word is never taken for a name, nor `a@b.c` for an address."""
        # Cleaned first: a colour code in the middle would hide a secret from us, but not from a reader.
        scrubbed = without_gpus(credentials.scrub(self._known_values(clean(text)), self.tally), self.tally)
        return self._names_in_place(self._paths(scrubbed))

    def command(self, argv: Sequence[str]) -> tuple[str, ...]:
        """A command line, argument by argument: the value after `--token` goes whatever it looks like."""
        hidden = dict(credentials.argument_secrets(argv))
        self.tally["named_secret"] += sum(value != SECRET for value in hidden.values())
        return tuple(
            self.text(argument.replace(hidden[place], SECRET) if hidden.get(place) else argument)
            for place, argument in enumerate(argv)
        )

    def tree(self, value: Any, fields: frozenset[str] = frozenset()) -> Any:
        """JSON data, keys included but for `fields`. A key `command` holds an argument list, `rerun` a command line."""
        redactor = self
        if isinstance(value, dict) and isinstance(value.get("command"), list):
            redactor = self.knowing([str(argument) for argument in value["command"]])
        return redactor._walk(value, "", fields)

    def _walk(self, value: Any, key: str, fields: frozenset[str]) -> Any:
        if isinstance(value, str):
            if value in _DECIDED.get(key, ()):  # somebody's password is "inductor"
                return value
            if credentials.worth_hiding(value) and credentials.is_secret_name(key) and key.lower() != "key":
                self.tally["named_secret"] += 1
                return SECRET
            return self.text(credentials.scrub_command(value, self.tally) if key == "rerun" else value)
        if isinstance(value, dict):
            return {
                name if name in fields else self.text(str(name)): self._walk(item, str(name), fields)
                for name, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            if key == "command" and all(isinstance(item, str) for item in value):
                return list(self.command(value))
            return [self._walk(item, "", fields) for item in value]
        return value

    @cached_property
    def _values(self) -> tuple[str, ...]:
        given = (*credentials.secret_values(self.environ), *self.known)
        values = {value for value in map(clean, given) if credentials.worth_hiding(value)}
        forms = {form for value in values for form in (value, quote(value, safe=""), repr(value)[1:-1])}
        return tuple(sorted(forms, key=lambda form: (-len(form), form)))

    @cached_property
    def _value_pattern(self) -> re.Pattern[str] | None:
        # A short value is a word as well (a password "cats"), so it must stand alone; a long one goes from inside words too.
        parts = [re.escape(value) if len(value) >= 8 else rf"(?<!\w){re.escape(value)}(?!\w)" for value in self._values]
        return re.compile("|".join(parts)) if parts else None

    def _known_values(self, text: str) -> str:
        if self._value_pattern is None:
            return text
        text = take_out(self._value_pattern, SECRET, "known_secret", text, self.tally)
        for value in self._values:  # whoever bounded the text may have cut a secret in two
            for length in range(min(len(value) - 1, len(text)), 7, -1):
                # A few letters are the end of a word of ours as well.
                begins = length >= 12 or not text[: len(text) - length][-1:].isalnum()
                if begins and len(text) > length and text.endswith(value[:length]):
                    self.tally["known_secret"] += 1
                    return text[:-length] + SECRET
        return text

    @cached_property
    def _path_rules(self) -> tuple[_Rule, ...]:
        places = [(place, "<tmp>") for place in self.temporary]
        places += [(home, "~") for home in dict.fromkeys((self.home, self.home_itself))]
        if self.project not in (self.home, self.home_itself):
            places.append((self.project, ""))
        rules: list[_Rule] = []
        for place, placeholder in sorted(places, key=lambda item: -len(item[0])):
            bare = place.rstrip("/\\")
            if not bare:
                continue
            hints = tuple(dict.fromkeys((bare, bare.replace(_BACK, _BACK * 2))))
            spelled = rf"{_FLAG_OR_START}(?:{'|'.join(map(re.escape, hints))})"
            if placeholder:
                kind = "home_path" if placeholder == "~" else "temporary_path"
                rules.append((re.compile(rf"{spelled}(?![\w-])"), placeholder, kind, hints))
            else:
                rules.append((re.compile(rf"{spelled}[/\\]+(?=[\w.])"), "", "project_path", hints))
                rules.append((re.compile(rf"{spelled}(?![\w-])"), ".", "project_path", hints))
        return tuple(rules)

    def _paths(self, text: str) -> str:
        return self._apply((*self._path_rules, *_PATHS), text)

    def _apply(self, rules: Sequence[_Rule], text: str) -> str:
        for pattern, placeholder, kind, hints in rules:
            if mentions(text, *hints):
                text = take_out(pattern, placeholder, kind, text, self.tally)
        return text

    @cached_property
    def _hosts(self) -> tuple[str, ...]:
        """The full name before the short one. localhost is everybody's."""
        names = dict.fromkeys((self.host, self.host.split(".", 1)[0]))
        return tuple(name for name in names if name and name not in ("localhost", "127"))

    def _names_in_place(self, text: str) -> str:
        return self._apply(self._placed_names, text)

    @cached_property
    def _placed_names(self) -> tuple[_Rule, ...]:
        """Names where the text says that they are: user@host, user=..., host=..., /data/user/. `x @ w` is a product."""
        hosts, user = "|".join(map(re.escape, self._hosts)), re.escape(self.user)
        of_user, of_hosts = (self.user,), self._hosts
        rules: list[tuple[str, str, str, tuple[str, ...]]] = []
        if user and hosts:
            rules.append((rf"(?<![\w.-]){user}@(?:{hosts})\b", "<user>@<host>", "user", of_user))
        if user:
            rules.append((rf"(?P<says>\b(?i:user|username|login)[=:] ?){user}\b", r"\g<says><user>", "user", of_user))
        if _is_a_name(self.user, 3):
            rules.append((rf"(?<=[\w.>~][/\\]){user}(?=[/\\])", "<user>", "user", of_user))
        if hosts:
            rules.append(
                (rf"(?P<says>\b(?i:host|hostname)[=:] ?|@|://)(?:{hosts})\b", r"\g<says><host>", "host", of_hosts)
            )
        return tuple((re.compile(pattern), placeholder, kind, hints) for pattern, placeholder, kind, hints in rules)

    @cached_property
    def _bare_names(self) -> tuple[_Rule, ...]:
        named = [(host, "<host>", "host") for host in self._hosts] + [(self.user, "<user>", "user")]
        return tuple(
            (re.compile(rf"(?<![A-Za-z0-9<]){re.escape(name)}(?![A-Za-z0-9>])"), placeholder, kind, (name,))
            for name, placeholder, kind in named
            if _is_a_name(name, 4)
        )


@dataclass(frozen=True, eq=False)
class Unredacted(Redactor):
    """Takes nothing out: what `--no-redact` asks for. The text is cleaned only, so that it can be written and shown."""

    @property
    def counted(self) -> None:
        """Nothing was looked for."""
        return None

    def text(self, text: str) -> str:
        return clean(text)

    def source(self, text: str) -> str:
        return clean(text)

    def command(self, argv: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(clean, argv))

    def tree(self, value: Any, fields: frozenset[str] = frozenset()) -> Any:
        return value


def redactor_here(project: Path, *, redact: bool = True) -> Redactor:
    """What takes out what belongs to this user on this host; with `redact` false, what takes out nothing."""
    return Redactor.of_this_machine(os.environ, project) if redact else Unredacted()


def _is_a_name(name: str, shortest: int) -> bool:
    return len(name) >= shortest and name.lower() not in _WORDS and not name.isdigit()


def _temporary(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where this machine keeps what is temporary, however it is spelled."""
    named = [tempfile.gettempdir(), *filter(None, (environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")))]
    named += [place for place in ("/tmp", "/var/tmp") if Path(place).is_dir()]
    forms = (str(form) for place in map(Path, named) for form in (place.absolute(), place.resolve()))
    return tuple(dict.fromkeys(form for form in forms if len(Path(form).parts) > 1))
