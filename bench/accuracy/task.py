"""The rows of the accuracy table (models and measures), and the sentences that several tasks share."""
import dataclasses
import pathlib
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "build" / "models"
DATA = MODELS / "data"
SENTENCES = pathlib.Path(__file__).with_name("sentences.txt").read_text().splitlines()
CALIBRATION_SENTENCES = 30  # the first ones calibrate, the others measure


@dataclasses.dataclass(frozen=True)
class Measure:
    """One number about a model. `noise`: an insignificant difference; for percentages, about two standard errors."""
    name: str
    unit: str
    digits: int
    noise: float
    higher_is_better: bool = True

    def worse(self, value, other):
        """By how much `value` is worse than `other`."""
        return other - value if self.higher_is_better else value - other


class Scores(list):
    """The values of the measures, and one measure item by item: what `halves` divides."""

    def __init__(self, values, items):
        super().__init__(values)
        self.items = items

    def halves(self):
        """The mean over every other item, from the first one and from the second one: to choose by, and to report."""
        return [float(self.items[k::2].mean()) for k in range(2)]


@dataclasses.dataclass(frozen=True)
class Task:
    """A model, calibration samples (feeds by input name), and scores for any model in its place.

    `scores` takes a function from feeds to outputs and returns one value for each of `measures`.
    """
    name: str
    model: pathlib.Path
    schemes: tuple  # of "int8" (static) and "dynamic-int8"
    measures: tuple
    samples: Callable
    scores: Callable
