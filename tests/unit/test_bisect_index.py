"""What is read from package indexes of every kind, whose settings are respected, and which wheels fit."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from packaging.version import Version

from triage.environments.index import (
    IndexUnreachableError,
    all_wheels,
    exists,
    linked_wheels,
    parse_page,
    project_wheels,
)
from triage.environments.index_settings import PUBLIC_INDEX, IndexSettings, find_settings, from_pip, from_uv, public
from triage.environments.releases import Release, flavour_indexes, releases

LINUX = ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux1_x86_64", "linux_x86_64"]
WHEEL = "torch-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl"
HTML = f"""<!DOCTYPE html><html><body>
<a href="../../files/{WHEEL}#sha256=ab" data-requires-python="&gt;=3.9" data-upload-time="2025-08-06T01:02:03Z">{WHEEL}</a>
<a href="https://elsewhere/torch-2.8.0%2Bcpu-cp311-cp311-linux_x86_64.whl">torch-2.8.0+cpu-cp311-cp311-linux_x86_64.whl</a>
<a href="torch-2.7.0-cp311-cp311-linux_x86_64.whl" data-yanked="broken">x</a>
<a href="torch-2.8.0.tar.gz">a source</a><a name="nothing">no link</a>
</body></html>"""
JSON = {
    "meta": {"api-version": "1.1"},
    "files": [
        {"filename": WHEEL, "url": "/f/w.whl", "requires-python": ">=3.9", "size": 5,
         "upload-time": "2025-08-06T00:00:00Z", "yanked": False},
        {"filename": "torch-2.8.0.tar.gz", "url": "/f/s.tar.gz"},
    ],
}  # fmt: skip


def test_html_is_read():
    wheels = parse_page(HTML, "https://index/simple/torch/")
    assert [str(wheel.version) for wheel in wheels] == ["2.8.0", "2.8.0+cpu", "2.7.0"]
    first = wheels[0]
    assert (first.requires_python, first.uploaded, first.yanked) == (">=3.9", "2025-08-06", False)
    assert wheels[2].yanked


def test_json_is_read():
    (wheel,) = parse_page(json.dumps(JSON), "https://index/simple/torch/")
    assert (wheel.size, wheel.uploaded) == (5, "2025-08-06")


def test_json_that_is_something_else_is_no_answer():
    with pytest.raises(IndexUnreachableError):
        parse_page('{"detail": "no"}', "https://me:secret@index/simple/torch/")


class Index(BaseHTTPRequestHandler):
    """A package index with a login, a mirror that only speaks HTML, and PyPI's JSON API beside it."""

    def do_GET(self) -> None:
        wanted = "Basic " + base64.b64encode(b"me:se@cret").decode()
        pages = {
            "/json/simple/torch/": json.dumps(JSON),
            "/html/simple/torch/": HTML,
            "/html/pypi/torch/json": json.dumps(
                {"releases": {"2.8.0": [{"filename": WHEEL, "size": 7, "upload_time": "2025-08-07T00:00:00"}]}}
            ),
            "/private/simple/torch/": HTML if self.headers.get("Authorization") == wanted else "",
            "/broken/simple/torch/": "{",
        }
        text = pages.get(self.path)
        code = 404 if text is None else 401 if not text else 200
        body = (text or "").encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()


def test_an_index_is_asked_over_the_network(server):
    assert [wheel.size for wheel in project_wheels("torch", f"http://{server}/json/simple")] == [5]


def test_sizes_come_from_the_json_api_beside_a_mirror(server):
    sizes = {str(wheel.version): wheel.size for wheel in project_wheels("torch", f"http://{server}/html/simple/")}
    assert sizes == {"2.8.0": 7, "2.8.0+cpu": None, "2.7.0": None}


def test_a_login_is_used_and_never_shown(server):
    assert len(project_wheels("torch", f"http://me:se%40cret@{server}/private/simple")) == 3
    with pytest.raises(IndexUnreachableError, match="401") as caught:
        project_wheels("torch", f"http://me:wrong@{server}/private/simple")
    assert "wrong" not in str(caught.value)


def test_a_project_that_an_index_does_not_have_is_no_trouble(server):
    assert project_wheels("torch", f"http://{server}/empty/simple") == []


def test_whether_a_file_exists_is_asked_without_fetching_it(server):
    assert exists(f"http://{server}/html/simple/torch/") == len(HTML)
    assert exists(f"http://{server}/nightly/torch.whl") is None


def test_what_cannot_be_reached_is_a_problem_and_the_others_are_asked(server):
    settings = IndexSettings(
        f"http://{server}/json/simple", ("http://127.0.0.1:9/simple", f"http://{server}/broken/simple")
    )
    wheels, problems = all_wheels("torch", settings)
    assert len(wheels) == 1
    assert len(problems) == 2


def test_directories_of_wheels_and_local_indexes_are_read(tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / WHEEL).write_bytes(b"12345")
    (tmp_path / "links" / "numpy-1.26.4-cp311-cp311-linux_x86_64.whl").write_bytes(b"")
    (tmp_path / "simple" / "torch").mkdir(parents=True)
    (tmp_path / "simple" / "torch" / "index.html").write_text(HTML)
    assert [wheel.size for wheel in linked_wheels("torch", str(tmp_path / "links"))] == [5]
    assert len(project_wheels("torch", (tmp_path / "simple").as_uri())) == 3
    assert project_wheels("numpy", (tmp_path / "simple").as_uri()) == []


# -- settings -------------------------------------------------------------------------------------------------------

PIP = """:env:.find-links='/opt/wheels'
global.extra-index-url='https://a/simple file:///b/simple'
global.find-links='/other'
global.index-url='https://me:secret@mirror/simple'
install.index-url='https://special/simple'
"""


def test_pips_settings_are_read_by_their_rank_and_handed_on_to_uv():
    found = from_pip(PIP, {})
    assert (found.default, found.find_links) == ("https://special/simple", ("/opt/wheels",))
    assert found.indexes == ("https://a/simple", "file:///b/simple", "https://special/simple")
    assert found.uv_arguments() == (
        "--default-index", "https://special/simple", "--index", "https://a/simple", "--index", "file:///b/simple",
        "--find-links", "/opt/wheels",
    )  # fmt: skip


def test_pips_settings_without_an_index_leave_the_default():
    assert from_pip("global.timeout='60'\n", {}) is None
    assert from_pip("", {"PIP_INDEX_URL": "https://mirror/simple"}) == IndexSettings(
        "https://mirror/simple", source="pip"
    )


def test_a_person_without_an_index_gets_none():
    found = from_pip("global.no-index='true'\nglobal.find-links='/w'\n", {})
    assert found.indexes == ()
    assert found.uv_arguments() == ("--no-index", "--find-links", "/w")


def test_uvs_settings_win_and_uv_reads_them_itself():
    environ = {"UV_INDEX": "torch=https://torch/simple https://b/simple", "UV_INDEX_URL": "https://me/simple"}
    found = from_uv(environ, [{"index": [{"url": "https://c/simple"}, {"url": "https://x", "explicit": True}]}])
    assert found.indexes == ("https://torch/simple", "https://b/simple", "https://c/simple", "https://me/simple")
    assert found.uv_arguments() == ()


def test_settings_of_uv_are_handed_on_to_pip():
    found = from_uv({"UV_INDEX": "https://b/simple", "UV_INDEX_URL": "https://me/simple", "UV_FIND_LINKS": "/w"}, [])
    assert found.pip_arguments() == (
        "--index-url", "https://me/simple", "--extra-index-url", "https://b/simple", "--find-links", "/w",
    )  # fmt: skip
    own = from_pip(PIP, {})
    assert own.pip_arguments() == ()  # pip reads its own


def test_the_installers_own_settings_come_first(monkeypatch):
    monkeypatch.setattr("triage.environments.index_settings._pip_config", lambda python: PIP)
    environ = {"UV_DEFAULT_INDEX": "https://uv/simple", "HOME": "/nowhere"}
    assert find_settings(environ, installer="uv").default == "https://uv/simple"
    assert find_settings(environ, installer="pip").default == "https://special/simple"


def test_uvs_files_may_name_the_default_index():
    found = from_uv(
        {}, [{"index": [{"url": "https://c/simple", "default": True}]}, {"pip": {"extra-index-url": ["d"]}}]
    )
    assert (found.default, found.extra) == ("https://c/simple", ("d",))
    assert from_uv({}, [{"python-preference": "system"}]) is None
    assert IndexSettings().default == PUBLIC_INDEX


def test_only_the_public_form_of_an_address_is_shown():
    assert public("https://me:secret@host/simple?token=x") == "https://host/simple"
    assert public("/opt/wheels") == "/opt/wheels"


# -- which builds ---------------------------------------------------------------------------------------------------


def found(python: tuple[int, int], flavour: str) -> dict[str, Release]:
    page = "".join(f'<a href="{name}">{name}</a>' for name in (
        WHEEL, "torch-2.8.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", "torch-2.8.0+cu128-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl", "torch-2.9.0-cp313-cp313-manylinux_2_28_x86_64.whl",
        "torch-2.9.0-cp311-none-macosx_11_0_arm64.whl", "torch-2.10.0-cp311-none-macosx_11_0_arm64.whl",
    ))  # fmt: skip
    return {release.name: release for release in releases(parse_page(page, "https://i/"), python, flavour, LINUX)}


def test_a_build_for_the_cpu_alone_is_preferred():
    assert found((3, 11), "cpu")["2.8.0"].requirement == "torch==2.8.0+cpu"
    assert found((3, 11), "cu128")["2.8.0"].requirement == "torch==2.8.0+cu128"


def test_a_version_without_a_fitting_wheel_says_why():
    assert found((3, 11), "cpu")["2.9.0"].problem == "no wheel for this platform"
    assert found((3, 14), "cpu")["2.9.0"].problem == "no wheel for Python 3.14 (there are wheels for 3.11 to 3.13)"
    assert found((3, 12), "cu130")["2.9.0"].problem == "no cu130 build on the index (it has the default one)"
    assert [name for name, release in found((3, 12), "cpu").items() if release.requirement] == ["2.9.0"]


def test_yanked_releases_do_not_exist():
    listed = releases(parse_page(HTML, "https://i/"), (3, 11), "cpu", LINUX)
    assert [release.version for release in listed] == [Version("2.8.0")]


def test_flavours_have_indexes_of_their_own(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert flavour_indexes("cpu", nightly=False)[0].endswith("/whl/cpu")
    assert flavour_indexes("cu128", nightly=True)[0].endswith("/whl/nightly/cu128")
    assert flavour_indexes("any", nightly=False) == ()
    monkeypatch.setattr("sys.platform", "darwin")
    assert flavour_indexes("cpu", nightly=False) == ()
