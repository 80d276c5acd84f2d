"""Documents of older versions, read in today's form."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from onnxperf.errors import StoreError
from onnxperf.records.decode import newest_version
from onnxperf.records.diff import Diff
from onnxperf.store import Store
from onnxperf.store.documents import from_document
from tests.render.profile import examples


def test_a_diff_of_a_newer_version_is_refused(store: Store) -> None:
    run = store.keep(replace(examples.diff(), version=newest_version(Diff) + 1), "diff")
    with pytest.raises(StoreError, match="format version 2, but this onnxperf reads up to 1"):
        store.load_record(run)


@pytest.mark.parametrize(
    "damaged", ["[]", '{"version": 1}', '{"version": 1, "rows": 3}', '{"version": [], "rows": []}']
)
def test_a_damaged_diff_is_one_clear_line(damaged: str) -> None:
    with pytest.raises(StoreError, match="damaged: not the record of a Diff"):
        from_document(damaged, Diff)
