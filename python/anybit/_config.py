"""Quantization configs in the API of Arm's quantizers, which become schemes of anybit's recipes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Mapping, Optional, Union

from ._checks import checked
from .errors import InvalidArgument

# (qmin, qmax) -> integer format, and whether it is the narrow range, without the lowest integer.
_INTEGERS = {(-128, 127): ("int8", False), (-127, 127): ("int8", True), (0, 255): ("uint8", False),
          (-32768, 32767): ("int16", False), (-32767, 32767): ("int16", True), (0, 65535): ("uint16", False),
          (-8, 7): ("int4", False), (-7, 7): ("int4", True), (0, 15): ("uint4", False),
          (-2, 1): ("int2", False), (-1, 1): ("int2", True), (0, 3): ("uint2", False)}


@dataclass(frozen=True)
class QuantizationConfig:
    """How the tensors of an operator are quantized. Each part is a spec as in recipes; None leaves it to other rules.

    >>> anybit.QuantizationConfig(weight="int4 sym block 32", input_activation="float").scheme()
    {'weight': 'int4 sym block 32', 'data_in': 'float'}
    """

    input_activation: Optional[Any] = None
    output_activation: Optional[Any] = None
    weight: Optional[Any] = None
    bias: Optional[Any] = None

    def scheme(self) -> dict[str, Any]:
        """The config as a scheme of a recipe."""
        parts = {"weight": self.weight, "bias": self.bias, "data_in": self.input_activation,
                 "data_out": self.output_activation}
        return {name: part for name, part in parts.items() if part is not None}


Config = Annotated[Union[None, str, Mapping[str, Any], QuantizationConfig],
                   "None (float), the name of a preset, a dict of parts, or a QuantizationConfig"]


def _integer_format(low: int, high: int, what: str) -> tuple[str, bool]:
    found = _INTEGERS.get((low, high))
    if found is None:
        known = ", ".join(f"{a}..{b}" for a, b in _INTEGERS)
        raise InvalidArgument(f"no integer format has the range {low} to {high} for {what}", "", known)
    return found


def _weight(is_per_channel: bool, low: int, high: int) -> str:
    name, narrow = _integer_format(low, high, "weights")
    return f"{name} sym {'channel' if is_per_channel else 'tensor'}" + ("" if narrow else " full")


@checked
def get_symmetric_quantization_config(is_per_channel: bool = True, is_qat: bool = False, is_dynamic: bool = False,
                                      act_qmin: int = -128, act_qmax: int = 127, weight_qmin: int = -127,
                                      weight_qmax: int = 127) -> QuantizationConfig:
    """Symmetric 8-bit weights and asymmetric 8-bit activations: the main config of Arm's quantizers.

    ``is_qat`` changes nothing: whether the model is trained is said when it is quantized.

    >>> anybit.get_symmetric_quantization_config().weight
    'int8 sym channel'
    >>> anybit.get_symmetric_quantization_config(is_per_channel=False, is_dynamic=True).scheme()
    {'weight': 'int8 sym tensor', 'data_in': 'int8 asym dynamic', 'data_out': 'int8 asym dynamic'}
    """
    name, narrow = _integer_format(act_qmin, act_qmax, "activations")
    data = f"{name} {'sym' if narrow else 'asym'}" + (" dynamic" if is_dynamic else "")
    return QuantizationConfig(data, data, _weight(is_per_channel, weight_qmin, weight_qmax))


@checked
def get_symmetric_a16w8_quantization_config(is_per_channel: bool = True, is_qat: bool = False, is_dynamic: bool = False,
                                            weight_qmin: int = -127, weight_qmax: int = 127) -> QuantizationConfig:
    """Symmetric 16-bit activations and 8-bit weights ("16x8").

    >>> anybit.get_symmetric_a16w8_quantization_config().input_activation
    'int16 sym'
    """
    data = "int16 sym" + (" dynamic" if is_dynamic else "")
    return QuantizationConfig(data, data, _weight(is_per_channel, weight_qmin, weight_qmax))


def scheme_of(config: Config) -> Any:
    """A config in the form that a recipe takes."""
    if isinstance(config, QuantizationConfig):
        return config.scheme()
    if config is None:
        return "float"
    if isinstance(config, (str, Mapping)):
        return config
    raise InvalidArgument(f"{type(config).__name__} is not a quantization config", "",
                          "None (float), the name of a preset, a dict of parts, or a QuantizationConfig")
