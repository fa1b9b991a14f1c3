"""Quantizes a model by NNCF or by ONNX Runtime's tools, and prints the seconds that the tool itself takes, of the clock and of the CPU.

    python bench/refine_peer.py nncf|onnxruntime MODEL SAMPLES RECIPE OUT

SAMPLES is a folder of .npz with one sample each. The recipes are those of anybit that the tool has a counterpart of.
"""
import logging
import pathlib
import sys
import time

import numpy as np
import onnx

logging.disable(logging.WARNING)


def samples_in(folder):
    """Feeds by input name."""
    return [{name: value[0] for name, value in np.load(path).items()} for path in sorted(pathlib.Path(folder).glob("*.npz"))]


def by_nncf(model, samples, recipe):
    import nncf
    from nncf.quantization.advanced_parameters import QuantizationParameters

    data = nncf.Dataset(samples)
    if recipe in ("int8", "int8-per-tensor"):
        parameters = nncf.AdvancedQuantizationParameters(
            weights_quantization_params=QuantizationParameters(per_channel=recipe == "int8"))
        return nncf.quantize(model, data, subset_size=len(samples), preset=nncf.QuantizationPreset.MIXED, advanced_parameters=parameters)
    if recipe == "w4":
        return nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT4_SYM, group_size=32, all_layers=True, dataset=data,
                                     subset_size=len(samples), gptq=True, scale_estimation=True, awq=True)
    raise SystemExit(f"NNCF has no {recipe}")


def by_onnxruntime(model, samples, recipe, out):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = iter(samples)

        def get_next(self):
            return next(self.left, None)

    if recipe in ("int8", "int8-per-tensor"):
        quantize_static(model, out, Reader(), quant_format=QuantFormat.QDQ, per_channel=recipe == "int8", activation_type=QuantType.QInt8,
                        weight_type=QuantType.QInt8)
        return onnx.load(out)
    if recipe == "w4":
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        quantizer = MatMulNBitsQuantizer(model, block_size=32, is_symmetric=True)
        quantizer.process()
        return quantizer.model.model
    raise SystemExit(f"ONNX Runtime has no {recipe}")


def main():
    tool, model, folder, recipe, out = sys.argv[1:]
    if tool == "nncf":
        import nncf  # noqa: F401: its import does not count
    else:
        import onnxruntime.quantization  # noqa: F401
    loaded, samples = onnx.load(model), samples_in(folder)
    begin, cpu = time.perf_counter(), time.process_time()
    made = by_nncf(loaded, samples, recipe) if tool == "nncf" else by_onnxruntime(loaded, samples, recipe, out)
    print(f"{time.perf_counter() - begin:.3f} {time.process_time() - cpu:.3f}")
    onnx.save(made, out)


if __name__ == "__main__":
    main()
