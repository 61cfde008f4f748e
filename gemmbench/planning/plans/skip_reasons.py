"""Chooses the back end that runs a variant, and explains why a device or a problem does not suit it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.manifests.variant import GROUPS, MANY, ONE, PADDED, SEPARATE_C, Variant
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import Problem

Refusal = Callable[[Variant, str], str]
"""(variant, device) -> why that back end cannot run the variant, or ""."""


def choose_backend(variant: Variant, primary: str, targets: Mapping[str, Target]) -> str:
    """Return the back end that runs a variant: the primary one if it can, or else another that is available.

    If none is available, it is the one that the variant needs.
    """
    target = targets.get(primary)
    if variant.fault or variant.unsupported or primary in variant.devices or (target and target.runs_every_variant):
        return primary
    return next((device for device in variant.devices if device in targets), variant.devices[0])


def explain_unsuitable(problem: Problem, variant: Variant, target: Target | None) -> str:
    """Explain why a device cannot run a variant on a problem; "" if it can."""
    if variant.fault or variant.unsupported:
        return variant.fault or variant.unsupported
    if variant.computes == "mlp":
        return f"computes a whole network, not a GEMM; use gemmbench mlp {variant.name}"
    if variant.computes == "pass":
        return "applies an epilogue to a finished C and computes no product; kernels that fuse none are followed by it"
    if problem.precision_name not in variant.precisions:
        return f"does not support precision {problem.precision_name}; supports {', '.join(variant.precisions)}"
    if problem.layout not in variant.layouts:
        return f"does not support layout {problem.layout}; supports {', '.join(variant.layouts)}"
    if reason := _explain_unsuitable_shape(problem, variant):
        return reason
    if problem.ld and PADDED not in variant.kinds:
        return f"takes no rows with padding ({', '.join(problem.ld)}); its `kinds` has no `{PADDED}`"
    if problem.separate_c and SEPARATE_C not in variant.kinds:
        return f"writes its result to C and takes no D; its `kinds` has no `{SEPARATE_C}`"
    if problem.separate_c and not problem.beta and variant.call.reads_c:
        return "reads C even if beta is 0, and a C apart from D then holds NaN; give another --beta"
    if reason := _explain_unsuitable_for_integers(problem):
        return reason
    if not variant.takes_scalars(problem.precision, problem.alpha, problem.beta):
        if variant.is_library:
            return (
                f"multiplies {problem.precision_name} only by an alpha and a beta of 0 or 1; choose --alpha 1 --beta 0"
            )
        fixed = [f"{name} {value}" for name, value in (("alpha", 1), ("beta", 0)) if not variant.takes(name)]
        return f"takes only {' and '.join(fixed)}: its `{'call' if variant.is_python else 'args'}` has no such argument"
    if problem.epilogue and variant.python.returns:
        return "returns its result, so no pass can apply --epilogue to C; only functions that write C can be followed"
    return explain_unfit_device(variant, target)


def _explain_unsuitable_shape(problem: Problem, variant: Variant) -> str:
    """Explain why a variant computes none of one product, batches and groups here; "" if it does."""
    if problem.groups and variant.is_python and GROUPS not in variant.kinds:
        return "is a Python function of one product; its `kinds` has no `groups`"
    wanted = GROUPS if problem.groups else MANY if problem.count > 1 else ONE
    if ONE in variant.kinds or wanted in variant.kinds:
        return ""
    takes, size = ("batches", "8*64") if MANY in variant.kinds else ("groups", "8+0+4x64x64")
    given = {GROUPS: "these are groups", MANY: "this is a batch", ONE: "this is one product"}[wanted]
    return f"takes only {takes} (`kinds`), but {given}; choose a size such as {size}"


def _explain_unsuitable_for_integers(problem: Problem) -> str:
    """Explain why a problem whose result is made of integers cannot be computed; "" if it can, or if it is not."""
    name, storage = problem.precision_name, problem.storage("C")
    if not storage.is_integer:
        return ""
    for step in problem.epilogue:
        if step in EPILOGUE_STEPS and not EPILOGUE_STEPS[step].keeps_integers:
            kept = ", ".join(each.name for each in EPILOGUE_STEPS.values() if each.keeps_integers)
            return f"{step} gives fractions, but C of {name} is {storage.name}; choose --epilogue from {kept}"
    for scalar, value in (("alpha", problem.alpha), ("beta", problem.beta)):
        if not float(value).is_integer():
            return f"{scalar} is {value:g}, but {name} multiplies integers; choose a whole number, such as --{scalar} 1"
    return ""


def explain_unfit_device(variant: Variant, target: Target | None) -> str:
    """Explain why a device cannot run a variant on any problem; "" if it can."""
    if target is None:
        return "needs an NVIDIA GPU, but this run has none"
    if target.sm and target.sm < variant.min_sm:
        return f"needs compute capability {variant.min_sm / 10}, but the device has {target.sm / 10}"
    if target.sm and not choose_architecture(variant, target.sm):
        return f"is written only for sm_{', sm_'.join(variant.arch)}, but the device is sm_{target.sm}"
    return ""


def explain_unready(variant: Variant, device: str, target: Target | None, refuses: Refusal) -> str:
    """Explain why a back end cannot run a variant, or any variant that it picks from; "" if it can."""
    if reason := explain_unfit_device(variant, target) or refuses(variant, device):
        return reason
    picked = {pick.code.name: pick.code for pick in variant.picks if pick.code}
    reasons = [explain_unready(code, device, target, refuses) for code in picked.values()]
    return reasons[-1] if reasons and all(reasons) else ""


def choose_architecture(variant: Variant, sm: int) -> str:
    """Return the architecture to compile for: the one that the variant names, or else that of the device."""
    if not variant.arch:
        return str(sm)
    return next((name for name in variant.arch if name.rstrip("af") == str(sm)), "")
