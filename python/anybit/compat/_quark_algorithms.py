"""The algorithms of Quark's ``algo_config`` as refinements (docs/recipes.md#refinements)."""

from __future__ import annotations

from typing import Any, Optional

from ..errors import InvalidArgument


class AlgoConfig:
    """The base of the algorithms."""

    def _refinements(self) -> list[Any]:
        raise NotImplementedError

    def _weights(self) -> Optional[str]:
        """The weights of MatMul and Gemm, where the algorithm chooses them."""
        return None


class SmoothQuantConfig(AlgoConfig):
    """SmoothQuant: ``smooth`` with this ``alpha``."""

    def __init__(self, alpha: float = 0.5):
        if not 0 < alpha <= 1:
            raise InvalidArgument(f"SmoothQuantConfig: alpha={alpha}", "", "above 0, at most 1")
        self.name, self.alpha = "smooth_quant", alpha

    def _refinements(self) -> list[Any]:
        return [{"smooth": {"alpha": self.alpha}}]


class CLEConfig(AlgoConfig):
    """Cross-layer equalization: ``equalize``, which runs until it converges and balances maxima. The other settings change nothing."""

    def __init__(self, cle_balance_method: str = "max", cle_steps: int = 1, cle_weight_threshold: float = 0.5,
                 cle_scale_append_bias: bool = True, cle_scale_use_threshold: bool = True, cle_total_layer_diff_threshold: float = 1.9e-7):
        if cle_balance_method != "max":
            raise InvalidArgument(f"CLEConfig: cle_balance_method={cle_balance_method!r}", "", "'max'")
        self.name, self.cle_balance_method, self.cle_steps = "cle", cle_balance_method, cle_steps
        self.cle_weight_threshold, self.cle_scale_append_bias = cle_weight_threshold, cle_scale_append_bias
        self.cle_scale_use_threshold, self.cle_total_layer_diff_threshold = cle_scale_use_threshold, cle_total_layer_diff_threshold

    def _refinements(self) -> list[Any]:
        return ["equalize"]


class BiasCorrectionConfig(AlgoConfig):
    """Bias correction: ``bias-correction``."""

    def __init__(self) -> None:
        self.name = "bias_correction"

    def _refinements(self) -> list[Any]:
        return ["bias-correction"]


class GPTQConfig(AlgoConfig):
    """GPTQ: ``gptq``, and ``range-search`` with ``mse``. It chooses the width of the weights of MatMul and Gemm. ``block_size`` changes no result."""

    def __init__(self, bits: int = 8, block_size: int = 128, group_size: int = -1, perc_damp: float = 0.01, act_order: bool = False,
                 per_channel: bool = False, mse: bool = False, weight_symmetric: bool = True):
        if not 2 <= bits <= 8:
            raise InvalidArgument(f"GPTQConfig: bits={bits}", "", "2 to 8")
        self.name, self.bits, self.block_size, self.group_size = "gptq", bits, block_size, group_size
        self.perc_damp, self.act_order, self.per_channel = perc_damp, act_order, per_channel
        self.mse, self.weight_symmetric = mse, weight_symmetric

    def _refinements(self) -> list[Any]:
        return [*(["range-search"] if self.mse else []), {"gptq": {"damp": self.perc_damp, "act_order": self.act_order}}]

    def _weights(self) -> Optional[str]:
        grouped = f"block {self.group_size}" if self.group_size > 0 else "channel" if self.per_channel else "tensor"
        return f"int{self.bits} {'sym' if self.weight_symmetric else 'asym'} {grouped}"


class AWQConfig(AlgoConfig):
    """AWQ: ``smooth`` without inserted nodes. Which layers belong together follows from the model, not from the settings."""

    def __init__(self, scaling_layers: Any = None, model_decoder_layers: Any = None, **_: Any):
        self.name, self.scaling_layers, self.model_decoder_layers = "awq", scaling_layers, model_decoder_layers

    def _refinements(self) -> list[Any]:
        return [{"smooth": {"insert": False}}]


class AdaRoundConfig(AlgoConfig):
    """AdaRound's objective for a layer, by coordinate descent on XᵀX: ``gptq``. The settings of its training change nothing."""

    def __init__(self, **settings: Any):
        self.name, self.settings = "adaround", settings

    def _refinements(self) -> list[Any]:
        return ["gptq"]


def refinements(algorithms: Optional[list[AlgoConfig]]) -> list[Any]:
    """All of them in a list for ``refine``; "none" for none."""
    for one in algorithms or ():
        if not isinstance(one, AlgoConfig):
            raise InvalidArgument(f"algo_config has a {type(one).__name__}", "", ", ".join(kind.__name__ for kind in AlgoConfig.__subclasses__()))
    return [refinement for one in algorithms or () for refinement in one._refinements()] or ["none"]
