"""How Sphinx builds the manual: `make manual`."""

from gemmbench.planning.source_tree import read_version

project = "gemmbench"
author = "the gemmbench developers"
release = read_version()
version = release.partition("+")[0]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

smartquotes = False  # commands can be pasted: -- stays as it is
default_role = "code"  # docstrings write `name`, as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"  # the options follow in a list of their own
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"gemmbench {version}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
