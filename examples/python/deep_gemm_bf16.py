"""
summary: DeepGEMM, which compiles its kernel in the first call
precisions: [bf16]
layouts: [nn]
kinds: [one, groups]
packages: [torch, deep_gemm]
packages_from: packages
arch: [90a]
call: matmul(A, B, C, problem)
require:
  - N % 8 == 0 and K % 64 == 0
source: https://github.com/deepseek-ai/DeepGEMM
"""

from functools import lru_cache

import deep_gemm
import torch

ROWS = 128
"""Rows of A and C that one block computes, all with the same B."""


@lru_cache(maxsize=64)
def number_rows(groups):
    """Return the group of each row."""
    if any(rows % ROWS for rows in groups):
        raise ValueError(f"groups of {', '.join(map(str, groups))} rows; DeepGEMM needs multiples of {ROWS}")
    rows = torch.tensor(groups, device="cuda")
    return torch.arange(len(groups), dtype=torch.int32, device="cuda").repeat_interleave(rows)


def matmul(a, b, c, problem):
    if problem.groups:
        deep_gemm.m_grouped_bf16_gemm_nn_contiguous(a, b, c, number_rows(problem.groups))
    else:
        deep_gemm.bf16_gemm_nn(a, b, c)
