"""What may name an environment."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.environments.requirements import is_path, normalized, package_of, requirements_of
from onnxperf.errors import BadOption


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("onnxruntime", ("onnxruntime",)),
        ("onnxruntime==1.20.1", ("onnxruntime==1.20.1",)),
        ("onnxruntime == 1.20.1", ("onnxruntime==1.20.1",)),
        ("OnnxRuntime_GPU>=1.20,<1.22", ("onnxruntime-gpu>=1.20,<1.22",)),
        ("onnxruntime==1.20.1+numpy==1.26.4", ("onnxruntime==1.20.1", "numpy==1.26.4")),
        ("onnxruntime==1.20.*", ("onnxruntime==1.20.*",)),
        ("onnxruntime~=1.20.0", ("onnxruntime~=1.20.0",)),
        ("a[b,c]!=1.0rc1", ("a[b,c]!=1.0rc1",)),
        ("a==1!2.0a1.post2.dev3", ("a==1!2.0a1.post2.dev3",)),
    ],
)
def test_packages_with_their_versions_are_spelled_in_one_way(text: str, requirements: tuple[str, ...]) -> None:
    assert requirements_of(text) == requirements


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "+",
        "a+",
        "-e",
        "--index-url=x",
        "a --index-url",
        "a==1 --hash=x",
        "a@http://example.org/a.whl",
        "a @ file:///a.whl",
        "git+https://example.org/a",
        "a;python_version<'3'",
        "a===1",
        "a==",
        "a==1;rm",
        "a==$(id)",
        "a==`id`",
        "a\nb",
        "a==1\n",
        "a==1\x00",
        ".a",
        "a.",
        "ä==1",
        "a==\u0661",
        "a==v1",
        "a>=1.*",
        "a[",
        "a[]",
        "a" * 201,
    ],
)
def test_everything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadOption, match=r"`env=.*expected packages such as onnxruntime==1\.20\.1") as error:
        requirements_of(text)
    assert "\n" not in str(error.value)


def test_the_wrong_one_of_several_packages_is_named() -> None:
    with pytest.raises(BadOption, match="'numpy=2' is not a package with a version"):
        requirements_of("onnxruntime==1.20.1+numpy=2")


def test_a_package_cannot_be_named_twice() -> None:
    with pytest.raises(BadOption, match="a-b is given twice"):
        requirements_of("a-b==1+A_b==2")


@given(st.text(alphabet=string.printable + "äΩ\u0661\u200b", max_size=40))
def test_whatever_is_accepted_has_only_signs_of_requirements_and_begins_with_a_letter_or_digit(text: str) -> None:
    try:
        found = requirements_of(text)
    except BadOption:
        return
    allowed = set(string.ascii_lowercase + string.digits + "._-[],=<>!~*")
    for each in found:
        assert set(each) <= allowed
        assert each[0].isalnum()
        assert each.startswith(package_of(each))
        assert requirements_of(each) == (each,)


_NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)


@given(st.lists(_NAMES, min_size=1, max_size=4, unique_by=normalized), st.integers(0, 99), st.integers(0, 99))
def test_exact_versions_of_any_packages_are_accepted_and_read_back_the_same(
    names: list[str], major: int, minor: int
) -> None:
    found = requirements_of("+".join(f"{name}=={major}.{minor}" for name in names))
    assert [package_of(each) for each in found] == [normalized(name) for name in names]
    assert requirements_of("+".join(found)) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/usr/bin/python3", True),
        ("./venv/bin/python", True),
        ("~/python", True),
        (r"C:\Python\python.exe", True),
        ("onnxruntime==1.20.1", False),
        ("https://example.org/x", False),
        ("python3", False),
    ],
)
def test_a_path_has_a_separator(text: str, expected: bool) -> None:
    assert is_path(text) is expected
