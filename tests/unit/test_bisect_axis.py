"""The axis: which versions lie between the ends that were asked for, and the words for ends that make no sense."""

from __future__ import annotations

from datetime import date

import pytest
from packaging.version import Version

from triage.bisect.axis import Wish, release_axis
from triage.bisect.nightly import addresses, bases, find_wheel, night_of, nightly_axis
from triage.bisect.points import Axis
from triage.bisect.search import next_position
from triage.environments.releases import Release
from triage.errors import UsageError
from triage.model.bisection import Kind

OUT = {
    "2.0.1": "2023-05-08", "2.1.2": "2023-12-14", "2.6.0": "2025-01-29", "2.7.0": "2025-04-23", "2.7.1": "2025-06-04",
    "2.8.0": "2025-08-06", "2.9.0": "2025-10-15", "2.9.1": "2025-11-12", "2.10.0": "2026-01-21",
}  # fmt: skip
RELEASES = [Release(Version(name), f"torch=={name}", uploaded=date.fromisoformat(out)) for name, out in OUT.items()] + [
    Release(Version("2.11.0rc1"), "torch==2.11.0rc1")
]


def names(axis: Axis) -> list[str]:
    return list(axis.names)


def test_without_ends_it_is_every_stable_release_that_can_be_triaged():
    axis = release_axis(RELEASES, Wish())
    assert names(axis) == ["2.1.2", "2.6.0", "2.7.0", "2.7.1", "2.8.0", "2.9.0", "2.9.1", "2.10.0"]
    assert axis.kind is Kind.REGRESSED
    assert axis.from_bad_end()[0].name == "2.10.0"


def test_versions_are_ordered_as_versions():
    assert names(release_axis(RELEASES, Wish(versions=("2.10.0", "2.9.1", "2.8.0")))) == ["2.8.0", "2.9.1", "2.10.0"]


def test_the_order_of_the_ends_says_what_is_looked_for():
    assert release_axis(RELEASES, Wish(good="2.6.0", bad="2.8.0")).kind is Kind.REGRESSED
    fixed = release_axis(RELEASES, Wish(good="2.8.0", bad="2.6.0"))
    assert (fixed.kind, names(fixed)) == (Kind.FIXED, ["2.6.0", "2.7.0", "2.7.1", "2.8.0"])
    assert next_position(4, {}) == 0
    assert fixed.from_bad_end()[0].name == "2.6.0"


def test_dates_stand_for_what_was_newest_that_day():
    assert names(release_axis(RELEASES, Wish(good="2025-02-01", bad="2025-08-06"))) == [
        "2.6.0",
        "2.7.0",
        "2.7.1",
        "2.8.0",
    ]


def test_a_run_knows_its_bad_end():
    assert names(release_axis(RELEASES, Wish(good="2.7.1", known_bad="2.9.0+cpu")))[-1] == "2.9.0"
    assert names(release_axis(RELEASES, Wish(find_fix=True, known_bad="2.9.0+cpu"))) == ["2.9.0", "2.9.1", "2.10.0"]
    # a nightly that failed stands for the newest release before it
    assert names(release_axis(RELEASES, Wish(good="2.7.1", known_bad="2.10.0.dev20251201")))[-1] == "2.9.1"


def test_a_listed_version_need_not_be_on_the_index():
    axis = release_axis([], Wish(versions=("2.8.0+cpu", "2.3.1")))
    assert [point.release.requirement for point in axis.points if point.release] == ["torch==2.3.1", "torch==2.8.0+cpu"]
    assert names(axis) == ["2.3.1", "2.8.0"]


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (Wish(good="2.99"), "no torch 2.99"),
        (Wish(good="banana"), "neither a version nor a date"),
        (Wish(good="2025-13-01"), "is not a date"),
        (Wish(good="2019-01-01"), "No release that can be tested was out"),
        (Wish(good="2.8", bad="2.8.0"), "are both 2.8"),
        (Wish(good="2.6.0", bad="2.8.0", find_fix=True), "must be older"),
        (Wish(versions=("2.8.0",)), "two versions at least"),
        (Wish(versions=("2.8.0", "x")), "'x' in --versions"),
        (Wish(bad="2.1.2"), "nothing between"),
    ],
)
def test_ends_that_make_no_sense_are_told(wish, says):
    with pytest.raises(UsageError, match=says) as caught:
        release_axis(RELEASES, wish)
    assert caught.value.why and caught.value.next


def test_an_index_without_dates_says_so():
    with pytest.raises(UsageError, match="does not tell when"):
        release_axis(
            [Release(Version("2.8.0"), "torch==2.8.0"), Release(Version("2.9.0"), "x")], Wish(good="2025-01-01")
        )


def nightly(name: str) -> Release:
    return Release(Version(name), f"torch=={name}+cpu")


def test_nights_between_two_dates_are_the_axis_listed_or_not():
    listed = [nightly("2.9.0.dev20250702"), nightly("2.9.0.dev20250704")]
    axis = nightly_axis(listed, RELEASES, Wish(good="2025-07-01", bad="2.9.0.dev20250705"), date(2025, 7, 20))
    assert names(axis) == [f"2.9.0.dev2025070{day}" for day in range(1, 6)]
    known = [point.release.requirement for point in axis.points if point.release]
    assert known == [None, "torch==2.9.0.dev20250702+cpu", None, "torch==2.9.0.dev20250704+cpu", None]
    assert axis.unit == "nightly"


def test_too_many_nights_are_refused():
    with pytest.raises(UsageError, match="nights"):
        nightly_axis([], RELEASES, Wish(good="2020-01-01", bad="2025-07-01"), date(2025, 7, 20))


def test_the_version_in_development_follows_from_the_releases():
    assert bases(date(2025, 7, 10), RELEASES)[0] == "2.9.0"  # 2.8 had been cut
    assert bases(date(2025, 6, 10), RELEASES)[0] == "2.8.0"
    assert bases(date(2026, 2, 1), RELEASES)[0] == "2.11.0"
    assert bases(date(2025, 6, 10), []) == []


def test_forgotten_nightlies_have_constructed_addresses():
    urls = addresses(date(2025, 7, 10), RELEASES, "cpu", (3, 11), "x86_64", "linux")
    name = "torch-2.9.0.dev20250710%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl"
    assert urls[0] == f"https://download.pytorch.org/whl/nightly/cpu/{name}"
    assert all(url.endswith(".whl") and "nightly/cu128/" in url for url in
               addresses(date(2025, 7, 10), RELEASES, "cu128", (3, 12), "x86_64", "linux"))  # fmt: skip
    assert find_wheel(urls, lambda url: 5 if url == urls[2] else None) == (urls[2], 5)
    assert find_wheel(urls, lambda url: None) is None


def test_a_nightly_has_a_night():
    assert night_of(Version("2.9.0.dev20250710+cpu")) == date(2025, 7, 10)
    assert night_of(Version("2.9.0")) is None
    assert night_of(Version("2.9.0.dev20251399")) is None


def test_a_version_there_is_none_of_is_told_of_the_list_that_was_searched():
    with pytest.raises(UsageError) as caught:
        release_axis(RELEASES, Wish(good="2.7.2"))
    assert caught.value.why == "The index has 2.1.2, 2.7.0, 2.7.1, 2.9.1 and others."
    with pytest.raises(UsageError) as caught:
        release_axis(RELEASES, Wish(good="2.6.0", versions=("2.7.0", "2.8.0")))
    assert (caught.value.why, caught.value.next) == (
        "--versions names 2.7.0, 2.8.0.",
        "Choose one of these with --good.",
    )


def test_an_end_before_what_can_be_tested_is_told_so():
    with pytest.raises(UsageError) as caught:
        release_axis(RELEASES, Wish(good="1.13.1"))
    assert caught.value.why == "torch is tested from 2.1 on; the oldest in question is 2.1.2."
