"""E-mail and network addresses in a text, told apart from what looks like them: versions, slices, names of C++.

`cublas 12.4.5.8` and `x[2000::2]` have the shape of addresses. So an IPv4 address counts where the text says that it is one
(a scheme, a word such as `host`, a port), or where its range is for private networks only and no version begins so; an IPv6
address where it begins as routed, private or link-local addresses do.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter

from triage.report.credentials import mentions, take_out

_EMAIL = re.compile(
    r"(?<![\w.+/-])(?!git@)[\w.+-]{2,64}@(?:[A-Za-z0-9-]{2,63}\.){1,4}"
    r"(?:com|org|net|edu|gov|mil|io|ai|app|dev|info|cloud|tech|xyz|co|de|fr|uk|jp|cn|kr|ru|nl|ch|se|no|fi|pl|br|ca|au|eu|be"
    r"|cz|dk|il|es|gr|hu|ie|pt|ro|sg|tr|tw|hk|nz|mx|za|us|local|lan|internal)"
    r"(?![\w(-])"
)
_SAYS = (
    r"(?:\b|_)(?:host(?:name)?|addr(?:ess)?|ip|server|node|peer|master|endpoint|remote|client|inet6?|ping|ssh"
    r"|connect(?:ed|ing|ion)?(?: refused)?(?: to| from| by)|listen(?:ing)? on|bound to|bind(?:ing)? to|from host)"
    r"[\"']?\s{0,2}[:=]?\s{0,2}[\"'(\[]?"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_KEPT = r"(?!127\.|0\.0\.0\.0|255\.)"  # everybody's
_QUAD = rf"{_KEPT}{_OCTET}(?:\.{_OCTET}){{3}}(?![\w.]*\w)"
_ALONE = r"(?<![\w.=+-])"
_IPV4 = (
    re.compile(rf"(?i)(?P<says>{_SAYS}|://|@|::ffff:){_QUAD}"),
    re.compile(rf"(?P<says>{_ALONE}){_QUAD}(?=:\d{{2,5}}\b|/(?:[89]|[12]\d|3[0-2])(?![\d.]))"),
    re.compile(rf"(?P<says>{_ALONE})(?:192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.{_OCTET}){{2}}(?![\w.]*\w)"),
)
_IPV6_PORT = re.compile(r"(?<!\w)\[(?!::1\])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F.]*\](?=:\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?P<address>(?:fe80|f[cd][0-9a-f]{2}|[23][0-9a-f]{3})(?::[0-9a-f]{0,4}){2,7})(?P<zone>%\w+)?(?![\w:.])",
    re.IGNORECASE,
)
_CLOUD_HOST = re.compile(r"\bip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w.-]+)?\b")
_PRIVATE_ENDINGS = (".internal", ".lan", ".corp", ".intranet")
_NAMED_HOST = re.compile(rf"(?i)(?P<says>{_SAYS}|://|@)(?:[\w-]+\.)+(?:internal|lan|corp|intranet)(?![\w(.-])")


_GPU = re.compile(r"\b(?P<kind>GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)


def without_gpus(text: str, tally: Counter[str]) -> str:
    """The text without the numbers by which NVIDIA knows each GPU that was ever made."""
    return take_out(_GPU, r"\g<kind>-<id>", "gpu", text, tally) if mentions(text, "GPU-", "MIG-") else text


def without_addresses(text: str, tally: Counter[str]) -> str:
    """The text with placeholders in the place of addresses and of hosts that only a private network knows."""
    if mentions(text, "@"):
        text = take_out(_EMAIL, "<email>", "email", text, tally)
    for pattern in _IPV4:
        text = take_out(pattern, r"\g<says><ip>", "ip", text, tally)
    if mentions(text, "]:"):
        text = take_out(_IPV6_PORT, "[<ip>]", "ip", text, tally)
    text = take_out(_IPV6, _without_ipv6, "ip", text, tally)
    if mentions(text, "ip-"):
        text = take_out(_CLOUD_HOST, "<host>", "host", text, tally)
    if mentions(text.casefold(), *_PRIVATE_ENDINGS):
        text = take_out(_NAMED_HOST, r"\g<says><host>", "host", text, tally)
    return text


def _without_ipv6(found: re.Match[str]) -> str:
    address = found["address"]
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return found[0]
    groups = [group for group in address.split(":") if group]
    a_slice = len(groups) < 3 and groups[0].isdigit()  # x[2000::2]
    return found[0] if a_slice else "<ip>"
