"""Progress of long steps: a bar on a terminal or in a notebook, silence elsewhere.

Every function with a ``progress`` parameter accepts ``None`` (a bar on a terminal or in a notebook), ``False`` (silence),
``True`` (also plain lines without a terminal), or a function that is called with the number of samples done and their total
(``None`` if unknown).

>>> from anybit.progress import line
>>> line("calibrating", "samples", 40, 100, 2.0)
'calibrating:  40%|##########--------------| 40/100 [00:02<00:03, 20.0 samples/s]'
"""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any, Callable, Optional, Union

Progress = Annotated[Union[None, bool, Callable[[int, Optional[int]], Any]],
                     "None, True, False, or a function of done and total"]

_WIDTH = 24
_REDRAW, _LINES = 0.1, 5.0  # seconds between two redraws, and between two lines


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def line(what: str, unit: str, done: int, total: Optional[int], seconds: float) -> str:
    """The progress as one line."""
    rate = done / seconds if seconds > 0 else 0.0
    speed = f"{rate:.1f} {unit}/s"
    if not total:
        return f"{what}: {done} {unit} [{_clock(seconds)}, {speed}]"
    part = min(done / total, 1.0)
    filled = int(part * _WIDTH + 0.5)
    left = _clock((total - done) / rate) if rate > 0 and done < total else "00:00"
    bar = "#" * filled + "-" * (_WIDTH - filled)
    return f"{what}: {part:4.0%}|{bar}| {done}/{total} [{_clock(seconds)}<{left}, {speed}]"


def _in_notebook() -> bool:
    # Does not import IPython.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class Bar:
    """A progress bar: a context manager that is called with the number of samples done."""

    def __init__(self, what: str, unit: str, total: Optional[int], always: bool = False):
        self.what, self.unit, self.total = what, unit, total
        self.begin = self.shown = time.monotonic()
        self.done = 0
        self.display: Any = None
        self.notebook = _in_notebook()
        self.terminal = not self.notebook and sys.stderr is not None and sys.stderr.isatty()
        self.lines = always and not self.notebook and not self.terminal
        self.drawn = False

    def __enter__(self) -> Bar:
        return self

    def __call__(self, done: int) -> None:
        self.done = done
        now = time.monotonic()
        if now - self.shown >= (_LINES if self.lines else _REDRAW):
            self.shown = now
            self._draw()

    def _draw(self) -> None:
        text = line(self.what, self.unit, self.done, self.total, time.monotonic() - self.begin)
        if self.notebook:
            self._draw_in_notebook(text)
        elif self.terminal or self.lines:
            print(f"\r{text}\x1b[K" if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr, flush=True)
        self.drawn = True

    def _draw_in_notebook(self, text: str) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        value = f'value="{self.done}" max="{self.total}"' if self.total else ""
        page = HTML(f"<progress {value}></progress> <code>{text}</code>")
        if self.display is None:
            self.display = display(page, display_id=True)
        else:
            self.display.update(page)

    def __exit__(self, *raised: Any) -> None:
        if not self.drawn:
            return
        self._draw()
        if self.terminal:
            print(file=sys.stderr)


class Told:
    """Passes progress to the caller's function."""

    def __init__(self, call: Callable[[int, Optional[int]], Any], total: Optional[int]):
        self.call, self.total = call, total

    def __enter__(self) -> Told:
        return self

    def __call__(self, done: int) -> None:
        self.call(done, self.total)

    def __exit__(self, *raised: Any) -> None:
        pass


class Silent(Told):
    """Shows no progress."""

    def __init__(self) -> None:
        super().__init__(lambda done, total: None, None)


def shown(progress: Progress, what: str, total: Optional[int], unit: str = "samples") -> Union[Bar, Told]:
    """The progress display for a caller's ``progress`` argument."""
    if progress is False:
        return Silent()
    if callable(progress):
        return Told(progress, total)
    return Bar(what, unit, total, always=progress is True)
