"""Texts and names use the field's words: this test looks for anybit's older words in all tracked files.

docs/glossary.md gives the older words with the terms. A pattern is case-insensitive where the word may open a sentence; it is
precise enough that legitimate uses do not match. Where a pattern matches something else, the place is listed with the reason.
"""

import re
from typing import NamedTuple

import pytest

from support.tree import text_of, tracked

# CHANGELOG.md is history; docs/glossary.md lists the older words; the rest is written by tools.
EXCLUDED = ("CHANGELOG.md", "docs/glossary.md", "tests/rules/test_words.py", "web/package-lock.json", "web/report.html", "LICENSE")
SENTENCES = {"bench/accuracy/sentences.txt": "sentences of a test set, about anything"}


class Word(NamedTuple):
    """A word not to use. `allowed`: where it stays (a file, or a folder with a slash at its end), with the reason."""

    name: str
    pattern: str
    write: str
    allowed: dict = {}


def word(*alternatives):
    """Complete words, in text and as parts of snake_case names; a text may be wrapped between two words."""
    wrapped = re.sub(r"(?<=[\w)?]) (?=[\w(])", lambda _: r"\s+(?:(?://+|#|\*) )?", "|".join(alternatives))
    return rf"(?i:(?<![A-Za-z])(?:{wrapped})(?![A-Za-z]))"


CODECS = {
    "src/formats/": "number formats: a code is the bit pattern of a value",
    "src/kernels/codec/": "encodes, decodes and packs the codes of formats",
    "src/portable/": "ONNX functions that decode the codes of formats",
    "tests/formats/": "codecs against references",
    "tests/portable/": "portable functions against codecs",
    "tests/unit/formats/": "codecs of formats",
    "docs/formats.md": "defines the codes of every format",
}
# Files outside the codec folders that handle codes of formats, which are not quantized integers.
CODEC_USERS = {
    "bench/bench_packed.py": "packed weights in any format",
    "cli/format_example.cpp": "`anybit formats` shows codes",
    "cli/format_example.hpp": "`anybit formats` shows codes",
    "cli/format_json.cpp": "`anybit formats` shows codes",
    "cli/format_text.cpp": "`anybit formats` shows codes",
    "cli/quantized_file.cpp": "files of packed codes; `codes` is the name of an array in them",
    "cli/quantized_file.hpp": "files of packed codes; `codes` is the name of an array in them",
    "cli/widened.cpp": "decodes 8-bit floats",
    "docs/codegen.md": "the input `codes` of TableDecode",
    "docs/portable.md": "the input `codes` of functions",
    "docs/speed.md": "packed weights in any format",
    "include/anybit/formats.hpp": "the public codec API",
    "plugins/c-gen/ops/matmul_nbits.cpp": "packed weights of MatMulNBits",
    "plugins/c-gen/ops/table_decode.cpp": "packed weights in any format",
    "plugins/c-gen/packed_tensor.cpp": "packed weights in any format",
    "plugins/c-gen/table_codes.hpp": "packed weights in any format",
    "scripts/compare_onert.py": "the name of a function of tflite",
    "python/anybit/_arrays.py": "the public codec API",
    "python/anybit/_formats.py": "the public codec API",
    "python/bindings/formats.cpp": "the public codec API",
    "src/api/tensor_format.cpp": "the public codec API",
    "src/images/png.cpp": "codes of deflate (RFC 1951)",
    "src/base/zip.cpp": "codes of deflate (RFC 1951)",
    "src/kernels/gemm/gemm_dynamic_int8.cpp": "B is packed in any format",
    "src/kernels/gemm/gemm_dynamic_int8.hpp": "B is packed in any format",
    "src/kernels/gemm/gemm_dynamic_int8_simd.cpp": "B is packed in any format",
    "src/kernels/gemm/gemm_packed.cpp": "B is packed in any format",
    "src/kernels/gemm/gemm_packed.hpp": "B is packed in any format",
    "src/kernels/gemm/gemm_packed_avx512.cpp": "B is packed in any format",
    "src/kernels/gemm/gemm_packed_avx512.hpp": "B is packed in any format",
    "src/kernels/gemm/gemm_packed_simd.cpp": "B is packed in any format",
    "src/kernels/gemm/packed_weights.cpp": "B is packed in any format",
    "src/kernels/gemm/packed_weights.hpp": "B is packed in any format",
    "src/lower/linear.cpp": "maps the codes of a format to values of an ONNX type",
    "src/lower/qdq.cpp": "`_codes` ends the names of packed initializers",
    "src/lower/standard.cpp": "ONNX types with the codes of a format",
    "src/ops/convert.cpp": "8- and 4-bit floats",
    "src/ops/convert.hpp": "8- and 4-bit floats",
    "src/ops/matmul/decode_matmul.cpp": "packed weights in any format",
    "src/ops/matmul/dequantize_matmul.cpp": "packed weights, integers or small floats",
    "src/ops/matmul/matmul_nbits.cpp": "packed weights of MatMulNBits",
    "src/ops/matmul/packed_gemm.cpp": "packed weights in any format",
    "src/ops/matmul/packed_gemm.hpp": "packed weights in any format",
    "src/ops/number.hpp": "6- and 4-bit floats",
    "src/ops/quantized/decode.cpp": "packed weights in any format",
    "src/ops/quantized/packed_tensor.cpp": "packed weights in any format",
    "src/ops/quantized/packed_tensor.hpp": "packed weights in any format",
    "src/ops/quantized/table_decode.cpp": "packed weights in any format",
    "src/ops/small_float.cpp": "8- and 4-bit floats",
    "src/quantize/dequantize.cpp": "packed weights in any format",
    "src/quantize/parameters.hpp": "floating-point formats",
    "src/runtime/fuse_table_decode.cpp": "packed weights in any format",
    "tests/e2e/test_formats_cli.py": "`anybit formats` shows codes",
    "tests/python/test_python_formats.py": "the public codec API",
    "tests/quantize/test_direct_presets.py": "`_codes` ends the names of packed initializers",
    "tests/runtime/test_binary.py": "packed weights in a format",
    "tests/runtime/test_packed.py": "packed weights in any format",
    "tests/support/library_codecs.py": "codecs",
    "tests/support/peers.py": "8- and 4-bit floats of other libraries",
    "tests/support/portable_functions.py": "functions that decode codes",
    "tests/support/reference_block.py": "the exact reference of block formats",
    "tests/support/reference_scalar.py": "the exact reference of formats without blocks",
    "tests/unit/api/tensor_format_test.cpp": "the public codec API",
    "tests/unit/base/npy_test.cpp": "files of packed codes",
    "tests/unit/codegen/table_decode_test.cpp": "packed weights in any format",
    "tests/unit/kernels/fast_kernel_test.cpp": "codecs against references",
    "tests/unit/kernels/gemm_cases.hpp": "B is packed in any format",
    "tests/unit/kernels/gemm_dynamic_int8_test.cpp": "B is packed in any format",
    "tests/unit/kernels/gemm_packed_test.cpp": "B is packed in any format",
    "tests/unit/kernels/naive_tensor.hpp": "a naive codec",
    "tests/unit/kernels/packing_test.cpp": "packing of codes",
    "tests/unit/kernels/tensor_codec_test.cpp": "codecs of tensors",
}
ALIASES = {
    "docs/python.md": "lists the aliases",
    "docs/report.md": "lists the aliases",
    "include/anybit/report.hpp": "the keys of earlier versions",
    "python/anybit/_compare.py": "documents the aliases",
    "python/anybit/_formats.py": "documents the aliases",
    "python/anybit/_report.py": "documents the aliases",
    "python/bindings/comparison.cpp": "the aliases",
    "python/bindings/formats.cpp": "the aliases",
    "python/bindings/quantization.cpp": "the aliases",
    "tests/python/test_python_quantize.py": "tests the aliases",
    "tests/quantize/test_bias_correction.py": "tests the aliases",
    "tests/support/aliases.py": "tests the aliases",
    "web/src/data.ts": "reads reports of earlier versions",
}
OPERATOR = "a linear operator (Conv, MatMul, Gemm), a GEMM, or its node or work"

WORDS = (
    # Products of a network. Products in mathematics stay: of sizes, sums of products, dot products, the result of Mul.
    Word("product: a node or the work of a GEMM", r"(?:Node|Step|Layer|Work|MatMul|Linear)[&*>]* products?_?\b(?!\()", OPERATOR),
    Word("product: its members", r"(?<![.\w])products?_?(?:\.|->)[a-z_]+\b(?!\.)", OPERATOR),
    Word("product: a name", word("(?:is|emit|dynamic|matrix|saturating|binary|dot4|gemm|conv|behind|after|before|between)_products?",
                                 "products?_(?:of|name|case|fan|node)",
                                 r"(?<=def )products?", r"(?<=[\"'])products?(?:_\w+)?(?=[\"'])") + r"|\bkProducts\b|\bPRODUCTS\b", OPERATOR),
    Word("Product: a type", r"(?<!Largest)(?<!Quantized)\bProduct\b(?= \w+[,({;]| \{)|\bProduct::", OPERATOR,
         {"src/ops/reduce/reduce.cpp": "ReduceProd multiplies"}),
    Word("products of a network", word(
        r"matrix[- ]products?",
        r"products? (?:of|by|with) (?:(?:a|the|two|packed|quantized|large) )?(?:matri\w+|signs?|integers|codes|networks?|weights?|models?)",
        r"(?:inputs?|outputs?|bias(?:es)?|chains?|weights?|epilogues?) of (?:a |the |each |every )?(?:linear )?products?(?! of)",
        r"(?:before|after|behind|follows?|beside|into|each|every|other) (?:a |the |each )?products?(?! (?:of|in|is|as))"), OPERATOR),
    # Integers.
    Word("whole numbers", word("whole[ _-]?numbers?", "is_whole", "are_whole"), "integer; a file is intact, a node complete"),
    Word("whole: int8", word("(?:gemm|conv|matmul)[ _]whole", "whole_(?:gemm|conv|matmul|tiles|once)"), "int8, integer"),
    Word("whole: an integer", r"\b(?:VI|VF|wide_ints|u?int8_t|u?int16_t|u?int32_t) whole\b|(?<!\w)whole\((?=values|from|json|object)"
         r"|\.whole\b(?!\.(?:low|high|json)|,)|Kind::whole", "integer",
         {"plugins/c-gen/packed_tensor.cpp": "the part of a row that fills vectors", "plugins/c-gen/parts.cpp": "whole and half ranges",
          "examples/cifar/train.py": "whole images"}),
    # Instruction sets and kernels.
    Word("quads", word("quads?", "add_quads"), "dot4; VNNI for the instructions"),
    Word("wide: AVX-512", word("wide_(?:gemm|tiles?|kernels?|targets?|lanes|simd)", "(?:gemm|conv|simd|packed)_wide",
                                 "anybit_(?:pin_)?wide(?:_inline)?"), "_avx512"),
    Word("halves: float16", r"\bHALVES\b|_HALVES_|" + word("halves_simd", "halves_(?:test|cases)", r"(?:bfloat16|float16|half-precision) halves",
         r"halves (?:of|in|to|from|and) (?:float|bfloat|16)\w*"), "float16 and bfloat16"),
    Word("relay", word("relays?", "relay_out", "relaid"), "layout transform, transpose"),
    Word("ladder", word("ladders?"), "threshold codec"),
    Word("rounded codes", word("rounded[ _]codes?") + "|RoundedCodes", "dynamic int8 GEMM"),
    # Quantized values.
    Word("coded", word(r"(?<![\"`])(?:un)?coded(?![\"`=])") + r"|\bCoded(?!Stream|InputStream)[A-Z]\w*", "packed, quantized, stored in a format", {
        "docs/calibration.md": "Huffman-coded", **{path: "the attribute `coded` of Decode and TableDecode" for path in (
            "docs/codegen.md", "docs/portable.md", "plugins/c-gen/ops/table_decode.cpp", "src/ops/quantized/packed_tensor.cpp",
            "src/ops/quantized/table_decode.cpp", "src/portable/portable.cpp",
            "tests/portable/portable_library.cpp")},
        "src/io/onnx/split.cpp": "a header of protobuf"}),
    Word("codes", r"(?i:(?<![A-Za-z])(?<!error )(?<!error_)(?<!exit )(?<!status )(?<!return )codes(?![A-Za-z]))"
         r"|[a-z]Codes(?![a-z])|(?<![a-z])Codes(?=[A-Z]|\b)",
         "quantized values, integers; for weights in any format: packed", {
             **CODECS, **CODEC_USERS,
             "include/anybit/result.hpp": "error codes", "tests/e2e/test_calibrate_cli.py": "exit codes",
             "src/tflite/": "operator codes: the name of a table in the published schema",
             "tests/support/tflite_files.py": "the same", "tests/tflite/test_tflite_files.py": "the same"}),
    Word("codes of integers", word(r"(?:u?int(?:8|16|32)|integers?|activation|signed) codes"), "quantized values, integers"),
    # Refinements.
    Word("keep sums", word("keep[ _]sums?", "keeps (?:the )?sums", "sums[ _]kept", "kept sums") + "|KeepSums", "sum-preserving rounding"),
    # Older keys of JSON reports and attributes of Python objects stay as aliases.
    Word("older keys", word("means_kept", "moved_for_sums", "signal_to_noise(?:_db)?"), "bias_corrected_layers, rounded_for_sums, sqnr", ALIASES),
    Word("keep means", word("keep[ _]means?", "keeps (?:the )?means", "kept by the bias(?:es)?", "kept means") + "|KeepMeans", "bias correction"),
    # Formats and schemes.
    Word("signs: binary", word("(?:binary|two|of|by|weight|packed)[ _]signs(?! (?:of|give|at))", "signs (?:by|times) signs") + "|TwoSigns",
         "binary (±1); residual binary"),
    Word("from end to end", word("from end to end"), "asymmetric (min–max)"),
    Word("around zero", word("around[ _-]zero"), "symmetric"),
    Word("along the sum", word("along (?:the|a|its|each) sums?", "axis that is summed over"), "along the reduction axis"),
    Word("implicit leading bit", word("hidden[ _]one"), "implicit leading bit"),
    # Outcomes of nodes, and reports.
    Word("outcomes", r"(?<![-\w])[\"'](?:moves|inside|between quantized)[\"']", "pass-through, fused, between Q and DQ",
         {"tests/web/test_report.py": "makes a report of an earlier version"}),
    Word("loses most", word("(?:loses|adds|lose|add) (?:the )?most"), "lowest SQNR, largest SQNR drop"),
    Word("pictures", word("pictures?"), "images", SENTENCES),
    Word("told in words", word("(?:is|are|tensor|spec|values?|named|given|written|told|said) in words"), "shorthand"),
    Word("small errors grow", word("errors? grows?(?: in)?", "small errors grow\\w*"), "numerically sensitive operator"),
    Word("what makes it", word("what (?:makes|made) (?:it|them|one)", "whoever", "whosoever", "what follows? (?:it|them|takes)", "of no number"),
         "the producer, the inferred type, the caller, NaN"),
    # Sentences.
    Word("is told", word("(?:is|are|was|were|be|being|been) told", "tells? (?:that|the|its|their|itself|themselves|what|which|how)",
                         "told (?:apart|otherwise)"), "is reported, says, is given", SENTENCES),
    Word("bears", word("(?:does|do|can|could|will|would) (?:not )?bear", "bears"), "supports, tolerates"),
    Word("worlds", word("(?:of|from|in) other worlds", "other worlds?"), "of other frameworks"),
    Word("made up", word("(?:are|is|were|of|that) made[- ]up(?! of)", "made[- ]up (?:values?|data|samples?|inputs?)"), "synthetic, random"),
    Word("no kind of file", word("(?:no|a) kind of files?(?! system)"), "unsupported file type"),
    Word("taken for chance", word("taken for chance", "matter of chance", "the weights tell", "left alone by ONNX Runtime"), "within noise, random"),
    Word("kin", word("and (?:its|their) kin", "(?<!ours )and theirs"), "and related operators"),
)


def files():
    return [path for path in tracked() if path not in EXCLUDED and text_of(path) is not None]


def allowed(path, places):
    return any(path == place or (place.endswith("/") and path.startswith(place)) for place in places)


def findings(entry):
    pattern = re.compile(entry.pattern)
    return [f"{path}:{text_of(path).count(chr(10), 0, found.start()) + 1}: {found[0]!r}" for path in files()
            if not allowed(path, entry.allowed) for found in pattern.finditer(text_of(path))]


@pytest.mark.parametrize("entry", WORDS, ids=lambda entry: entry.name)
def test_the_field_has_a_word_for_it(entry):
    assert findings(entry) == [], f"write: {entry.write}"


@pytest.mark.parametrize("entry", WORDS, ids=lambda entry: entry.name)
def test_an_allowed_place_still_needs_it(entry):
    pattern = re.compile(entry.pattern)
    used = {path for path in files() if allowed(path, entry.allowed) and pattern.search(text_of(path))}
    assert [place for place in entry.allowed if not any(allowed(path, (place,)) for path in used)] == []


@pytest.mark.parametrize("text", [
    "for (const Node& product : products) weights.push_back(product.inputs[1]);", "enum class Product { none, matrices };", "matrix products",
    "kept by the biases of 7 products", "Products of matrices", "#include gemm_whole.hpp", "whole numbers", "dot products of quads",
    "wide_gemm", "ANYBIT_WIDE void f()", "halves_simd.cpp", "relay.cpp", "a ladder of thresholds", "rounded_codes", "annotate_coded(",
    "the weight is coded", "int8 codes", "QuantizeCodes", "keep_sums", "keep_means", "keeps means", "two signs",
    "from end to end", "around zero", "along the sum", "along the\n// sum", '"moves"', "loses most",
    "adds most", "pictures", "a tensor is told in words", "small errors grow in it", "hidden one",
    "what makes it gives", "the result is\n/// told", "does not bear 8 bits", "those of other worlds", "made up values", "Of values that are made up",
    "this is no kind of file that holds samples", "taken for chance", "For weights the weights tell.", "whoever asks", "are told otherwise"])
def test_an_old_word_is_found(text):
    assert any(re.search(entry.pattern, text) for entry in WORDS)


@pytest.mark.parametrize("text", [
    "sums of products fit 32 bits", "the product of the dimensions", "a dot product", "const auto product = checked_mul(count, dim);",
    "x.product(2, 3)", "the whole tensor", "a wide range", "halves their step", "Q/DQ pairs", "exit codes", "both signs", "between quantized values",
    "hidden ones are left out", "QuantizedProduct", "the code of NaN", "Decodes a group", "rounding moves each value",
    "inside the loop", "for word in words"])
def test_a_common_phrase_is_not_found(text):
    assert [entry.name for entry in WORDS if re.search(entry.pattern, text)] == []


def test_no_file_is_named_by_an_old_word():
    old = re.compile(r"(^|[/_-])(wide|whole|quads?|halves|relay|ladder|coded|products|keep_sums|keep_means|signs)(_|\.|$)")
    assert [path for path in tracked() if old.search(path)] == []
