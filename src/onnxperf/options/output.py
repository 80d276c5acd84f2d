"""Options of the command line only: files to write, and how much is printed."""

from __future__ import annotations

from onnxperf.options import texts
from onnxperf.options.base import Group, option


class Files(Group):
    """Output."""

    output: list[str] = option(
        (),
        "Write a file whose extension sets the format: .json, .csv, .md, .html, .xlsx, .parquet, .png or .svg "
        "(docs/files.md). Use -.csv for standard output. May be repeated.",
        short="-o",
        is_file=True,
        read_all=list,
    )
    table: str | None = option(
        None,
        "Choose the table for .csv, .parquet and .md files, if there are several. By default, .md holds the page.",
        metavar="NAME",
    )
    chart: str | None = option(None, "Choose the chart for .png and .svg files, if there are several.", metavar="NAME")
    width: str = option("page", "Fit pictures to a column or to a whole page of a paper.", choices=("column", "page"))
    json: str | None = option(None, "Write the whole record as JSON. Use - for standard output.", is_file=True)
    open: bool = option(False, "Open the page in the browser, from a temporary .html file that is kept.")


class Quiet(Group):
    """Output."""

    quiet: bool = option(False, "Print only the answer.")
    wide: bool = option(False, "Show all columns of tables, even if they do not fit the terminal.")


class Debugging(Group):
    """Output."""

    debug: bool = option(False, "Show the traceback of an error.")


class Keeping(Group):
    """Store."""

    no_store: bool = option(False, "Do not save the run.")
    mlflow: bool = option(
        False,
        "Also log the run to MLflow. Set the destination with MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME "
        "(docs/mlflow.md).",
    )


class Top(Group):
    """Output."""

    top: int = option(10, "Show this many rows.", read=texts.whole, check=texts.at_least(1))


class Everything(Group):
    """Output."""

    all: bool = option(False, "Show everything, without a limit.")


class MinShare(Group):
    """Output."""

    min_share: float = option(
        "1%", "Fold rows with a smaller share of the time into one.", metavar="PERCENT", read=texts.part
    )
