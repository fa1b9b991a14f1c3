"""AMD Quark's operators as C: the same bits as in the runtime."""
import numpy as np
from onnx import TensorProto, helper
from support.executing import Executor
from support.generating import compile_all, generate
from support.uses import hard_values, with_nonfinite

SHAPES = [(3, 40), (2, 5, 19), (17,), (1, 1)]
OPERATORS = {
    "mx_int8_even": ("MXQuantizeDequantize", dict(rounding_mode=2)),
    "mx_int8_away": ("MXFixNeuron", dict(rounding_mode=0, block_size=8)),
    "mx_int8_up": ("MXQuantizeDequantize", dict(rounding_mode=1, axis=0)),
    "mx_fp4": ("MXQuantizeDequantize", dict(element_dtype="fp4_e2m1", block_size=16)),
    "mx_fp8": ("MXFixNeuron", dict(element_dtype="fp8_e4m3")),
    "bfp16": ("BFPQuantizeDequantize", dict()),
    "bfp16_even": ("BFPFixNeuron", dict(rounding_mode=2, axis=0)),
    "bfp_compiler": ("BFPQuantizeDequantize", dict(use_compiler_version_cpu_kernel=1)),
    "bfp_wide": ("BFPQuantizeDequantize", dict(bit_width=24, rounding_mode=1)),
    "bfp_prime": ("BFPQuantizeDequantize", dict(bfp_method="to_bfp_prime", bit_width=13, block_size=16)),
    "bfp_prime_deep": ("BFPFixNeuron", dict(bfp_method="to_bfp_prime", sub_block_size=4, sub_block_shift_bits=3)),
    "bfp_bfloat16": ("BFPQuantizeDequantize", dict(bit_width=24, convert_to_bfloat_before_bfp=1)),
}


def model_of(op, attributes, shape):
    domain = "com.vai.quantize" if op.endswith("FixNeuron") else "com.amd.quark"
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], domain=domain, **attributes)], "one", ports[:1], ports[1:])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)])


def test_generated_code_has_the_bits_of_the_runtime(tmp_path):
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    models = {f"{name}_{i}": model_of(op, attributes, shape) for name, (op, attributes) in OPERATORS.items() for i, shape in enumerate(SHAPES)}
    for name, model in models.items():
        generate(model, tmp_path / f"{name}.c")
    programs = compile_all(list(models), tmp_path)
    for name, model in models.items():
        shape = SHAPES[int(name[-1])]
        for x in (hard_values(rng, shape), np.float32(rng.standard_normal(shape)), with_nonfinite(rng, np.float32(rng.standard_normal(shape)))):
            [right] = Executor(model.SerializeToString()).run({"x": x})
            [made] = programs[name].run([x], [right])
            same = (made.view(np.uint32) == right.view(np.uint32)) | (np.isnan(made) & np.isnan(right))
            assert same.all(), f"{name}: {x[~same][:4]} became {made[~same][:4]}, not {right[~same][:4]}"
