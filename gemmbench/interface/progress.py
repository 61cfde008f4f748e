"""Draws progress bars in a terminal or a notebook, and logs messages."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console, RenderableType
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from gemmbench.bench.experiments.context import SWEEP, Progress, ignore_progress
from gemmbench.report.store.reading import explain_interruption
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.text import format_duration
from gemmbench.session.reporter import Reporter, SessionProgress

_logger = logging.getLogger("gemmbench")


@contextmanager
def draw_bars(console: Console) -> Iterator[Progress]:
    """Draw one bar for the sweep and one for its current step, and write what is known, until the block ends."""
    progress = SessionProgress()
    columns = (TextColumn("{task.description}"), BarColumn(), _Count(), _Time(progress))
    with _Bars(*columns, console=console, transient=True) as bars:
        sweep, step = bars.add_task("starting", total=None), bars.add_task("", visible=False)

        def report(what: str, done: int, of: int, left: float | None = None, later: float = 0.0, /) -> None:
            nonlocal step
            progress.report(what, done, of, left, later)
            what = what if what.startswith(SWEEP) else progress.step.what
            bars.known = progress.known
            if what.startswith(SWEEP):
                bars.update(sweep, description=what.removeprefix(SWEEP), completed=done, total=of)
            elif of:
                bars.update(step, description=what, completed=done, total=of, visible=True)
            else:  # an existing bar keeps its total
                bars.remove_task(step)
                step = bars.add_task(what, total=None)

        yield report


class _Bars(Bars):
    """Progress bars, and below them a line with what is known so far."""

    known = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        """Return the bars and the line. The line is not a column of the bars, because it would leave them no room."""
        yield self.make_tasks_table(self.tasks)
        if self.known:
            yield Text(f"so far {self.known}", no_wrap=True, overflow="ellipsis")


class _Count(ProgressColumn):
    """Shows `3/12`, or nothing if an activity cannot be counted."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.completed:.0f}/{task.total:.0f}" if task.total else "")


class _Time(ProgressColumn):
    """Shows next to the bar of the sweep how long the run has taken and, if known, how long it will still take."""

    def __init__(self, progress: SessionProgress):
        super().__init__()
        self._progress = progress

    def render(self, task: Task) -> Text:
        if task.id != 0:
            return Text("")
        return Text(f"{format_duration(self._progress.elapsed)}{self._progress.describe_left()}")


class NotebookReporter(Reporter):
    """Draws progress bars and logs messages as warnings of the logger `gemmbench`.

    With `progress` None, it draws only in a terminal or in a notebook that has ipywidgets.
    """

    def __init__(self, progress: bool | None = None):
        self._console = Console(stderr=True)
        self._draws = _can_draw(self._console) if progress is None else progress
        self._run: Run | None = None

    def message(self, text: str) -> None:
        """Log one message."""
        _logger.warning(text)

    def open_run(self, run: Run) -> None:
        """Keep the run for `explain_interruptions`."""
        self._run = run

    @contextmanager
    def explain_interruptions(self) -> Iterator[None]:
        """Let a KeyboardInterrupt in the block say how to go on."""
        try:
            yield
        except KeyboardInterrupt:
            words = explain_interruption(self._run) if self._run else ""
            raise KeyboardInterrupt(*filter(None, [words])) from None

    def progress_bar(self) -> AbstractContextManager[Progress]:
        """Draw bars inside the block if this reporter draws any."""
        return draw_bars(self._console) if self._draws else nullcontext(ignore_progress)


def _can_draw(console: Console) -> bool:
    if console.is_jupyter:
        return importlib.util.find_spec("ipywidgets") is not None
    return console.is_terminal
