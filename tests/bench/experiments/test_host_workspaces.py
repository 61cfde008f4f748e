"""Workspaces whose bytes only loaded code knows."""

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.errors import LaunchError
from gemmbench.planning.plans.plan import level_workspaces

BYTES = 12_345


class Asked(FakeBackend):
    """The code of `asks` knows the bytes of its workspace, that of `fails` does not."""

    def __init__(self):
        super().__init__()
        self.bound = {}

    def count_workspace(self, loaded, plan):
        if plan.variant.name == "fails":
            raise LaunchError("bytes threw: no tile fits")
        return BYTES if plan.variant.name == "asks" else plan.workspace

    def bind(self, name, steps, *rest, **options):
        (step,) = steps
        self.bound[name] = step
        return super().bind(name, steps, *rest, **options)


def test_loaded_code_is_asked_for_the_bytes_of_its_workspace(experiment):
    backend = Asked()
    asks, fails, naive = experiment("asks", "fails", "naive", backend=backend)
    assert (asks.status, asks.workspace) == ("ok", BYTES)
    assert (fails.status, fails.reason) == ("failed", "bytes threw: no tile fits")
    assert (naive.status, naive.workspace) == ("ok", 0)
    assert backend.bound["asks"].plan.workspace == BYTES and backend.bound["naive"].workspace is None


def test_the_workspace_of_a_row_is_guarded(experiment, launch):
    backend = Asked()
    backend.count_workspace = lambda loaded, plan: BYTES

    def write_beyond(step, at):
        place = backend.bound["bad"].workspace
        place.memory.fill(place.offset, BYTES + 1, 0)

    launch(write_beyond)
    (bad,) = experiment("bad", backend=backend)
    assert bad.status == "wrong" and "wrote outside its workspace: 1 bytes after" in bad.reason


def test_a_library_may_use_as_much_as_a_kernel_that_is_asked(experiment, monkeypatch):
    leveled = []

    def level(chains):
        leveled.extend(chain.steps[0].workspace for chain in chains)
        return level_workspaces(chains)

    monkeypatch.setattr("gemmbench.bench.experiments.experiment.level_workspaces", level)
    experiment("asks", "naive", backend=Asked())
    assert leveled == [BYTES, 0]
