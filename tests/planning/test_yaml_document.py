"""YAML without its traps: each is refused with the line and the fix."""

import msgspec
import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.yaml_document import parse_document


def load(text):
    return parse_document(text, "some.yaml").data


def fault_of(text):
    with pytest.raises(SpecError) as fault:
        load(text)
    return str(fault.value)


def test_plain_data_is_read_as_it_looks():
    text = "a: 1\nb: [1, x, 2.5, true, 'no']\nc:\n  d: -7\n  e: 1_000\nf: 0x10\ng: ~\n"
    assert load(text) == {"a": 1, "b": [1, "x", 2.5, True, "no"], "c": {"d": -7, "e": 1000}, "f": 16, "g": None}
    assert load("a: '1e3'\nb: 'x (y'") == {"a": "1e3", "b": "x (y"}  # quotes say that text is meant
    assert load("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize("text", ["512:4096:512", "512:40:8", "1:30", "190:20:30", "2024-01-01"])
@pytest.mark.parametrize("style", ["a: {}", "a: [{}]", "a:\n  - {}", "a: '{}'"])
def test_ranges_and_dates_stay_text(text, style):
    assert text in (load(style.format(text))["a"], *load(style.format(text))["a"])


@pytest.mark.parametrize(
    ("texts", "advice"),
    [
        ("010 -010 0777 00", "an octal number; write it without the leading 0"),
        ("no yes on off No YES", "a truth value; write true or false, or quote it"),
        ("1e3", "text; write 1000"),
        ("2E6", "text; write 2000000"),
        ("1.5e3", "text; write 1500"),
        ("-1e-2", "text; write -0.01"),
    ],
)
def test_a_value_that_yaml_reads_unlike_its_looks_is_refused(texts, advice):
    for text in texts.split():
        assert fault_of(f"a:\n  - x\n  - {text}") == f"some.yaml:3: YAML reads `{text}` as {advice}"


def test_an_exponent_that_is_too_large_is_not_a_number():
    assert fault_of("a: 1e400") == "some.yaml:1: `1e400` is not a valid number; write a finite one"


def test_a_duplicate_key_names_both_lines():
    assert fault_of("a: 1\nb: 2\na: 3") == "some.yaml:3: duplicate key 'a' (first on line 1); keep one of them"
    assert fault_of("c:\n  a: 1\n  a: 3").startswith("some.yaml:3: duplicate key 'a' (first on line 2)")


@pytest.mark.parametrize("text", ["grid: [cdiv(N, BN)]", "grid: [cdiv(N, BN), cdiv(M, BM)]"])
def test_a_flow_list_cut_at_a_comma_is_refused(text):
    message = "some.yaml:1: 'cdiv(N' was cut at a comma; write one item per line, each after a dash"
    assert fault_of(text) == message


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [1, 2\nc: 3", 3), ("a: b: c", 1), ("a: 1\n\tb: 2", 2), ("a: *x", 1), ("a: 'x", 1), ("a: \x01", 1)],
)
def test_broken_yaml_names_the_line(text, line):
    assert fault_of(text).startswith(f"some.yaml:{line}: broken YAML: ")


@pytest.mark.parametrize("text", ["", "# nothing", "- a\n- b", "just words", "3"])
def test_what_is_no_mapping_is_refused(text):
    assert fault_of(text) == "some.yaml:1: expected `key: value` lines"


def test_two_documents_in_one_file_are_refused():
    assert "broken YAML: but found another document" in fault_of("a: 1\n---\nb: 2")


GROWING = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
GROWING += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]


@pytest.mark.parametrize("text", ["a: &x [*x]", "a: &x {b: *x}", "a: &x\n  - b\n  - *x", "\n".join(GROWING)])
def test_an_alias_that_contains_itself_or_grows_without_end_is_refused(text):
    assert "too large, or an alias that contains itself" in fault_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/name:os.system x",
        "a: !!binary aGk=",
        "a: !mine x",
        "a: =",
        "<<: {a: 1}",
        "? [a]\n: 1",
        "? {a: b}\n: 1",
    ],
)
def test_tags_merges_and_odd_keys_are_refused(text):
    assert fault_of(text).startswith("some.yaml:1: ")


@pytest.mark.parametrize("text", [".inf", "-.inf", ".nan", "1:30.5", "0b_", "!!int x", "!!float x", "9" * 5000])
def test_a_number_that_python_cannot_read_is_a_fault_and_no_crash(text):
    assert fault_of(f"a: 1\nb: {text}").startswith("some.yaml:2: ")


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    rounds: int = 1


class Model(msgspec.Struct, forbid_unknown_fields=True):
    sizes: list[int] = []
    measure: Inner = msgspec.field(default_factory=Inner)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sizes: [1]\nsize: 3", "11: unknown key 'size' (did you mean 'sizes'?); known: sizes, measure"),
        ("measure:\n  round: 3", "11: unknown key 'round' (did you mean 'rounds'?); known: rounds"),
        ("sizes:\n  - 1\n  - two", "12: sizes item 2: should be a whole number, not text"),
        ("measure:\n  rounds: many", "11: measure.rounds: should be a whole number, not text"),
    ],
)
def test_an_unknown_key_or_a_wrong_type_is_named_with_its_line(text, message):
    with pytest.raises(SpecError) as fault:
        parse_document(text, "some.yaml", first_line=10).convert(Model)
    assert str(fault.value) == f"some.yaml:{message}"


def test_half_a_character_is_refused_at_its_line():
    with pytest.raises(SpecError, match=r"^x\.py:4: .ud800 is half a character"):
        parse_document("a: 1\nb: \ud800\n", "x.py", 3)
