"""What a program reads is private: made-up contents first, its own words only where they are needed, and asked for."""

from __future__ import annotations

import ast
import json
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from text_helpers import TextOracle, TextRunner, Unlimited

from triage.reduce.interface import Reduction
from triage.reduce.text.code.script import Script, after_future
from triage.reduce.text.data.checkpoint import saved
from triage.reduce.text.data.files import Data, File, array_header, data_of, without_data
from triage.reduce.text.data.standins import Masking, public_words, standins, told_by_torch
from triage.reduce.text.data.withheld import fewest, needed
from triage.reduce.text.reducing import Around, Bench, Reducing
from triage.reduce.text.search import Search
from triage.reduce.text.starts.texts import KnownFailure, starts
from triage.reduce.text.validity import Validity
from triage.reduce.text.watching.evidence import Call, Module, Trace
from triage.trial.driver import Driver
from triage.trial.interface import Resources

PEOPLE = json.dumps(
    [{"name": "Åsa Lindqvist", "salary": 48210, "team": "blue"}, {"name": "Tom O'Neil", "salary": 51990, "team": "red"}]
)
PUBLIC = public_words(['rows = [row["salary"] / scale for row in people if row["team"] == "blue"]\n"""Lindqvist."""\n'])


def test_names_and_numbers_are_made_up_and_what_the_code_names_stays():
    made = list(standins(PEOPLE, PUBLIC))
    for text in made:
        rows = json.loads(text)
        assert all(row["team"] for row in rows) and all({"salary", "team"} <= set(row) for row in rows)
        assert not any(word in text for word in ("Lindqvist", "Tom", "Neil", "48210", "51990", "red"))
    assert [len(json.loads(text)) for text in made] == [1, 2]
    assert json.loads(made[0])[0]["salary"] == 1 and json.loads(made[-1])[0]["salary"] == 32768
    assert json.loads(made[0])[0]["team"] == "blue"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("id,city\n007,Paris\n", "id,city\n001,Aaaaa\n"),
        ("lr: 3.5e-4\nwarm: true\n", "lr: 1.0\naaaa: true\n"),
        ('{"path": "a\\nZoe"}', '{"path": "a\\nAaa"}'),
    ],
)
def test_the_form_of_a_text_stays(text: str, made: str):
    public = public_words(["id, city, lr, path, a = 0"])
    assert Masking(public, sizes=False).of(text) == made


def test_a_word_is_made_up_alike_wherever_it_stands():
    one, two, again = Masking(frozenset()).of("Anna Bert Anna").split()
    assert one == again != two


def test_comments_and_docstrings_make_no_word_public():
    assert public_words(['"""By Anna."""\nx = "key-a"  # Bert\n']) >= {"x", "key", "a"}
    assert not {"Anna", "By", "Bert"} & public_words(['"""By Anna."""\nx = "key-a"  # Bert\n'])


def test_what_torch_calls_its_functions_is_public_and_first_names_are_not():
    assert set(told_by_torch(["gelu", "LayerNorm", "Adam", "Mish", "AdamW"])) == {"gelu", "LayerNorm", "AdamW"}


def test_arguments_and_files_travel_with_the_program_in_a_directory_that_goes(tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("anna,7.5\n")  # no number of a temporary directory
    (tmp_path / "b.bin").write_bytes(b"\xff\x00")
    files = (tmp_path / "data" / "a.csv", tmp_path / "b.bin", Path("/etc/hostname"))
    argv = ("--n", "3", str(files[0]), "--for=bert")
    data = data_of(Trace({}, argv=argv, files=files), tmp_path, tmp_path, None)
    assert data.preludes()[0] == (
        "import os\nimport tempfile\nimport pathlib\nimport sys\n"
        "folder = tempfile.TemporaryDirectory()\nos.chdir(folder.name)\n"
        "os.makedirs('data', exist_ok=True)\n"
        "pathlib.Path('data/a.csv').write_text('aaaa,1.0\\n')\n"
        "pathlib.Path('b.bin').write_bytes(bytes(2))\n"
        "sys.argv[1:] = ['--n', '3', 'data/a.csv', '--for=bert']\n"
    )
    assert data.words() == ("anna", "7.5") and "bert" in data.public  # the report tells the command
    assert "anna,7.5" in data.verbatim() and "anna,4.5" in data.verbatim(["anna"])
    assert data.withheld(["anna"]) == ("data/a.csv", "b.bin")


def test_a_file_of_a_package_is_found_by_its_package(tmp_path: Path):
    """With `importlib.resources`, the sources in a folder of their own. What reads it stands in one file with the rest."""
    (tmp_path / "src" / "app" / "data").mkdir(parents=True)
    prices = tmp_path / "src" / "app" / "data" / "prices.json"
    prices.write_text('{"anna": 7}')
    reads = "from importlib import resources\n\ntext = resources.files(__package__).joinpath('data/prices.json').read_text()\n"
    modules = {
        "__main__": Module("__main__", "from app.tables import text\nprint(text)\n"),
        "app": Module("app", "", package=True),
        "app.tables": Module("app.tables", reads),
    }
    trace = Trace(modules, files=(prices,))
    preludes = data_of(trace, tmp_path, tmp_path, None).preludes()
    script = starts(trace, KnownFailure(0, (), None), preludes)[0]
    (tmp_path / "elsewhere").mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", script.text], cwd=tmp_path / "elsewhere", capture_output=True, text=True, check=False
    )
    assert ran.stdout == '{"aaaa": 1}\n', script.text + ran.stderr


def test_standard_input_is_data(tmp_path: Path):
    (tmp_path / "stdin.data").write_text("hello Anna\n")
    trace = Trace({"__main__": Module("__main__", "import sys\nsys.stdin.read()\n")})
    (data,) = {data_of(trace, tmp_path, tmp_path, tmp_path / "stdin.data")}
    assert "Anna" not in data.preludes()[0] and "sys.stdin = io.TextIOWrapper" in data.preludes()[0]
    assert "tempfile" not in data.preludes()[0]


def test_a_program_without_data_that_may_write_is_tried_as_it_is_and_in_a_place_of_its_own(tmp_path: Path):
    trace = Trace({"__main__": Module("__main__", "open('log.txt', 'w')\n")})
    plain, placed = data_of(trace, tmp_path, tmp_path, None).preludes()
    assert plain == "" and "os.chdir(folder.name)" in placed


def test_an_array_is_told_by_its_header():
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(24)
    assert array_header(content) == ("<f4", "(3, 2)")
    assert File("x.npy", content).made_up() == ["import numpy", "numpy.save('x.npy', numpy.ones((3, 2), '<f4'))"]


CHECKPOINT = (  # what torch.save of 2.13 writes for {"model": {"lin.weight": a float32 tensor of 3x4}, "who": "Anna"}
    b"\x80\x02}q\x00(X\x05\x00\x00\x00modelq\x01}q\x02X\x0a\x00\x00\x00lin.weightq\x03ctorch._utils\n_rebuild_tensor_v2\nq\x04"
    b"((X\x07\x00\x00\x00storageq\x05ctorch\nFloatStorage\nq\x06X\x01\x00\x00\x000q\x07X\x03\x00\x00\x00cpuq\x08K\x0ctq\x09QK\x00"
    b"K\x03K\x04\x86q\nK\x04K\x01\x86q\x0b\x89ccollections\nOrderedDict\nq\x0c)Rq\rtq\x0eRq\x0fsX\x03\x00\x00\x00whoq\x10"
    b"X\x04\x00\x00\x00Annaq\x11u."
)


def archive(path: Path, pickled: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("archive/data.pkl", pickled)
        made.writestr("archive/data/0", bytes(48))
    return path


def test_a_checkpoint_is_made_up_of_its_shapes(tmp_path: Path):
    file = archive(tmp_path / "w.pt", CHECKPOINT)
    trace = Trace({"__main__": Module("__main__", "lin = state['model'], who\n")}, files=(file,))
    (prelude,) = data_of(trace, tmp_path, tmp_path, None).preludes()
    assert "torch.save({'model': {'lin.weight': torch.ones((3, 4))}, 'who': 'Aaaa'}, 'w.pt')\n" in prelude
    assert "Anna" not in prelude


def test_a_pickle_that_does_anything_else_is_left_alone_and_never_run(tmp_path: Path):
    class Evil:
        def __reduce__(self):
            return (Path.write_text, (tmp_path / "ran", "x"))

    assert saved(archive(tmp_path / "w.pt", pickle.dumps({"a": Evil()}))) is None
    assert not (tmp_path / "ran").exists()


def test_strings_that_were_recorded_at_run_time_are_data():
    call = Call(0, "<<m:f>>", None, None, "torch.ones(2), device=torch.device('cpu'), who='Anna', d={'k': b'Bert'}")
    (made,) = without_data(Trace({}, calls=(call,)), public_words(["k"], ["cpu"])).calls
    assert made.arguments.startswith("torch.ones(2), device=torch.device('cpu'), who='Aaaa', d={'k': b'")
    assert "Bert" not in made.arguments


def test_the_fewest_words():
    asked = []

    def fails(words):
        asked.append(list(words))
        return {"c", "f"} <= set(words)

    assert fewest("abcdefgh", fails) == ["c", "f"]
    assert len(asked) < 20


MAIN = "import json\nimport torch\nkind = json.load(open('c.json'))['kind']\ntorch.compile(lambda x: x)(kind)\n"


def test_the_words_that_a_failure_needs_and_no_others(tmp_path: Path):
    (tmp_path / "c.json").write_text('{"kind": "zebra", "owner": "Anna Maria", "place": "Rome"}')
    trace = Trace({"__main__": Module("__main__", MAIN)}, files=(tmp_path / "c.json",))
    data = data_of(trace, tmp_path, tmp_path, None)
    driver: Driver[Script] = Driver(
        Resources(TextRunner(), TextOracle(lambda text: "zebra" in text), Unlimited(), lambda *a, **k: None),
        lambda s: s.text,
    )
    found = needed(driver, trace, data, KnownFailure(0, (), "eager"))
    assert found is not None
    assert found.words == ("zebra",) and found.names == ("c.json",)
    assert "zebra" not in found.script.text and "open('c.json')" in found.script.text
    whole = found.whole().text
    assert "zebra" in whole and not any(word in whole for word in ("Anna", "Maria", "Rome"))
    ast.parse(whole)


@pytest.mark.parametrize("include", [False, True])
def test_what_is_needed_as_it_is_is_shown_only_where_that_is_allowed(include: bool, tmp_path: Path):
    (tmp_path / "c.json").write_text('{"kind": "zebra", "owner": "Anna Maria", "place": "Rome"}')
    trace = Trace({"__main__": Module("__main__", MAIN)}, files=(tmp_path / "c.json",))
    told: list[tuple[str, dict[str, object]]] = []

    def bench(prelude: str, *, private: bool = False) -> Bench:
        def render(script: Script) -> str:
            return after_future(script, prelude)

        oracle = TextOracle(lambda text: "zebra" in text and "torch.compile" in text and "open(" in text)
        driver: Driver[Script] = Driver(Resources(TextRunner(), oracle, Unlimited(), lambda *a, **k: None), render)
        return Bench(driver, Search(driver, 1, Unlimited()), render, lambda script: script.text)

    around = Around(tmp_path, tmp_path, None, include, lambda kind, **facts: told.append((kind, facts)))
    found = Reducing(bench, Validity(), lambda: trace, KnownFailure(0, (), "eager"), around, lambda: None).run()
    assert isinstance(found, Reduction) and "open(" in found.source
    assert ("zebra" in found.source) == include
    assert found.needs == (() if include else ("c.json",)) and (found.private is None) == include
    assert include or "zebra" in str(found.private)
    everything = " ".join((found.source, found.private or "", *found.notes))
    assert not any(word in everything for word in ("Anna", "Maria", "Rome"))
    assert ("`zebra`" if include else "not included; `--include-data`") in " ".join(found.notes)
    needed_data = [facts for kind, facts in told if kind == "data_needed"]
    assert needed_data == [{"told": "c.json", "words": ["zebra"], "included": include}]


def test_files_of_no_data_need_nothing():
    assert Data().preludes() == [""]


class Ends:
    """A budget that is spent once a number of scripts has been run, until the search is over."""

    def __init__(self, runner: TextRunner, most: int) -> None:
        self.runner, self.most, self.over = runner, most, False

    def left(self) -> float:
        return 0.0 if self.spent() else 1000.0

    def spent(self) -> bool:
        return not self.over and len(self.runner.seen) >= self.most

    def release(self) -> None:
        self.over = True


@pytest.mark.parametrize("most", [1, 4, 9])
def test_a_search_that_is_cut_short_still_shows_eager_first(most: int, tmp_path: Path):
    text = "import torch\nold = 1\nolder = 2\ndef f(x):\n    y = x\n    return y\ntorch.compile(f)(torch.ones(1))\n"
    trace = Trace({"__main__": Module("__main__", text)})
    runner = TextRunner()
    budget = Ends(runner, most)

    def bench(prelude: str, *, private: bool = False) -> Bench:
        oracle = TextOracle(lambda text: "torch.compile(f)(" in text and "def f(" in text)
        driver: Driver[Script] = Driver(
            Resources(runner, oracle, budget, lambda *a, **k: None), lambda script: script.text
        )
        return Bench(driver, Search(driver, 1, budget), lambda script: script.text, lambda script: script.text)

    around = Around(tmp_path, tmp_path, None, False, lambda kind, **facts: None)
    found = Reducing(bench, Validity(), lambda: trace, KnownFailure(0, (), "eager"), around, budget.release).run()
    assert isinstance(found, Reduction) and not found.complete
    assert "# eager works\ntorch.compile(f)(" in found.source
