"""`onnxperf envs`."""

from __future__ import annotations

from cyclopts import App

from onnxperf.cli import exit_codes
from onnxperf.cli.command import PRINTED, WRITTEN, Typed, command
from onnxperf.cli.present import present
from onnxperf.cli.printing import print_text
from onnxperf.options.base import Takes

_NOTHING = Takes()
envs = App(
    name="envs",
    version_flags=(),
)


@envs.default
@command(_NOTHING, *WRITTEN, common=("json", "output", "wide"))
def list_envs(*, typed: Typed) -> int:
    """List or remove the environments that onnxperf built for other releases.

    --env builds an environment on first use, and later runs reuse it.

    Examples
    --------
    # Which environments exist, and how large are they?
    onnxperf envs
    # Remove one of them
    onnxperf envs remove onnxruntime==1.20.1
    """
    import onnxperf
    from onnxperf.results.envs import SHOW

    return present(SHOW, typed.output, lambda _progress: onnxperf.envs())


@envs.command
@command(_NOTHING, *PRINTED)
def remove(*names: str, typed: Typed) -> int:
    """Remove environments.

    If a removed environment is needed again, it is built again.

    Examples
    --------
    # Remove one environment
    onnxperf envs remove onnxruntime==1.20.1
    # Remove all of them
    onnxperf envs remove all

    Parameters
    ----------
    names
        Names from the list of `onnxperf envs`, or all.
    """
    import onnxperf

    removed = onnxperf.remove_envs(names)
    if not typed.output.quiet:
        print_text("\n".join(f"removed {name}" for name in removed) or "there are no environments yet")
    return exit_codes.DONE
