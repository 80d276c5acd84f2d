"""`onnxperf --install-completion`: tab completion of commands, options, values and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from onnxperf.cli import exit_codes
from onnxperf.cli.command import Typed, command
from onnxperf.cli.printing import print_text, write_output
from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.options.base import Takes
from onnxperf.options.functions import Completion
from onnxperf.render.kit.files import write

Shell = Literal["bash", "zsh", "fish"]
_FILES = 'COMPREPLY=( $(compgen -f -- "${cur}") )'
_BETTER_FILES = "local IFS=$'\\n'; compopt -o filenames 2>/dev/null; " + _FILES
"""Keeps names with spaces whole, and ends folders with a slash."""
_ZSH_FOLDER = ".zsh/completions"


@command(Takes(), Completion)
def install_completion(*, typed: Typed) -> int:
    """Install tab completion of commands, options and files in bash, zsh or fish.

    Examples
    --------
    # Install it in the current shell
    onnxperf --install-completion
    # Install it in zsh
    onnxperf --install-completion --shell zsh
    # Only print the script
    onnxperf --install-completion --shell bash --output - > completion.sh
    """
    output: str | None = typed.own["output"]
    chosen: Shell = typed.own["shell"] or _running()
    script = completion_script(chosen)
    if output == "-":
        write_output(script.encode())
        return exit_codes.DONE
    try:
        path, changed = _install(script, chosen) if output is None else (_written(script, Path(output)), None)
    except OSError as error:
        raise FileNotWritten(f"cannot write {error.filename or output}: {error.strerror}") from error
    print_text(f"completion for {chosen}: {path}" + (f", loaded by {changed}" if changed else ""))
    if output is None:
        print_text(f"to use it now: exec {chosen}")
        if changed and chosen == "zsh" and "compinit" not in changed.read_text(encoding="utf-8", errors="replace"):
            print_text(
                f"{changed} does not load completions yet; add this line at the end: autoload -Uz compinit && compinit"
            )
    return exit_codes.DONE


def completion_script(shell: Shell) -> str:
    """The script that the shell loads; it needs all commands."""
    from onnxperf.cli.main import app, import_commands

    import_commands()
    return app.generate_completion(prog_name="onnxperf", shell=shell).replace(_FILES, _BETTER_FILES)


def _running() -> Shell:
    from cyclopts.completion import ShellDetectionError, detect_shell

    advice = "choose bash, zsh or fish, such as --shell bash"
    try:
        found = detect_shell()
    except ShellDetectionError:
        raise BadOption(f"cannot detect the shell; {advice}") from None
    if found == "powershell":
        raise BadOption(f"no completion for {found}; {advice}")
    return found


def _install(script: str, shell: Shell) -> tuple[Path, Path | None]:
    """Path of the script, and the startup file that loads it."""
    from cyclopts.completion import get_default_completion_path

    path = _written(script, get_default_completion_path(shell, "onnxperf"))
    if shell == "fish":  # it looks there by default
        return path, None
    startup = Path.home() / f".{shell}rc"
    _load(path, shell, startup)
    return path, startup


def _load(path: Path, shell: Shell, startup: Path) -> None:
    """Let a startup file load the script; unlike cyclopts, do not risk an empty file on a full disk."""
    before = startup.read_bytes() if startup.exists() else b""
    line = os.fsencode(f'[ -f "{path}" ] && . "{path}"' if shell == "bash" else f"fpath=({path.parent} $fpath)")
    if line in before or (
        shell == "zsh" and path.parent != Path.home() / _ZSH_FOLDER
    ):  # Oh My Zsh loads its own folder
        return
    added = b"# onnxperf completion\n" + line + b"\n"
    missing = b"" if not before or before.endswith(b"\n") else b"\n"
    # zsh has to know the folder before it loads completions
    write(startup, added + before if shell == "zsh" else before + missing + added)


def _written(script: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, script.encode())
    return path
