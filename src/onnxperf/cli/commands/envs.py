"""`onnxperf envs`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from onnxperf.cli import exit_codes
from onnxperf.cli.options import Switch
from onnxperf.cli.present import OutputFlags, present
from onnxperf.cli.printing import print_text
from onnxperf.errors import BadOption

envs = App(
    name="envs",
    version_flags=(),
)


@envs.default
def list_envs(*, output: OutputFlags = OutputFlags()) -> int:
    """List and remove the environments that were built for other versions of onnxruntime.

    For example:

        onnxperf envs

        onnxperf envs remove onnxruntime==1.20.1
    """
    from onnxperf.api.envs import envs as kept
    from onnxperf.results.envs import EnvsResult

    return present(EnvsResult, output, lambda _progress: kept())


@envs.command
def remove(
    *names: str, all_: Annotated[Switch, Parameter(name="--all")] = False, quiet: Switch = False, debug: Switch = False
) -> int:
    """Remove environments; one that is needed again is built again.

    For example:

        onnxperf envs remove onnxruntime==1.20.1

        onnxperf envs remove --all

    Parameters
    ----------
    names
        Their names in the list.
    all_
        Remove all of them.
    quiet
        Print nothing.
    debug
        Show the traceback of an error.
    """
    del debug  # `main` reads it
    from onnxperf.api.envs import remove_envs

    if bool(names) == all_:
        raise BadOption("name the environments to remove, or use --all; `onnxperf envs` lists them")
    removed = remove_envs(None if all_ else names)
    if not quiet:
        print_text("\n".join(f"removed {name}" for name in removed) or "no environment was built yet")
    return exit_codes.DONE
