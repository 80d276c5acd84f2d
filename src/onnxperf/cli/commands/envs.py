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
@command(_NOTHING, *WRITTEN)
def list_envs(*, typed: Typed) -> int:
    """List and remove the environments built for other versions of onnxruntime.

    For example:

        onnxperf envs

        onnxperf envs remove onnxruntime==1.20.1
    """
    import onnxperf
    from onnxperf.results.envs import SHOW

    return present(SHOW, typed.output, lambda _progress: onnxperf.envs())


@envs.command
@command(_NOTHING, *PRINTED)
def remove(*names: str, typed: Typed) -> int:
    """Remove environments; one that is needed again is built again.

    For example:

        onnxperf envs remove onnxruntime==1.20.1

        onnxperf envs remove all

    Parameters
    ----------
    names
        Their names in the list, or all.
    """
    import onnxperf

    removed = onnxperf.remove_envs(names)
    if not typed.output.quiet:
        print_text("\n".join(f"removed {name}" for name in removed) or "no environment was built yet")
    return exit_codes.DONE
