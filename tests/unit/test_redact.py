"""What must go, and what must stay: each line of these tables is a claim."""

from __future__ import annotations

import random
import string
import time
from pathlib import Path

import pytest

from triage.model.text import quoted
from triage.report.credentials import argument_secrets, is_secret_name, scrub_command
from triage.report.markdown import clean
from triage.report.redact import Redactor, Unredacted

ROOT = Path(__file__).parents[2]

ENVIRONMENT = {
    "HF_TOKEN": "plainlookingvalue",
    "DB_PASSWORD": "cats",
    "DATABASE_URL": "postgres://svc:tr0ub4dor@db.example.com/prod",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "PWD": "/home/annika/project",
    "SSH_AUTH_SOCK": "/tmp/ssh-1/agent.7",
    "SENTRY_DSN": "https://abc@sentry.example.com/4",
    "SOME_KEY": "2.13.0",
}
REDACTOR = Redactor(
    home="/home/annika",
    user="annika",
    host="gpubox7.lab.example.com",
    temporary=("/tmp",),
    environ=ENVIRONMENT,
    project="/home/annika/project",
)


def made(alphabet: str, length: int, seed: int = 7) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


ALNUM = string.ascii_letters + string.digits
# Built at run time, so that no scanner takes this file for a leak.
SHAPED = {
    "github": "gh" + "p_" + made(ALNUM, 36),
    "github_fine": "github" + "_pat_" + made(ALNUM, 22) + "_" + made(ALNUM, 59),
    "huggingface": "h" + "f_" + made(ALNUM, 34),
    "openai": "s" + "k-proj-" + made(ALNUM + "-_", 60),
    "anthropic": "s" + "k-ant-api03-" + made(ALNUM + "-_", 80),
    "aws_id": "AK" + "IA" + made(string.ascii_uppercase + string.digits, 16),
    "slack": "xo" + "xb-" + made(string.digits, 12) + "-" + made(ALNUM, 24),
    "google": "AI" + "za" + made(ALNUM + "_-", 35),
    "jwt": "ey" + "J" + made(ALNUM, 30) + ".eyJ" + made(ALNUM, 60) + "." + made(ALNUM + "-_", 43),
    "pem": "-----BEGIN RSA PRIVATE " + "KEY-----\n" + made(ALNUM + "+/", 64) + "\n-----END RSA PRIVATE " + "KEY-----",
    "gitlab": "gl" + "pat-" + made(ALNUM, 20),
}


@pytest.mark.parametrize("name", SHAPED)
@pytest.mark.parametrize(
    "around", ["{}", "the value '{}' was refused", "a={}, b", "https://x.example.com/?k={}", "x\n{}\ny", "_{}"]
)
def test_a_secret_goes_by_its_shape(name: str, around: str) -> None:
    secret = SHAPED[name]
    out = REDACTOR.text(around.format(secret))
    assert not any(secret[start : start + 12] in out for start in range(len(secret) - 12))
    assert "<secret>" in out


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("failed to log in with plainlookingvalue", "plainlookingvalue"),
        ("xplainlookingvaluex", "plainlookingvalue"),
        ("password is cats.", "cats"),
        ("connecting to postgres://svc:tr0ub4dor@db.example.com/prod", "tr0ub4dor"),
        ("the password tr0ub4dor is wrong", "tr0ub4dor"),
        ("https://abc@sentry.example.com/4", "abc@"),
        ("git clone https://me:x1y2z3@github.com/a/b", "x1y2z3"),
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ('{"Authorization": "Basic dXNlcjpwdw=="}', "dXNlcjpwdw"),
        ("curl -H 'X-Api-Key: zzzz1111'", "zzzz1111"),
        ("Cookie: session=abcdef; id=5", "abcdef"),
        ("api_key = 'hunter2hunter'", "hunter2hunter"),
        ("password: correcthorse", "correcthorse"),
        ('"client_secret": "abcd-efgh"', "abcd-efgh"),
        ("train.py --token abcdef123 --lr 1", "abcdef123"),
        ("train.py --api-key=abc --lr 1", "=abc "),
        ("train.py --wandb-api-key 'two words 1'", "two words"),
        ("aws_secret_access_key = " + made(ALNUM + "/+", 40), made(ALNUM + "/+", 40)),
        ("wandb: api key " + made("0123456789abcdef", 40), made("0123456789abcdef", 40)),
        ("WANDB_API_KEY=" + made("0123456789abcdef", 40), made("0123456789abcdef", 40)),
        ("machine api.wandb.ai login user password deadbeefcafe", "deadbeefcafe"),
        ("write to annika.berg@example.org please", "annika.berg"),
        ("tcp://10.1.2.3:29500", "10.1.2.3"),
        ("MASTER_ADDR=10.0.0.3", "10.0.0.3"),
        ("socket [::ffff:10.0.0.9]:29500", "10.0.0.9"),
        ("on ip-10-0-1-22.ec2.internal", "ip-10"),
        ('{"master_addr": "10.0.0.3", "n": 2}', "10.0.0.3"),
        ("failed to connect to 203.0.113.9", "203.0.113.9"),
        ("route 172.20.3.4 and 10.2.0.0/16", "172.20.3.4"),
        ("route 172.20.3.4 and 10.2.0.0/16", "10.2.0.0"),
        ("socket fe80::1c2a:5bff:fe3d:1%eth0 closed", "fe80::1c2a"),
        ("peer 2001:db8:85a3::8a2e:370:7334 left", "2001:db8"),
        ("Host: db.team.internal", "db.team"),
        ("auth failed: WANDB_API_KEY=abcdef0123456789", "abcdef0123456789"),
        ('{"m": "password = \\"two words, 1\\""}', "two words"),
        ("/data/annika/sets/x.csv", "annika"),
        ("annika@gpubox7: ~", "annika"),
        ("running on gpubox7.lab.example.com now", "lab.example"),
        ("gpubox7:0", "gpubox7"),
        ("cut in the middle: plainlookingv", "plainlooking"),
        ("DATADOG: " + made("0123456789abcdef", 32), made("0123456789abcdef", 32)),
        ("twitter_bot => '" + made(ALNUM, 40) + "'", made(ALNUM, 40)),
        ("curl -u me:" + made(ALNUM, 9) + " https://a.example.com", made(ALNUM, 9)),
    ],
)
def test_it_goes(text: str, gone: str) -> None:
    assert gone in text
    assert gone not in REDACTOR.text(text)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ('File "/home/annika/project/train.py", line 3', 'File "train.py", line 3'),
        ("cd /home/annika/project && ls", "cd . && ls"),
        ("/home/annika/data/x.csv", "~/data/x.csv"),
        ("g++ -I/home/annika/venv/include -c", "g++ -I~/venv/include -c"),
        ("/tmp/torchinductor_annika/ab/cab.py", "<tmp>/torchinductor_<user>/ab/cab.py"),
        ("/home/annikas/x", "/home/<user>/x"),
        ("/mnt/home/annika/x", "/mnt/home/<user>/x"),
        ("/Users/bob/x", "/Users/<user>/x"),
        ("/home/annika/project-two/x", "~/project-two/x"),
        ("C:\\Users\\bob\\x.py", "C:\\Users\\<user>\\x.py"),
        ("by annika today", "by <user> today"),
        ("bad \udc80 byte", "bad \ufffd byte"),
    ],
)
def test_it_becomes(text: str, becomes: str) -> None:
    assert REDACTOR.text(text) == becomes


@pytest.mark.parametrize(
    "text",
    [
        "fingerprint 3f6a91c2d84be750",
        "commit cf30153cafc1f1dd08e2f4d1a9f2a3b4c5d6e7f8",
        "git_version: cf30153cafc1f1dd08e2f4d1a9f2a3b4c5d6e7f8",
        "torch 2.14.0.dev20261001+cu130, python 3.11.7, SOME 2.13.0",
        "nvidia-curand-cu12==10.3.5.147, cudnn 9.1.0.70, libcudnn.so.9.1.0.70",
        "tokens: 128, max_tokens=4096, num_tokens: 12345678, pad_token='[PAD_TOKEN_0]', eos_token=<eos_token_12>",
        "key_states = key.transpose(1, 2); past_key_values=cache",
        "out = q@k.transpose(-2, -1) + x@self.weight.t() + a@b.T",
        "@torch.compile(fullgraph=True)",
        "key: 0/0, cache key: " + "a1" * 20,
        "password=self.password, token=config.token, secret=get_secret(name)",
        "pre_grad_custom_pass=None, post_grad_pass = my_pass_1234567890",
        "clone git@github.com:org/repo.git",
        "listening on 127.0.0.1:8080 and 0.0.0.0:80",
        "cublas 12.4.5.8, nccl 2.13.0.1, driver 535.104.12.1, torch 2.13.0.1",
        "x[2000::2], y[2001:3000:2], a::b::c, c10::cuda, 12:30:45, 00:1a:2b:3c:4d:5e",
        "0x7f3a9c001122, (2, 3, 4, 5), [1.2.3.4], f32[2, 3][3, 1], s77 + 2.5.1.1",
        "fb13d2e4-77aa-4c3e-9f00-0123456789ab, graph_0_5a7d, ___compiled_fn_8b1f_2, c7q3zlv4tjgvp3pyhmzagjd25orl6n7nynoa7svl",
        "ModelForClassification2024xx.module.transformer_layers_0_attention_self_query",
        "test_torchinductor_dynamic_shapes.py, config.torchinductor_worker_logpath",
        "command = f'--torch-key={key}', --token $HF",
        "use --token to log in; --tokens 128; --max-token 4096; --key-dim 64; --key 64",
        "self.task-specific-head-of-the-model and disk-backed-storage-of-tensors",
        "torch._inductor.exc.InductorError: LoweringException: AssertionError: buf12 0x7f3a9c",
        "x[::2]: 5 and {1: x[1:2:3]}",
        "sentry: sentry_sdk.integrations.pytorch2024, discord==2.14.0.20260101, linear: 3f6a91c2d84be7503f6a91c2d84be750",
        "telegram=telegram_bot_client_for_training, travis: builds/2024/1234567890123, confluence, 128 pages",
        "api-documentation, test_0123456789_is_a_name, pk.items_of_the_whole, live_update_of_all_the_models_2024",
        "frame #3: c10::Error::Error(c10::SourceLocation, std::string) + 0x68",
    ],
)
def test_it_stays(text: str) -> None:
    assert REDACTOR.text(text) == text


@pytest.mark.parametrize("name", ["root", "user", "mark", "torch", "ann", "1000"])
def test_a_name_that_is_a_word_stays_a_word(name: str) -> None:
    redactor = Redactor(home=f"/home/{name}", user=name, host=name)
    text = f"the {name} of the graph, {name}_0 and x{name}"
    assert redactor.text(text) == text
    assert redactor.text(f"/home/{name}/x, {name}@{name}") == "~/x, <user>@<host>"


def test_source_keeps_bare_names_but_no_secret() -> None:
    redactor = Redactor(user="linear", host="conv", environ={"A_TOKEN": "abcdefgh"})
    assert redactor.source("y = linear(conv, x@w.de)  # abcdefgh") == "y = linear(conv, x@w.de)  # <secret>"


def test_home_of_root_is_not_every_root() -> None:
    redactor = Redactor(home="/root", temporary=("/tmp",))
    assert redactor.text("/root/x module/root/y /data/root/z") == "~/x module/root/y /data/root/z"


def test_nothing_known_changes_nothing() -> None:
    assert Redactor().text("/home is where / is, ~ and .") == "/home is where / is, ~ and ."


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "hf_token",
        "--api-key",
        "PGPASSWORD",
        "AWS_ACCESS_KEY_ID",
        "db.password",
        "sentryDsn",
        "GITHUB_PAT",
        "MYSQL_PWD",
        "TOKEN_2",
    ],
)
def test_names_that_say_secret(name: str) -> None:
    assert is_secret_name(name.lstrip("-"))


@pytest.mark.parametrize(
    "name",
    [
        "TOKENIZERS_PARALLELISM",
        "PWD",
        "SSH_AUTH_SOCK",
        "MAX_TOKENS",
        "KEYBOARD",
        "pad_token",
        "cache_key",
        "TOKEN_FILE",
        "key_dim",
        "pre_grad_pass",
    ],
)
def test_names_that_do_not(name: str) -> None:
    assert not is_secret_name(name)


def test_command_arguments_are_secret_by_the_option_before_them() -> None:
    argv = [
        "python",
        "t.py",
        "--token",
        "abc",
        "--password=xyz",
        "--max-tokens",
        "128",
        "HF_TOKEN=q1",
        "--token",
        "--flag",
        "--key",
        "64",
    ]
    assert [argv[place] for place, _ in argument_secrets(argv)] == ["abc", "--password=xyz", "HF_TOKEN=q1"]
    assert REDACTOR.command(argv)[3:6] == ("<secret>", "--password=<secret>", "--max-tokens")


def test_a_secret_of_several_lines_goes_from_a_command_line() -> None:
    secret = quoted("ab'c\nrosebud")
    assert scrub_command(f"run --token {secret} --token $TOKEN") == "run --token <secret> --token $TOKEN"


def test_a_secret_of_the_command_line_goes_from_the_whole_tree() -> None:
    tree = {
        "command": ["t.py", "--token", "rosebud"],
        "rerun": "triage run t.py --token rosebud",
        "notes": ["invalid: rosebud"],
        "n": 1,
        "none": None,
    }
    out = REDACTOR.tree(tree)
    assert "rosebud" not in str(out)
    assert out["rerun"] == "triage run t.py --token <secret>"
    assert (out["n"], out["none"]) == (1, None)


def test_a_tree_is_redacted_by_its_keys_too() -> None:
    out = REDACTOR.tree(
        {"environment": {"HF_TOKEN": "abcde", "torch": "2.13.0", "key": "0/0"}, "x": {"/home/annika/a": 1}}
    )
    assert out == {"environment": {"HF_TOKEN": "<secret>", "torch": "2.13.0", "key": "0/0"}, "x": {"~/a": 1}}


def test_redaction_is_idempotent() -> None:
    text = "\n".join(
        [
            *SHAPED.values(),
            "/home/annika/x annika gpubox7 a.b@example.com tcp://10.1.2.3:1 /tmp/torchinductor_annika/x --token abc123456",
        ]
    )
    once = REDACTOR.text(text)
    assert REDACTOR.text(once) == once


def test_repr_shows_no_secret() -> None:
    assert "plainlookingvalue" not in repr(REDACTOR.knowing(["--token", "rosebud"]))
    assert "rosebud" not in repr(REDACTOR.knowing(["--token", "rosebud"]))


def test_a_megabyte_of_hostile_text_takes_seconds_at_most() -> None:
    for unit in ("a.", "-----BEGIN PRIVATE KEY-----", "x://", "key: ", "a" * 50 + "@", "--token ", "1.", '"', "aws "):
        text = unit * (300_000 // len(unit))
        began = time.process_time()
        REDACTOR.text(text)
        assert time.process_time() - began < 10, unit


@pytest.mark.parametrize(
    "place",
    sorted(
        place.relative_to(ROOT).as_posix()
        for folder in ("tests/golden", "reproducers")
        for place in (ROOT / folder).rglob("*")
        if place.suffix in (".md", ".log", ".py", ".json", ".txt") and "csv_names" not in place.parts  # holds addresses
    ),
)
def test_nothing_goes_from_a_report_in_which_nothing_is_private(place: str) -> None:
    text = clean((ROOT / place).read_text(encoding="utf-8"))
    redactor = Redactor()
    assert redactor.text(text) == text
    assert redactor.counted == {}


def test_what_is_taken_out_is_counted_once() -> None:
    redactor = REDACTOR.counting()
    text = f"/home/annika/x {SHAPED['github']} a.b@example.com tcp://10.1.2.3:1 plainlookingvalue /tmp/y"
    once = redactor.text(text)
    counted = {"home_path": 1, "github_token": 1, "email": 1, "ip": 1, "known_secret": 1, "temporary_path": 1}
    assert redactor.counted == counted
    redactor.text(once)
    assert redactor.counted == counted


def test_unredacted_takes_out_nothing_but_colours() -> None:
    text = f"/home/annika/x {SHAPED['github']} \x1b[1mannika\x1b[0m"
    assert Unredacted().text(text) == f"/home/annika/x {SHAPED['github']} annika"
    assert Unredacted().knowing(["--token", "abc"]).counting().counted is None


def test_gpus_have_no_numbers_of_their_own() -> None:
    number = "5fd4f087-86f3-7a43-b711-4771313afc50"
    text = f"GPU 0: NVIDIA H100 (UUID: GPU-{number}) os.environ['D'] = 'MIG-{number}'"
    told = "GPU 0: NVIDIA H100 (UUID: GPU-<id>) os.environ['D'] = 'MIG-<id>'"
    assert REDACTOR.text(text) == told and REDACTOR.source(text) == told
    assert REDACTOR.text("GPU-bound GPU-0 MIG-1g.10gb") == "GPU-bound GPU-0 MIG-1g.10gb"
