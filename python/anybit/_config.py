"""What a rule says of the tensors of an operator: the words of Arm's quantizers on anybit's recipes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Mapping, Optional, Union

from ._checks import checked
from .errors import InvalidArgument

# Ranges of codes that integers have: (lowest, highest) -> format, and whether the lowest code is left out.
_CODES = {(-128, 127): ("int8", False), (-127, 127): ("int8", True), (0, 255): ("uint8", False),
          (-32768, 32767): ("int16", False), (-32767, 32767): ("int16", True), (0, 65535): ("uint16", False),
          (-8, 7): ("int4", False), (-7, 7): ("int4", True), (0, 15): ("uint4", False),
          (-2, 1): ("int2", False), (-1, 1): ("int2", True), (0, 3): ("uint2", False)}


@dataclass(frozen=True)
class QuantizationConfig:
    """How the tensors around an operator are stored. Each part is told in a recipe's words; None leaves it to others.

    >>> anybit.QuantizationConfig(weight="int4 sym block 32", input_activation="float").scheme()
    {'weight': 'int4 sym block 32', 'data_in': 'float'}
    """

    input_activation: Optional[Any] = None
    output_activation: Optional[Any] = None
    weight: Optional[Any] = None
    bias: Optional[Any] = None

    def scheme(self) -> dict[str, Any]:
        """The parts as a recipe has them."""
        parts = {"weight": self.weight, "bias": self.bias, "data_in": self.input_activation,
                 "data_out": self.output_activation}
        return {name: part for name, part in parts.items() if part is not None}


Config = Annotated[Union[None, str, Mapping[str, Any], QuantizationConfig],
                   "None (float), the name of a preset, a dict of parts, or a QuantizationConfig"]


def _codes(low: int, high: int, what: str) -> tuple[str, bool]:
    found = _CODES.get((low, high))
    if found is None:
        known = ", ".join(f"{a}..{b}" for a, b in _CODES)
        raise InvalidArgument(f"no integer has the codes {low} to {high}, as {what} are to have", "", known)
    return found


def _weight(is_per_channel: bool, low: int, high: int) -> str:
    name, narrow = _codes(low, high, "weights")
    return f"{name} sym {'channel' if is_per_channel else 'tensor'}" + ("" if narrow else " full")


@checked
def get_symmetric_quantization_config(is_per_channel: bool = True, is_qat: bool = False, is_dynamic: bool = False,
                                      act_qmin: int = -128, act_qmax: int = 127, weight_qmin: int = -127,
                                      weight_qmax: int = 127) -> QuantizationConfig:
    """8-bit weights around zero, 8-bit activations from end to end: the main config of Arm's quantizers.

    >>> anybit.get_symmetric_quantization_config().weight
    'int8 sym channel'
    >>> anybit.get_symmetric_quantization_config(is_per_channel=False, is_dynamic=True).scheme()
    {'weight': 'int8 sym tensor', 'data_in': 'int8 asym dynamic', 'data_out': 'int8 asym dynamic'}
    """
    _check_qat(is_qat)
    name, narrow = _codes(act_qmin, act_qmax, "activations")
    data = f"{name} {'sym' if narrow else 'asym'}" + (" dynamic" if is_dynamic else "")
    return QuantizationConfig(data, data, _weight(is_per_channel, weight_qmin, weight_qmax))


@checked
def get_symmetric_a16w8_quantization_config(is_per_channel: bool = True, is_qat: bool = False, is_dynamic: bool = False,
                                            weight_qmin: int = -127, weight_qmax: int = 127) -> QuantizationConfig:
    """16-bit activations around zero, 8-bit weights ("16x8").

    >>> anybit.get_symmetric_a16w8_quantization_config().input_activation
    'int16 sym'
    """
    _check_qat(is_qat)
    data = "int16 sym" + (" dynamic" if is_dynamic else "")
    return QuantizationConfig(data, data, _weight(is_per_channel, weight_qmin, weight_qmax))


def _check_qat(is_qat: bool) -> None:
    if is_qat:
        from .errors import Unsupported

        raise Unsupported("training with quantization is not there yet", "", "quantize after training: qat=False")


def scheme_of(config: Config) -> Any:
    """A config as it stands in a recipe."""
    if isinstance(config, QuantizationConfig):
        return config.scheme()
    if config is None:
        return "float"
    if isinstance(config, (str, Mapping)):
        return config
    raise InvalidArgument(f"{type(config).__name__} is no config", "",
                          "None (float), the name of a preset, a dict of parts, or a QuantizationConfig")
