"""The completion scripts, in the shells that are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from onnxperf.cli import completion
from onnxperf.cli.completion import Shell, completion_script
from onnxperf.cli.main import app, run

IN_BASH = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_onnxperf
printf '%s\\n' "${COMPREPLY[@]}"
"""
CASES = [
    (["be"], {"bench"}),
    (["runs", "s"], {"show"}),
    (["bench", "--opt-l"], {"--opt-level"}),
    (["runs", "export", "last", "--js"], {"--json"}),
    (["history", "m.onnx", "--group-by", ""], {"version", "commit", "machine", "day"}),
    (["view", "m.onnx", "--by", "h"], {"headroom"}),
]
FILES = [["bench", "my"], ["bench", "a.onnx", "my"], ["bench", "a.onnx", "--json", "my"], ["einsum", "--rewrite", "my"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for scripts, with a file whose name has a space in another."""
    folder = tmp_path_factory.mktemp("shells")
    (folder / "files").mkdir()
    (folder / "files" / "my model.onnx").touch()
    return folder


def script_of(shell: Shell, folder: Path) -> Path:
    """The script of an installed shell, made once: that takes a second."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = folder / f"script.{shell}"
    if not script.exists():
        script.write_text(completion_script(shell), encoding="utf-8")
    return script


def completed(shell: Shell, folder: Path, words: list[str]) -> set[str]:
    script = str(script_of(shell, folder))
    if shell == "bash":
        command = ["bash", "--norc", "-c", IN_BASH, "bash", script, "onnxperf", *words]
    else:
        line = " ".join(["onnxperf", *words])
        command = ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]
    done = subprocess.run(command, cwd=folder / "files", capture_output=True, text=True, check=True)
    return {line.partition("\t")[0] for line in done.stdout.splitlines() if line}


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(("words", "offered"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_commands_options_and_their_values_are_completed(
    shell: Shell, words: list[str], offered: set[str], folder: Path
) -> None:
    assert completed(shell, folder, words) == offered


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize("words", FILES, ids=" ".join)
def test_files_are_completed_where_one_is_expected(shell: Shell, words: list[str], folder: Path) -> None:
    assert completed(shell, folder, words) == {"my model.onnx"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_finds_no_error_in_its_script(shell: Shell, folder: Path) -> None:
    done = subprocess.run([shell, "-n", script_of(shell, folder)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_of_every_command_is_in_the_script(shell: Shell, folder: Path) -> None:
    script = script_of(shell, folder).read_text(encoding="utf-8")
    options = {
        option.lstrip("-")
        for name in app
        if not name.startswith("-")
        for each in app[name].assemble_argument_collection()
        for option in each.names
        if option.startswith("--")
    }
    assert len(options) > 60
    assert {option for option in options if option not in script} == set()


@pytest.mark.parametrize(
    ("shell", "file", "startup"),
    [
        ("bash", ".local/share/bash-completion/completions/onnxperf", ".bashrc"),
        ("zsh", ".zsh/completions/_cyclopts_onnxperf", ".zshrc"),
        ("fish", ".config/fish/completions/onnxperf.fish", None),
    ],
)
def test_the_script_is_installed_once_where_the_shell_looks_for_it(
    shell: Shell,
    file: str,
    startup: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(completion, "completion_script", lambda _shell: "the script")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ZSH", "ZSH_CUSTOM"):
        monkeypatch.delenv(name, raising=False)
    for _ in range(2):
        assert run(["--install-completion", "--shell", shell]) == 0
    said = capsys.readouterr().out
    assert f"completion for {shell}: {tmp_path / file}" in said
    assert ("add this line at the end: autoload -Uz compinit" in said) == (shell == "zsh")
    assert (tmp_path / file).read_text(encoding="utf-8") == "the script"
    if startup is not None:
        assert len((tmp_path / startup).read_text(encoding="utf-8").splitlines()) == 2
    assert {each.name for each in tmp_path.iterdir() if each.is_file()} == ({startup} if startup else set())


def test_the_script_goes_to_standard_output_or_a_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(completion, "completion_script", lambda shell: f"for {shell}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert run(["--install-completion", "--shell", "bash", "--output", "-"]) == 0
    assert capsys.readouterr().out == "for bash"
    assert run(["--install-completion", "--shell", "bash", "--output", str(tmp_path / "c.sh")]) == 0
    assert (tmp_path / "c.sh").read_text(encoding="utf-8") == "for bash"
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("shell", "said"), [("/bin/tcsh", "cannot detect the shell"), ("/bin/pwsh", "no completion for powershell")]
)
def test_another_shell_is_refused_with_the_names_of_those_that_work(
    shell: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ZSH_VERSION", "BASH_VERSION", "FISH_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHELL", shell)
    monkeypatch.setattr(os, "getppid", lambda: 0)  # no process that a test could run in
    assert run(["--install-completion"]) == 2
    assert said in (line := capsys.readouterr().err)
    assert "choose bash, zsh or fish, such as --shell bash" in line


def test_a_place_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(completion, "completion_script", lambda _shell: "")
    (tmp_path / "file").touch()
    assert run(["--install-completion", "--shell", "bash", "--output", str(tmp_path / "file" / "c.sh")]) == 3
    assert "cannot write" in capsys.readouterr().err
