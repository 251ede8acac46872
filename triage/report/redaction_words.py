"""What was taken out of a report, in a reader's words."""

from __future__ import annotations

from collections.abc import Mapping

NOT_REDACTED = "--no-redact was given: look through this report and its files before anybody else sees them."
_NAMES = {
    "email": "e-mail address",
    "gpu": "identity of a GPU",
    "ip": "IP address",
    "user": "user name",
    "host": "host name",
    "known_secret": "value of a secret variable or argument",
    "named_secret": "value beside a name that says secret",
    "credentials_in_url": "login or key in a URL",
    "json_web_token": "JSON web token",
    "aws_key_id": "AWS key id",
}
_PLURALS = {
    "ip": "IP addresses",
    "email": "e-mail addresses",
    "gpu": "identities of GPUs",
    "known_secret": "values of secret variables or arguments",
    "named_secret": "values beside names that say secret",
    "credentials_in_url": "logins or keys in URLs",
}


def redacted_words(redacted: Mapping[str, int] | None) -> str:
    """`12 temporary paths, 1 github token`, most first; empty where nothing was found."""
    if redacted is None:
        return NOT_REDACTED
    rows = sorted(redacted.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{count} {_name(kind, count)}" for kind, count in rows if count)


def _name(kind: str, count: int) -> str:
    name = _NAMES.get(kind, kind.replace("_", " "))
    return name if count == 1 else _PLURALS.get(kind, f"{name}s")
