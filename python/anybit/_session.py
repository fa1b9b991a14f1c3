"""Execution of models."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence

from . import _anybit
from ._arrays import from_native, to_native
from ._checks import Memory, Threads, checked
from ._model import Model, Source, load
from ._numpy import np
from .errors import InvalidArgument, InvalidState


class NodeTime(NamedTuple):
    """The run time of a node in nanoseconds; fused nodes have the name of the first."""

    name: str
    op: str
    start: int
    nanoseconds: int
    macs: int
    depth: int


class Session:
    """A model that is ready to run. Any number of threads may run it concurrently.

    Parameters
    ----------
    model : path, bytes, ``onnx.ModelProto`` or ``anybit.Model``.
    threads : number of threads; 0 for one per core.
    max_memory : memory limit in bytes; 0 for none.
    fuse : whether to fuse operators.
    variables : initializers whose values may change between runs.
    updates : variables and the outputs that replace their values after each run.

    >>> session = anybit.Session(digits)
    >>> session.run(np.zeros((2, 1, 28, 28), np.float32))["logits"].shape
    (2, 10)
    >>> with anybit.Session(digits, threads=1) as session:
    ...     print(session.outputs)
    [logits: float32[batch, 10]]
    """

    @checked
    def __init__(self, model: Source, threads: Threads = 0, max_memory: Memory = 0, fuse: bool = True,
                 variables: Sequence[str] = (), updates: Optional[Mapping[str, str]] = None):
        self._executor: Optional[_anybit.Executor] = _anybit.make_executor(
            load(model)._native, threads, max_memory, fuse, list(variables), dict(updates or {}))
        self._names = [port.name for port in self._executor.outputs]
        self._required = [port.name for port in self._executor.inputs if port.required]
        self._sequences = {port.name for port in self._executor.inputs if port.type.startswith(("seq(", "optional(seq("))}

    def _open(self) -> _anybit.Executor:
        if self._executor is None:
            raise InvalidState("the session is closed", "", "make a new one")
        return self._executor

    @property
    def inputs(self) -> list[_anybit.Port]:
        """The inputs."""
        return self._open().inputs

    @property
    def outputs(self) -> list[_anybit.Port]:
        """The outputs."""
        return self._open().outputs

    @property
    def variables(self) -> list[_anybit.Port]:
        """The initializers that are variables."""
        return self._open().variables

    @checked
    def get_variable(self, name: str) -> np.ndarray:
        """A copy of the current value of a variable.

        >>> session = anybit.Session(digits, variables=["head/linear.bias"])
        >>> session.get_variable("head/linear.bias").shape
        (10,)
        """
        return from_native(self._open().variable(name))

    @checked
    def set_variable(self, name: str, value: Any) -> None:
        """Replaces the value of a variable by one of the same type and shape. Runs in progress keep the old value.

        >>> session = anybit.Session(digits, variables=["head/linear.bias"])
        >>> session.set_variable("head/linear.bias", np.full(10, 1000, np.float32))
        >>> bool((session.run(images[:2])["logits"] > 900).all())
        True
        """
        self.set_variables({name: value})

    @checked
    def set_variables(self, values: Mapping[str, Any]) -> None:
        """Replaces several variables atomically: on an error none changes, and a run sees all new values or none."""
        self._open().set_variables({name: to_native(value, name, "variable") for name, value in values.items()})

    def to_model(self) -> Model:
        """The model with the current values of its variables.

        >>> session = anybit.Session(digits, variables=["head/linear.bias"])
        >>> session.set_variable("head/linear.bias", np.zeros(10, np.float32))
        >>> anybit.Session(session.to_model()).run(images[:2])["logits"].shape
        (2, 10)
        """
        return Model(self._open().model())

    @property
    def peak_memory(self) -> int:
        """Peak bytes of activations and packed weights."""
        return self._open().peak_memory

    def run(self, inputs: Any = None, /, **named: Any) -> dict[str, np.ndarray]:
        """Runs the model and returns the outputs by name.

        Inputs are a dict by name, keywords, or an array for a model with one input. Contiguous inputs and the outputs are
        not copied.

        >>> session = anybit.Session(digits)
        >>> for given in ({"image": images[:2]}, images[:2]):
        ...     print(session.run(given)["logits"].shape)
        (2, 10)
        (2, 10)
        >>> session.run(image=images[:2])["logits"].dtype
        dtype('float32')
        """
        return dict(zip(self._names, self._run(inputs, named, None)))

    def profile(self, inputs: Any = None, /, **named: Any) -> list[NodeTime]:
        """Runs the model once and returns the time of each node.

        >>> times = anybit.Session(digits).profile(np.zeros((1, 1, 28, 28), np.float32))
        >>> times[0].op
        'FusedConv'
        """
        times: list[tuple] = []
        self._run(inputs, named, times)
        return [NodeTime(*one) for one in times]

    def _run(self, inputs: Any, named: Mapping[str, Any], profile: Optional[list]) -> list:
        executor = self._open()
        given = self._by_name(inputs)
        for name in named:
            if name in given:
                raise InvalidArgument(f"input '{name}' is given twice", "", "in the dict or as a keyword, not both")
        values = {name: _native(value, name, name in self._sequences) for name, value in {**given, **named}.items()}
        return [from_native(one) for one in executor.run(values, profile)]

    def _by_name(self, inputs: Any) -> Mapping[str, Any]:
        if inputs is None:
            return {}
        if isinstance(inputs, Mapping):
            return inputs
        values = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(values) != len(self._required):
            raise InvalidArgument(f"{len(values)} arrays for the inputs {', '.join(self._required)}", "",
                                  "a dict by their names")
        return dict(zip(self._required, values))

    def close(self) -> None:
        """Releases the model. Runs in progress on other threads finish; later runs raise ``InvalidState``."""
        self._executor = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._executor is None:
            return "Session, closed"
        ends = [", ".join(map(repr, side)) for side in (self.inputs, self.outputs)]
        return f"Session {ends[0]} -> {ends[1]}"


def _native(value: Any, name: str, is_sequence: bool) -> Any:
    if value is None:
        return None
    if is_sequence and isinstance(value, (list, tuple)):
        return [_native(one, name, isinstance(one, list)) for one in value]
    return to_native(value, name)
