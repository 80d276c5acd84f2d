"""Errors of the command line in one line: what is wrong, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import get_args

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)
from cyclopts.argument import Argument

from onnxperf.cli.help import label, usage

_COMMANDS = {
    "bench": "benchmark time run race perf perf_test speed measure hyperfine timeit",
    "check": "validate verify test equal accuracy",
    "convert": "export-onnx to-onnx tf2onnx skl2onnx",
    "diff": "compare-models differences",
    "doctor": "machine system env info-system noise",
    "memory": "mem ram memray leak",
    "optimize": "simplify fuse onnxsim",
    "profile": "trace profiler hotspots",
    "runs": "list ls history log results",
    "stack": "flamegraph flame py-spy pyinstrument callstack",
    "sweep": "grid plan matrix",
    "view": "info inspect print summary netron graph draw cat",
    "--version": "version",
    "--install-completion": "completion completions install-completion",
}
"""Commands, with their names in other tools."""

_OPTIONS = {
    "--batch {}": "--batch-size --batch_size --batchsize --bs -b",
    "--dim seq={}": "--seq --seq-len --seq-length --sequence-length --seqlen",
    "--shape {}": "--input-shape --input-shapes --shapes --inputs-shape",
    "--input {}": "--inputs --load-inputs --loadInputs --feed --data",
    "--range {}": "--val-range --value-range",
    "--threads {}": "--num-threads --num_threads --intra-op-num-threads --intra-op-threads --intra-op --nthreads -j -x",
    "--provider {}": "--providers --ep --execution-provider --backend -e",
    "--provider cuda": "--gpu --cuda --use-cuda --use_gpu",
    "--opt-level {}": "--optimization-level --optimisation-level --optimize --graph-optimization-level --opt -O",
    "--time {}": "--duration --seconds --max-time --duration-seconds -t",
    "--warmup {}": "--warm-up --warmUp --warmup-time -w",
    "--calls {}": "--repeat --repeats --repetitions --iterations --iters --number --num-runs --avgRuns --runs -n -r",
    "--calls-per-block {}": "--calls --iterations --iters --number --loops --num-runs --avgRuns --runs -n -r",
    "--top {}": "--limit --max-rows --head",
    "--group-by {}": "--by --order-by",
    "--against {}": "--vs --versus --reference --compare --compare-to --source",
    "--runtime {}": "--engine --framework --runtimes",
    "--call {}": "--call-style --mode",
    "--rtol {}": "--tolerance --tol --rel-tol --rel",
    "--atol {}": "--abs-tol --abs",
    "--min-effect {}": "--threshold --effect",
    "--json {}": "--export-json --exportTimes --to-json",
    "--output {}": "--out --outfile --output-file --save-as --export --file",
    "-o FILE.html": "--html",
    "-o FILE.csv": "--csv --export-csv --to-csv",
    "-o FILE.md": "--markdown --export-markdown --md --to-markdown",
    "-o FILE.xlsx": "--xlsx --excel --xls",
    "-o FILE.parquet": "--parquet",
    "-o FILE.svg": "--svg",
    "-o FILE.png": "--plot --chart --figure --image --png",
    "-o FILE.txt": "--txt --text",
    "--quiet": "--silent -q -s",
    "--debug": "--verbose --traceback -v -vv",
    "the model without an option": "--model --onnx --saveEngine --load -m",
    "onnxperf profile MODEL": "--profile --dumpProfile --profiling -p",
    "NO_COLOR=1 before the command": "--no-color --no-colour --color --colour --style",
}
"""Options with {} for their value, with their names in other tools (onnxruntime_perf_test, hyperfine, trtexec…)."""


def explained(app: App, error: CycloptsError, arguments: Sequence[str]) -> str:
    """One line: what is invalid, and what was probably meant."""
    chain = list(error.command_chain or ())
    if isinstance(error, UnknownOptionError):
        known = [name for each in error.argument_collection for name in each.names]
        option = str(error.token.keyword or error.token.value).partition("=")[0]
        return _of_option(option, known, chain, arguments)
    if isinstance(error, UnknownCommandError | UnusedCliTokensError) and error.unused_tokens:
        word = error.unused_tokens[0]
        return _of_option(word, app, chain, arguments) if word.startswith("-") else _of_word(app, word, chain)
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return f"{' '.join(chain)}: {_missing(error, error.argument, usage(chain, _command(app, chain)))}"
    if isinstance(error, CoercionError) and error.token is not None:
        return _of_value(error.token.keyword or "", error.token.value, error.target_type)
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword}: given twice; use it once"
    return str(error)


def _missing(error: MissingArgumentError, argument: Argument, typed: str) -> str:
    """A missing argument, or a missing value of an option."""
    if argument.index is not None:
        return f"{label(argument.name.lstrip('-')).removesuffix('...')} is missing; usage: {typed}"
    flag = error.keyword or argument.name
    return f"{flag} needs a value: {flag} {argument.parameter.metavar or 'VALUE'}"


def _of_value(flag: str, value: str, wanted: object) -> str:
    if wanted is bool:
        return f"{flag}={value}: this option takes no value; use {flag} alone"
    return f"{flag} {value}: unknown value; choose from: {', '.join(map(str, get_args(wanted)))}"


def _of_word(app: App, word: str, chain: Sequence[str]) -> str:
    """An unknown command, or one argument too many."""
    command = _command(app, chain)
    own = [name for name in command if not name.startswith("-")]
    if chain and not own:
        return f"{' '.join(chain)}: unexpected argument {word!r}; usage: {usage(chain, command)}"
    typed = [*chain, word]
    meant = _meant(word, own) or [each for each in _others(app) if each.endswith(f" {word}")]
    if chain and word in _COMMANDS["runs"].split():
        meant = [""]
    if not chain and not meant:
        near = difflib.get_close_matches(word, [each.split()[-1] for each in _others(app)], n=1)
        meant = [each for each in _others(app) if near and each.endswith(f" {near[0]}")]
    what = f"unknown command {' '.join(typed)!r}"
    if meant:
        return (
            f"{what}; did you mean {' or '.join(' '.join(filter(None, ['onnxperf', *chain, each])) for each in meant)}?"
        )
    return f"{what}; for a list of commands: {' '.join(['onnxperf help', *chain])}"


def _meant(word: str, own: Sequence[str]) -> list[str]:
    """Commands with this name in other tools, or with a similar name."""
    synonyms = [name for name, others in _COMMANDS.items() if word.lower() in others.split()]
    return [name for name in synonyms if name in own or name.startswith("-")] or difflib.get_close_matches(
        word, own, n=1
    )


def _others(app: App) -> list[str]:
    """Subcommands of runs, as the user types them."""
    return [f"runs {name}" for name in app["runs"] if not name.startswith("-")]


def _filled(template: str, value: str) -> str:
    """What to type instead, with the same value; a file keeps its name if its extension is right."""
    extension = template.partition("FILE")[2]
    if not extension:
        return template.format(value).strip()
    name = f"-{extension}" if value == "-" else value
    return template.replace(f"FILE{extension}", name) if name.endswith(extension) else template


def _of_option(option: str, known: Iterable[str], chain: Sequence[str], arguments: Sequence[str]) -> str:
    names = {name for name in known if name.startswith("-")}
    what = f"{' '.join(chain)}: unknown option {option}".removeprefix(": ")
    value = _value(option, arguments)
    for template, others in _OPTIONS.items():
        target = template.split()[0]
        if option in others.split() and (target in names or not target.startswith("-")):
            return f"{what}; use {_filled(template, value)}"
    bare = {name.lstrip("-"): name for name in sorted(names)}
    near = difflib.get_close_matches(option.lstrip("-"), bare, n=1)  # dashes would make all of them similar
    if near:
        return f"{what}; did you mean {bare[near[0]]}?"
    return f"{what}; for a list of options: {' '.join(['onnxperf help', *chain])}"


def _value(option: str, arguments: Sequence[str]) -> str:
    """The value of an option: the next argument, or the text after the equals sign."""
    for place, argument in enumerate(arguments):
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and place + 1 < len(arguments):
            given = arguments[place + 1]
            return given if given == "-" or not given.startswith("-") else "…"
    return "…"


def _command(app: App, chain: Sequence[str]) -> App:
    for name in chain:
        app = app[name]
    return app
