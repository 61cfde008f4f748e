"""Scripts for this repository; they are not installed.

generate_docs   writes the generated parts of README.md and of the manual in docs/, and the schemas
page            a page of the documentation and its generated parts
parts           the kinds of generated parts
citations       whose figures a part shows, and what has changed since they were measured
schemas         the JSON schemas of manifests and configs
"""
