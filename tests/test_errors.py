"""Errors, and the passwords that they must not hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.errors import BadOption, OnnxperfError, masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me:***@host/db"),
        ("--store=postgresql://me:secret@host/db", "--store=postgresql://me:***@host/db"),
        ("postgresql+psycopg://me:p%40ss%3A@host:5432/db", "postgresql+psycopg://me:***@host:5432/db"),
        ("postgresql://:secret@host/db", "postgresql://:***@host/db"),
        ("postgresql://me:a@b:c/d://e's \"@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me@host/db?password=secret", "postgresql://me@host/db?password=***"),
        ("postgresql://host/db?user=me&Password=se%26cret&x=1", "postgresql://host/db?user=me&Password=***&x=1"),
        ("postgresql://host/db?pass%77ord=secret", "postgresql://host/db?pass%77ord=***"),
        ("postgresql://host/db?sslpassword=secret#x", "postgresql://host/db?sslpassword=***#x"),
        ("host=h password=secret dbname=d", "host=h password=*** dbname=d"),
        ("first line\npostgresql://me:secret@host/db\nlast", "first line\npostgresql://me:***@host/db\nlast"),
    ],
)
def test_a_password_is_masked_wherever_an_address_has_it(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert str(OnnxperfError(text)) == shown
    assert "secret" not in str(BadOption("no", option="store", value=text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "postgresql://me@host:5432/db",
        "postgresql://host/db?sslmode=require",
        "model.onnx --dim tokens=128 --range token_ids=0:99",
        "https://example.com/a:b",
        "mail me@example.com",
        "C:/models/a.onnx",
    ],
)
def test_what_is_no_password_stays(text: str) -> None:
    assert masked(text) == text


@given(st.text(st.characters(exclude_characters="\n"), min_size=3))
def test_no_password_survives_whatever_it_is(password: str) -> None:
    found = masked(f"postgresql://me:<{password}>@host/db")
    assert found == "postgresql://me:***@host/db"
