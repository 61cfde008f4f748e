"""A launcher that is loaded: its host function, bound to operands on one stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gemmbench.backends.cuda.launchers.arguments import HostScalars, Slot, count_sizes, list_arguments, pack_slots
from gemmbench.backends.cuda.launchers.library import LauncherLibrary
from gemmbench.backends.cuda.launchers.rules import count_kernels
from gemmbench.backends.cuda.launching.kernel import Addresses
from gemmbench.backends.cuda.launching.window import Calls
from gemmbench.backends.cuda.system.driver import load_driver
from gemmbench.errors import LaunchError
from gemmbench.planning.manifests.variant import STREAM
from gemmbench.planning.plans.plan import Plan


class Launcher:
    """The host function of a plan, from its shared library."""

    errors: tuple[type[Exception], ...] = ()

    def __init__(self, path: str, plan: Plan, stream: Any):
        """Load the library. Raises LaunchError."""
        call = plan.variant.call
        self._host, self._stream = call.host, stream
        self._library = LauncherLibrary(path, call.host, call.host_workspace)
        self._kernels: dict[Plan, int] = {}

    def count_workspace(self, plan: Plan) -> int:
        """The bytes of workspace that a plan needs, from its host function if the manifest names one.

        Raises LaunchError.
        """
        if not plan.variant.call.host_workspace:
            return plan.workspace
        nbytes = self._library.count_workspace(pack_slots([Slot(whole=size) for size in count_sizes(plan).values()]))
        if nbytes < plan.zeroed:
            raise LaunchError(f"{plan.zeroed} zeroed bytes of a workspace of {nbytes} ({plan.variant.path})")
        return nbytes

    def calls(self, plan: Plan, addresses: Addresses, biases: Sequence[int] = (), workspace: int = 0) -> Calls:
        """Fix the arguments of a launch on each operand set.

        A plan's first launch runs on the first set, and a second one is recorded, to see that it only
        queues work. Raises LaunchError if it does more, NotOffered, OutOfMemory and pycuda's errors.
        """
        arguments = list_arguments(plan)
        scalars = HostScalars(plan)
        shared = {"workspace": workspace, STREAM: int(self._stream.handle)}
        shared |= {each.place: scalars.find(each.passed) for each in arguments if each.passed.by_pointer}

        def bind(operands: tuple[int, int, int]) -> Callable[[], None]:
            found = {**shared, **dict(zip("ABC", operands, strict=True))}
            return self._library.bind(pack_slots([each.fill(plan.problem, found) for each in arguments]))

        queue = tuple(map(bind, addresses))
        if plan not in self._kernels:
            self._kernels[plan] = self._try(queue[0])
        return Calls(queue, f"{plan.variant.name}: {self._host}", self._kernels[plan], (self, scalars))

    def _try(self, launch: Callable[[], object]) -> int:
        """Launch once, then record a launch; the most kernels that it queues."""
        launch()
        load_driver().Context.synchronize()  # it may use other streams, too
        return count_kernels(launch, self._stream, self._host, self._library.take_last_error)


def count_workspace(loaded: object, plan: Plan) -> int:
    """The bytes of workspace of a loaded plan; those of a launcher come from its host function. Raises LaunchError."""
    return loaded.count_workspace(plan) if isinstance(loaded, Launcher) else plan.workspace
