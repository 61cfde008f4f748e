"""Elements, and what happens to text that looks like HTML."""

import pytest

from gemmbench.report.page.html import Html, join, tag


def test_text_and_attributes_are_escaped():
    made = tag("td", '<script>alert("1")</script> & more', title='" onmouseover="alert(1)')
    assert made == (
        '<td title="&quot; onmouseover=&quot;alert(1)">&lt;script&gt;alert("1")&lt;/script&gt; &amp; more</td>'
    )


def test_html_is_not_escaped_again():
    assert tag("p", tag("b", "a & b"), [tag("i", "c"), None, "<d>"]) == "<p><b>a &amp; b</b><i>c</i>&lt;d&gt;</p>"
    assert isinstance(join("a", Html("<br>")), Html)
    assert join("a", Html("<br>")) == "a<br>"


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"class_": "a b"}, ' class="a b"'),
        ({"data_key": 3}, ' data-key="3"'),
        ({"hidden": True}, " hidden"),
        ({"hidden": False}, ""),
        ({"id": None}, ""),
        ({"http_equiv": "x"}, ' http-equiv="x"'),
    ],
)
def test_attributes_are_named_as_in_python(attributes, text):
    assert tag("p", **attributes) == f"<p{text}></p>"


def test_an_empty_element_has_no_end():
    assert tag("input", type="search") == '<input type="search">'
