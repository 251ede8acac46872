"""A sweep as test results that every CI reads: one test case per script. The format has no standard; this is what Jenkins,
GitLab and pytest agree in.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from triage.model.sweep import Cluster, Fate, ScriptResult, SweepReport
from triage.model.text import clip
from triage.report.markdown import clean

# What XML 1.0 cannot hold, escaped or not (its production 2, Char).
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST = 4_000  # characters of one text


def junit(found: SweepReport) -> str:
    """The text of `junit.xml`. What was not run to an end is skipped."""
    clusters = {cluster.id: cluster for cluster in found.clusters}
    differs = _differences(found)
    root = ElementTree.Element("testsuites", name="triage sweep")
    suite = ElementTree.SubElement(root, "testsuite", name="triage sweep", time=f"{found.seconds:.1f}")
    for result in found.results:
        _case(suite, result, clusters.get(result.cluster or ""), differs.get(result.script))
    for element in (root, suite):
        element.set("tests", str(len(found.results)))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            element.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, result: ScriptResult, cluster: Cluster | None, differs: str | None) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", name=_text(result.script), classname=_text(result.stage), time=f"{result.seconds:.1f}"
    )
    if differs is not None:
        properties = ElementTree.SubElement(case, "properties")
        ElementTree.SubElement(properties, "property", name="against", value=differs)
    if result.fate in (Fate.PASSES, Fate.ROUNDING):
        return
    tag = {Fate.UNUSABLE: "error", Fate.UNKNOWN: "skipped"}.get(result.fate, "failure")
    kind = f"{cluster.id}: {cluster.title}" if cluster is not None else result.fate.value
    told = ElementTree.SubElement(case, tag, type=_text(kind), message=_text(result.headline or result.note or ""))
    if cluster is not None:
        lines = [cluster.title, cluster.why, f"reproducer: {cluster.reproducer or 'none verified'}", cluster.cure or ""]
        told.text = _text("\n".join(filter(None, lines)))


def _differences(found: SweepReport) -> dict[str, str]:
    if found.against is None:
        return {}
    kinds = ("new", "fixed", "changed", "still", "flaky")
    return {script: kind for kind in kinds for script in getattr(found.against, kind)}


def _text(text: str) -> str:
    return _NO_XML.sub("", clip(clean(text), _MOST))
