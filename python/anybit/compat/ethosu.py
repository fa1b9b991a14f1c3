"""The quantizer of Arm's Ethos-U backend of ExecuTorch.

What a script changes is where it imports from:

>>> from anybit.compat.ethosu import EthosUCompileSpec, EthosUQuantizer, get_symmetric_quantization_config
>>> quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128"))
>>> quantizer.set_global(get_symmetric_quantization_config())
EthosUQuantizer(target='ethos-u55-128'): global
>>> quantized = quantizer.quantize_with_submodules(digits, [(image[None],) for image in images[:10]])
>>> quantized.metadata["anybit.target"], quantized(images[:2]).shape
('ethos-u55-128', (2, 10))

Models are GraphModules, exported programs, modules or ONNX models; results are ``anybit.Model`` objects that can be called.
docs/from-arm.md has the differences.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

from .. import _anybit, _config
from .._checks import checked
from .._config import QuantizationConfig
from .._model import Model, Source
from .._quantizer import Quantizer
from .._samples import Samples
from .._torch import CallableModel
from ..errors import InvalidArgument, Unsupported

__all__ = ["EthosUCompileSpec", "EthosUQuantizer", "QuantizationConfig", "get_symmetric_a16w8_quantization_config",
           "get_symmetric_quantization_config"]

_EPS, _EPS_OF_16_BITS = 2**-16, 2**-12  # the smallest scales, of 8 and of 16 bits, that ExecuTorch allows by default


class _Defaults(NamedTuple):
    """Vela's options for a system where the caller gives none."""

    system_config: str
    memory_mode: str


_DEFAULTS = {"ethos-u55": _Defaults("Ethos_U55_High_End_Embedded", "Shared_Sram"),
             "ethos-u65": _Defaults("Ethos_U65_High_End", "Dedicated_Sram_384KB"),
             "ethos-u85": _Defaults("Ethos_U85_SYS_DRAM_Mid", "Sram_Only")}


class EthosUCompileSpec:
    """The hardware that a model is quantized for.

    Parameters
    ----------
    target : "ethos-u55-128", …: ``anybit.targets()``.
    system_config, memory_mode : names in Vela's configuration; None for the defaults of the target. The quantized model
        carries them in its metadata.
    extra_flags, config_ini : of Vela. anybit does not run it; ``compiler_flags`` has the whole list.
    external_block_placements : not supported: it describes a .pte file.

    >>> EthosUCompileSpec("ethos-u85-256").compiler_flags
    ['--accelerator-config=ethos-u85-256', '--config=Arm/vela.ini', '--output-format=raw', \
'--system-config=Ethos_U85_SYS_DRAM_Mid', '--memory-mode=Sram_Only']
    """

    @checked
    def __init__(self, target: str, system_config: Optional[str] = None, memory_mode: Optional[str] = None,
                 extra_flags: Optional[Sequence[str]] = None, config_ini: Optional[str] = "Arm/vela.ini",
                 external_block_placements: Any = None):
        self.target = target.lower()
        defaults = next((one for name, one in _DEFAULTS.items() if self.target.startswith(name)), None)
        if defaults is None:
            raise InvalidArgument(f"'{target}' is not an Ethos-U", "", "ethos-u55-128, ethos-u65-256, ethos-u85-256, …")
        _anybit.target_recipe(self.target)  # raises if the target does not exist
        if external_block_placements is not None:
            raise Unsupported("anybit writes no .pte file with blocks to place", "", "external_block_placements=None")
        self.system_config = system_config or defaults.system_config
        self.memory_mode = memory_mode or defaults.memory_mode
        self.compiler_flags = [*(extra_flags or []), f"--accelerator-config={self.target}",
                               f"--config={config_ini or 'Arm/vela.ini'}", "--output-format=raw",
                               f"--system-config={self.system_config}", f"--memory-mode={self.memory_mode}"]

    def __repr__(self) -> str:
        return f"EthosUCompileSpec({self.target!r}, {self.system_config!r}, {self.memory_mode!r})"


class EthosUQuantizer(Quantizer):
    """Collects rules like ``anybit.Quantizer``, and quantizes for the hardware of a compile spec."""

    @checked
    def __init__(self, compile_spec: EthosUCompileSpec):
        super().__init__(compile_spec.target)
        self.compile_spec = compile_spec

    @checked
    def transform_for_annotation(self, model: Source) -> Model:
        """Prepares the model for quantization: folds constants and normalizations."""
        return CallableModel.of(super().transform_for_annotation(model))

    @checked
    def quantize(self, model: Source, calibration: Samples = None, qat: Union[bool, Mapping[str, Any]] = False, **options: Any) -> Model:
        """Quantizes the model according to the rules. Options are those of ``anybit.quantize``."""
        with tempfile.TemporaryDirectory(prefix="anybit-") as folder:
            return CallableModel.of(self._quantize_for(self._written(Path(folder)), model, calibration, qat, options))

    def _written(self, folder: Path) -> str:
        """The hardware as the file of a target."""
        spec = {"target": self.target, "system_configuration": self.compile_spec.system_config,
                "memory_mode": self.compile_spec.memory_mode}
        path = folder / "target.yaml"
        path.write_text(json.dumps(spec))
        return str(path)

    @checked
    def quantize_with_submodules(self, model: Source, calibration_samples: Samples, is_qat: bool = False) -> Model:
        """The same as ``quantize``: conditional submodules are part of the model.

        ``calibration_samples`` are tuples of inputs; each branch needs one that enters it.
        """
        return self.quantize(model, calibration_samples, is_qat)

    def __repr__(self) -> str:
        return "EthosU" + super().__repr__()


@checked
def get_symmetric_quantization_config(is_per_channel: bool = True, is_qat: bool = False, is_dynamic: bool = False,
                                      act_qmin: int = -128, act_qmax: int = 127, weight_qmin: int = -127,
                                      weight_qmax: int = 127, eps: float = _EPS) -> QuantizationConfig:
    """Symmetric 8-bit weights and asymmetric 8-bit activations.

    >>> get_symmetric_quantization_config(is_per_channel=False).scheme()
    {'weight': 'int8 sym tensor', 'data_in': 'int8 asym', 'data_out': 'int8 asym'}
    """
    _check_smallest_scale(eps, _EPS, "eps")
    return _config.get_symmetric_quantization_config(is_per_channel, is_qat, is_dynamic, act_qmin, act_qmax, weight_qmin,
                                                     weight_qmax)


@checked
def get_symmetric_a16w8_quantization_config(is_per_channel: bool = True, is_qat: bool = False, is_dynamic: bool = False,
                                            weight_qmin: int = -127, weight_qmax: int = 127,
                                            epsilon: float = _EPS_OF_16_BITS) -> QuantizationConfig:
    """Symmetric 16-bit activations and 8-bit weights ("16x8").

    >>> get_symmetric_a16w8_quantization_config().scheme()
    {'weight': 'int8 sym channel', 'data_in': 'int16 sym', 'data_out': 'int16 sym'}
    """
    _check_smallest_scale(epsilon, _EPS_OF_16_BITS, "epsilon")
    return _config.get_symmetric_a16w8_quantization_config(is_per_channel, is_qat, is_dynamic, weight_qmin, weight_qmax)


def _check_smallest_scale(given: float, default: float, name: str) -> None:
    if given != default:
        raise Unsupported(f"{name}={given}: scales are as small as the values need", "", f"{name}={default}")
