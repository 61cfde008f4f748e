/*---
summary: TMA where rows are aligned, split K for the rest
order: 3
precisions: [f32]
layouts: [nn, nt, tn, tt]
pick:
  - when: M * N <= 32 * 32
    variant: split_k
  - when: TRANS_B == 0
    variant: tma
    params:
      SWIZZLE: 0
  - variant: split_k
    params: {SPLITS: 1}
---*/
