"""Which variants the NVIDIA back end refuses, whatever the problem."""

from gemmbench.backends.cuda.entry import ENTRY


def test_a_python_function_whose_package_is_missing_is_refused_with_the_line_for_pip(make_variant):
    needs = make_variant("mine", kind="python", packages=("numpy", "no_such_package"))
    assert ENTRY.why_refused(needs) == "no_such_package is not installed: pip install no_such_package"
    assert ENTRY.why_refused(make_variant("mine", kind="python", packages=("numpy",))) == ""
