"""Options of the command line only: where a result goes, and how much of it is printed."""

from __future__ import annotations

from onnxperf.options import texts
from onnxperf.options.base import Group, option


class Files(Group):
    """Output."""

    output: list[str] = option(
        (),
        "Write a file; its extension chooses the format, such as .json, .csv, .md, .html, .xlsx, .parquet, .png or "
        ".svg (docs/files.md). -.csv writes CSV to standard output. May be repeated.",
        short="-o",
        is_file=True,
        read_all=list,
    )
    table: str | None = option(
        None, "Which table .csv, .parquet and .md files hold, if there are several; without it, .md holds the page."
    )
    chart: str | None = option(None, "Which chart .png and .svg files hold, if there are several.")
    width: str = option("page", "Width of a picture: a column or a whole page of a paper.", choices=("column", "page"))
    json: str | None = option(None, "Write the whole record as JSON; - is standard output.", is_file=True)
    open: bool = option(False, "Write the page (.html) to a temporary file that stays, and show it in the browser.")


class Quiet(Group):
    """Output."""

    quiet: bool = option(False, "Print only the answer.")
    wide: bool = option(False, "Show all columns of tables, however wide the terminal is.")


class Debugging(Group):
    """Output."""

    debug: bool = option(False, "Show the traceback of an error.")


class Keeping(Group):
    """Store."""

    no_store: bool = option(False, "Do not save the run.")
    mlflow: bool = option(
        False,
        "Also log the run to MLflow; its environment variables set the destination: MLFLOW_TRACKING_URI, "
        "MLFLOW_EXPERIMENT_NAME (docs/mlflow.md).",
    )


class Top(Group):
    """Output."""

    top: int = option(10, "Number of rows to show.", read=texts.whole, check=texts.at_least(1))


class Everything(Group):
    """Output."""

    all: bool = option(False, "Show everything, without a limit.")


class MinShare(Group):
    """Output."""

    min_share: float = option("1%", "Rows with a smaller share of the time are folded into one.", read=texts.part)
