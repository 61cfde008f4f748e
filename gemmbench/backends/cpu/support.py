"""Which kernels the CPU can run, judged by their text."""

from __future__ import annotations

import re
from functools import lru_cache

from gemmbench.backends.sources import read_whole_text
from gemmbench.planning.manifests.variant import Variant

_COMMENT_OR_STRING = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | "(?:\\.|[^"\\\n])*"? | '(?:\\[^'\n]*|[^'\\\n])'""", re.DOTALL | re.VERBOSE
)
_DIRECTIVE = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
ALIGNMENT = re.compile(r"\b(?:__align__|alignas)\s*\((?:[^()]|\([^()]*\))*\)")
_DECLARATION = re.compile(r"([^;{}()=]*)([;={]|[}()]|\Z)")
_ON_DEVICE = re.compile(r"\b__(?:device|managed)__")
_NO_STATE = re.compile(r"\b(?:const|constexpr|operator)\b")
_BARRIER = re.compile(r"\b__(?:sync\w+|\w+_sync)\b")

_NEEDS_GPU = (
    ("asm", re.compile(r"\b(?:asm|__asm|__asm__)\b"), "inline PTX"),
    ("mma", re.compile(r"<mma\.h>|\b(?:\w*wmma|\w*wgmma)\b"), "tensor cores"),
    ("nvcuda", re.compile(r"\bnvcuda\b"), "tensor cores"),
    ("cluster", re.compile(r"\b__cluster_dims__|\bcluster_\w+|\bclusterIdx\b"), "thread block clusters"),
    ("cooperative_groups", re.compile(r"\bcooperative_groups\b"), "cooperative groups"),
    ("CUtensorMap", re.compile(r"\bCUtensorMap\b"), "tensor maps"),
    ("cuda", re.compile(r"<cuda/|\bcuda::|<cuda_pipeline"), "asynchronous copies or barriers"),
    ("__pipeline_", re.compile(r"\b__pipeline_\w+"), "asynchronous copies or barriers"),
    ("<<<", re.compile(r"<<<"), "a launch of its own"),
    ("_fp", re.compile(r"<cuda_fp[46]\.h>|\b__nv_fp[46]\w*"), "4-bit or 6-bit floating point"),
)
"""A word that every match has, the pattern, and what it means. A word is found much faster than a pattern."""


def _strip_comments(text: str) -> str:
    """The text without comments and with empty string and character literals.

    `#include <x>` stays.
    """
    return _COMMENT_OR_STRING.sub(" ", text)


def why_unsupported(variant: Variant) -> str:
    """Why the CPU cannot execute this variant, in one sentence, or ""."""
    if not variant.is_kernel:
        return ""
    if variant.tensor_maps:
        return "needs a GPU with TMA: it reads through tensor maps, which the CPU cannot execute"
    if variant.arch:
        needed = " or ".join(f"sm_{name}" for name in variant.arch)
        return f"needs a GPU: it uses instructions of {needed}, which the CPU cannot execute"
    return _find_unsupported_code(read_whole_text(variant))


@lru_cache(maxsize=256)
def _find_unsupported_code(text: str) -> str:
    """What the text needs that the CPU lacks, in one sentence, or ""; a sweep asks for every plan."""
    code = _strip_comments(text)
    for word, pattern, what in _NEEDS_GPU:
        if word in code and pattern.search(code):
            return f"uses {what}, which the CPU cannot execute"
    if _ON_DEVICE.search(code) and _declares_device_variable(ALIGNMENT.sub(" ", _DIRECTIVE.sub("", code))):
        return "keeps state in a __device__ variable, which the worker processes of the CPU do not share"
    return ""


def _declares_device_variable(code: str) -> bool:
    for declared, end in _DECLARATION.findall(code):
        words = _ON_DEVICE.split(declared)
        if end in (";", "=", "{") and len(words) > 1 and not _NO_STATE.search(words[-1]):
            return True
    return False


def has_barriers(text: str) -> bool:
    """Whether the threads of a block can wait for each other; then each needs its own stack."""
    return bool(_BARRIER.search(_strip_comments(text)))
