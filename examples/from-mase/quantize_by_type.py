"""MASE's example of quantization: a module in, the quantized model out. Only the imports are other ones.

    python examples/from-mase/quantize_by_type.py [MODEL.onnx]

Without a model it takes a module of torch, as in MASE.
"""
import sys

import numpy as np

from anybit.compat.mase import (MaseGraph, add_common_metadata_analysis_pass, init_metadata_analysis_pass, quantize_transform_pass,
                                summarize_quantization_analysis_pass)


def module():
    import torch

    class MLP(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = torch.nn.Linear(28 * 28, 64)
            self.fc2 = torch.nn.Linear(64, 10)

        def forward(self, x):
            x = torch.flatten(x, start_dim=1)
            return self.fc2(torch.relu(self.fc1(x)))

    return MLP(), {"x": torch.randn(1, 28, 28)}


def quantized(mlp, dummy_in):
    mg = MaseGraph(model=mlp)
    mg, _ = init_metadata_analysis_pass(mg, {})
    mg, _ = add_common_metadata_analysis_pass(
            mg, {"dummy_in": dummy_in, "add_value": False}
    )
    # Sanity check and report
    # mg = verify_common_metadata_analysis_pass(mg)
    quan_args = {
            "by": "type",
            "default": {"config": {"name": None}},
            "linear": {
                    "config": {
                            "name": "integer",
                            # data
                            "data_in_width": 8,
                            "data_in_frac_width": 4,
                            # weight
                            "weight_width": 8,
                            "weight_frac_width": 4,
                            # bias
                            "bias_width": 8,
                            "bias_frac_width": 4,
                    }
            },
    }
    mg, _ = quantize_transform_pass(mg, quan_args)
    return mg


def main():
    if len(sys.argv) > 1:
        mlp, dummy_in = sys.argv[1], {"image": np.zeros((1, 1, 28, 28), np.float32)}
    else:
        mlp, dummy_in = module()
    mg = quantized(mlp, dummy_in)
    summarize_quantization_analysis_pass(mg, {"save_dir": None, "original_graph": None})
    result = mg.model(*dummy_in.values())
    print(type(result).__name__, tuple(result.shape))


if __name__ == "__main__":
    main()
