"""Decides which kernels the CPU can run, judging by the code that they use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gemmbench.planning.cpp.items import Item, Source
from gemmbench.planning.cpp.tokens import Token
from gemmbench.planning.manifests.kernel_code import list_quoted_includes
from gemmbench.planning.manifests.variant import Variant

_BARRIER = re.compile(r"__(?:sync\w+|\w+_sync)$")
_NOT_SHARED = "which the worker processes of the CPU do not share"
_AMPERE = 80
"""The first architecture with asynchronous copies. Code for older architectures avoids features that the CPU lacks."""
_CANNOT = "which the CPU cannot execute"

_NEEDS_GPU = {
    "uses inline PTX": r"asm|__asm|__asm__",
    "uses tensor cores": r"nvcuda|wmma|__w?mma_\w+|__wgmma\w*",
    "uses thread block clusters": r"__cluster\w+|cluster(?:Idx|Dim)|cluster_(?:group|arrive|wait)\w*|this_cluster",
    "uses cooperative groups": r"cooperative_groups|this_grid|this_thread_block|tiled_partition|coalesced_threads",
    "uses tensor maps": r"CUtensorMap",
    "uses asynchronous copies or barriers": r"__pipeline_\w+|__mbarrier\w*",
    "uses 4-bit or 6-bit floating point": r"__nv_fp[46]\w*",
    "reads a texture": r"texture|tex(?:1D|2D|3D|Cubemap)\w*|surf(?:1D|2D|3D)\w*",
    "uses cuRAND": r"curand\w*",
}
_NAMESPACES = {
    "uses asynchronous copies or barriers": r"cuda",
    "uses CUB": r"cub",
    "uses Thrust": r"thrust",
    "uses CuTe": r"cute",
}
"""Words and namespaces (before `::`) that need a GPU, unless the text itself declares them."""
_PATTERNS = [(re.compile(rf"(?:{words})$"), what) for what, words in _NEEDS_GPU.items()]
_SCOPES = [(re.compile(rf"(?:{words})$"), what) for what, words in _NAMESPACES.items()]
_SUSPICIOUS = re.compile(rf"\b(?:{'|'.join(_NEEDS_GPU.values())}|(?:{'|'.join(_NAMESPACES.values())})::)|<<<")

_NUMBER = r"(?:u?(?:int|ll|short|char|longlong)|float|double|half|bfloat16)"
_FUNCTION = re.compile(
    rf"__{_NUMBER}s?2{_NUMBER}2?(?:_r[nduz])?|__{_NUMBER}_as_{_NUMBER}|__(?:double2(?:hi|lo)int|hiloint2double)"
    r"|__(?:half22float2|float22half2_rn|(?:low|high|halves|lows|highs|lowhigh)2\w+)"
    r"|__[fd](?:add|sub|mul|div|rcp|r?sqrt|ma)2?_r[nduz]|__fmaf?(?:_ieee)?_r[nduz]|__(?:fdivide|saturate|tanh)f"
    r"|__hb?(?:abs|add|sub|mul|div|fma|neg|eq|ne|lt|le|gt|ge|max|min|isnan|isinf|cmadd)u?2?(?:_(?:sat|rn|nan|mask|relu))*"
    r"|__(?:exp10|exp|log10|log2|log|sin|cos|tan|pow|sincos)f|__u?(?:mul24|mulhi|mul64hi|hadd|rhadd|sad)"
    r"|__v\w+[24]|__vi(?:add|b)?(?:max|min)\w*|__(?:clz|ffs|popc|brev)(?:ll)?|__(?:byte_perm|fns|dp[24]a\w*)"
    r"|__funnelshift_[lr]c?|__ld(?:g|ca|cg|cs|cv|lu)|__st(?:cg|cs|wb|wt)|__cvta_\w+|__is(?:Global|Shared|Local|Constant)"
    r"|__(?:all|any|ballot|shfl(?:_up|_down|_xor)?|match_(?:all|any)|reduce_\w+)(?:_sync)?|__activemask|__syncwarp"
    r"|__syncthreads(?:_and|_or|_count)?|__threadfence(?:_block|_system|_cluster)?|__barrier_sync(?:_count)?"
    r"|__(?:nanosleep|prof_trigger|trap|brkpt)|__nv_\w+|nv_bfloat16\d*|__half\w*|half2|cuda[A-Z]\w*|clock(?:64)?"
    r"|h2?(?:exp|exp2|exp10|log|log2|log10|sin|cos|tanh|sqrt|rsqrt|rcp|floor|ceil|rint|trunc)|make_[a-z]+[1-4]"
    r"|atomic(?:Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)(?:_block|_system)?"
    r"|r?norm[34]?d?f?|r?hypotf?|normcdf(?:inv)?f?|erfc?(?:x|inv)f?|sincospif?|(?:sin|cos)pif?|r?cbrtf?|cyl_bessel_\w+"
    r"|umul(?:24|hi)|u?(?:ll)?(?:min|max)|fdividef|curand\w*"
)
"""Names of the toolkit's device functions and types."""
_UNKNOWN = re.compile(
    r"^(.*?):(\d+):\d+: error: '(?:[\w]+::)*(\w+)' (?:was not declared|has not been declared|does not name)"
)


def why_unsuitable(variant: Variant) -> str:
    """Explain in one sentence why the CPU cannot execute a variant, judging by manifest and text; "" otherwise."""
    if not variant.is_kernel:
        return ""
    if variant.tensor_maps:
        return f"needs a GPU with TMA: it reads through tensor maps, {_CANNOT}"
    if variant.arch:
        needed = " or ".join(f"sm_{name}" for name in variant.arch)
        return f"needs a GPU: it uses instructions of {needed}, {_CANNOT}"
    if variant.min_sm >= _AMPERE and any(map(_SUSPICIOUS.search, _read_texts(variant))):
        return f"needs a GPU of sm_{variant.min_sm} or later (min_sm), and uses its instructions, {_CANNOT}"
    return ""


def _read_texts(variant: Variant) -> Iterator[str]:
    """Yield the text of a kernel and those of the headers that it includes from its own folder."""
    yield variant.text
    for name in list_quoted_includes(variant.text):
        header = Path(variant.code.file).parent / name
        if header.parent == Path(variant.code.file).parent and header.is_file():
            yield header.read_text(encoding="utf-8", errors="replace")


def find_unsupported(source: Source, reached: Sequence[Item]) -> str:
    """Name in one sentence a feature that the code uses but the CPU lacks, and where it is used; "" if none."""
    declared = {name for item in source.walk() for name in item.names}
    declared |= {each.text for item in source.walk() if item.kind == "scope" for each in item.head}
    aliases: dict[str, str] = {}
    for item in reached:
        if _is_alias(item) and (
            what := next((known for each in item.head if (known := _find_need(each, "", set()))), "")
        ):
            aliases[item.head[1].text] = what
    for item in reached:
        if item.is_device_variable:
            name = next(iter(sorted(item.names & {each.text for each in item.head})), "")
            place = source.places.name(item.start)
            return f"keeps state in the __device__ variable {name} ({place}), {_NOT_SHARED}"
        tokens = [] if _is_alias(item) else item.tokens
        for index, token in enumerate(tokens):
            following = tokens[index + 1].text if index + 1 < len(tokens) else ""
            what = aliases.get(token.text, "") if following == "::" else ""
            if what := what or _find_need(token, following, declared):
                return f"{what} ({source.places.name(token.start)}), {_CANNOT}"
    return ""


def _is_alias(item: Item) -> bool:
    """Return whether an item is a namespace alias."""
    return item.kind == "other" and item.head[0].text == "namespace"


def _find_need(token: Token, following: str, declared: set[str]) -> str:
    if token.is_sign("<<<"):
        return "launches a kernel from a kernel"
    if token.kind != "word" or token.text in declared:
        return ""
    patterns = [*_PATTERNS, *(_SCOPES if following == "::" else [])]
    return next((what for pattern, what in patterns if pattern.match(token.text)), "")


def explain_unknown(error: str) -> str:
    """Name the toolkit feature that the CPU device lacks, if that caused the compiler's error; "" otherwise."""
    found = _UNKNOWN.match(error)
    if found is None or not _FUNCTION.fullmatch(found[3]):
        return ""
    return f"uses {found[3]} ({found[1].rpartition('/')[2]}:{found[2]}), which the CPU device does not have"


def has_barriers(reached: Sequence[Item]) -> bool:
    """Return whether the threads of a block can wait for each other. If so, each needs its own stack."""
    return any(each.kind == "word" and _BARRIER.match(each.text) for item in reached for each in item.tokens)
