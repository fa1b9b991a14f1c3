"""`anybit formats` and `anybit convert` on the command line, compared with numpy and ml_dtypes."""

import json
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.aliases import aliases_in

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def formats(anybit):
    return {f["name"]: f for f in json.loads(anybit("formats", "--json").stdout)["formats"]}


@pytest.fixture
def x(tmp_path):
    rng = np.random.default_rng(5)
    values = (rng.standard_normal((6, 75)) * 10.0 ** rng.integers(-3, 2, (6, 75))).astype(np.float32)
    np.save(tmp_path / "x.npy", values)
    return values


def unpacked(rows, bits, length):
    """Unpacks the codes of packed rows, bit by bit."""
    flat = np.unpackbits(rows.reshape(-1, rows.shape[-1]), axis=1, bitorder="little")[:, : length * bits]
    codes = flat.reshape(len(flat), length, bits) @ (1 << np.arange(bits))
    return codes.reshape(*rows.shape[:-1], length)


# --- formats ---

def test_the_list_has_every_family_and_every_width(formats):
    assert len(formats) >= 60
    assert {f"int{b}" for b in range(2, 17)} | {f"uint{b}" for b in range(2, 17)} <= set(formats)
    assert formats["mxfp4_e2m1"]["bits_per_value"] == 4.25


def test_parameters_have_the_types_of_programming_languages(formats):
    types = {one["type"]: type(one["default"]) for each in formats.values() for one in each["parameters"]}
    assert types == {"bool": bool, "int": int, "float": float, "string": str}


def test_the_text_has_one_row_for_all_widths_of_integers(anybit):
    text = anybit("formats").stdout
    assert "int2 … int16" in text and "uint2 … uint16" in text and "int9" not in text
    assert max(map(len, text.splitlines())) < 200


def test_every_format_can_be_described(anybit, formats):
    for name in formats:
        told = json.loads(anybit("formats", name, "--json").stdout)
        assert told["name"] == name and len(told["example"]["values"]) == len(told["example"]["numbers"])
        assert name in anybit("formats", name).stdout


def test_one_format_shows_layout_parameters_values_and_an_example(anybit):
    text = anybit("formats", "mxfp4_e2m1").stdout
    assert "Smallest  2^-9\n" in anybit("formats", "fp8_e4m3").stdout
    for part in ["│  s │  e  e │  m │", "scale_rule", "floor, ceil, even", "4.25", "0111", "exponent"]:
        assert part in text, part


def test_the_range_of_integers_is_that_of_a_valid_zero_point(anybit):
    told = json.loads(anybit("formats", "uint8", "--set", "narrow=true", "--json").stdout)
    assert (told["lowest"], told["largest"]) == (0, 254)


def test_properties_follow_the_parameters(anybit):
    told = json.loads(anybit("formats", "minifloat", "--set", "width=6", "--set", "exponent_width=3", "--json").stdout)
    assert told["bits"] == 6 and told["largest"] == 28.0


@pytest.mark.parametrize("words, said", [
    (["formats", "minifloat", "--set", "width=16", "--set", "exponent_width=8"], "a larger exponent_bias"),
    (["formats", "minifloat", "--set", "width=16", "--set", "exponent_bias=300"], "a smaller exponent_bias"),
    (["formats", "mxfp4_e2m2"], "mxfp4_e2m1"),
    (["formats", "minifloat", "--set", "width=1"], "from 2 to 16"),
    (["formats", "minifloat", "--set", "width"], "--set"),
    (["formats", "fp8_e4m3", "--set", "satrate=true"], "saturate"),
    (["formats", "minifloat", "--set", "width=6", "--set", "width=7"], "width is given twice"),
    (["formats", "fp32"], "values are float32 before they are quantized"),
    (["formats", "nf4"], "int4, fp4_e2m1, mxfp4_e2m1 and nvfp4"),
])
def test_a_usage_error_about_formats_exits_with_2_and_a_hint(anybit, words, said):
    done = anybit(*words, code=2)
    assert said in done.stderr and done.stdout == ""


@pytest.mark.parametrize("word, format", [("fp16", "float16"), ("half", "float16"), ("BF16", "bfloat16"), ("i8", "int8"),
                                          ("float8_e4m3fn", "fp8_e4m3"), ("FLOAT8E5M2FNUZ", "fp8_e5m2fnuz"), ("float4", "fp4_e2m1")])
def test_names_of_other_tools_lead_to_the_format(anybit, word, format):
    assert f"did you mean '{format}'?" in anybit("formats", word, code=2).stderr


def test_the_table_in_the_documents_is_current(tool):
    done = subprocess.run([sys.executable, ROOT / "scripts/make_docs", tool("anybit"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- convert ---

def test_packed_codes_and_scales_match_the_definition(anybit, tmp_path, x):
    out = json.loads(anybit("convert", tmp_path / "x.npy", "--format", "mxfp4_e2m1", "--axis", 1, "--block-size", 32,
                            "-o", tmp_path / "y", "--json").stdout)
    file = np.load(tmp_path / "y.npz")
    assert set(file) == {"codes", "exponent", "meta"}
    assert file["codes"].shape == (6, 38) and file["codes"].dtype == np.uint8 and file["exponent"].shape == (6, 3)
    meta = json.loads(file["meta"].item())
    assert meta["format"] == "mxfp4_e2m1" and meta["dims"] == [6, 75] and meta["pack_axis"] == 1
    scale = np.repeat(2.0 ** (file["exponent"].astype(int) - 127), 32, axis=1)[:, :75]
    top = np.stack([np.abs(np.pad(x, ((0, 0), (0, 21))).reshape(6, 3, 32)).max(axis=2)])[0]
    np.testing.assert_array_equal(file["exponent"], np.floor(np.log2(top)).astype(int) - 2 + 127)
    codes = unpacked(file["codes"], 4, 75)
    values = codes.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64) * scale
    anybit("convert", tmp_path / "y.npz", "--unpack", "-o", tmp_path / "z.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), values.astype(np.float32))
    error = np.abs(values - x)
    assert out["losses"]["largest_error"] == pytest.approx(error.max(), rel=1e-12)
    assert tuple(out["losses"]["largest_error_at"]) == np.unravel_index(error.argmax(), x.shape)
    noise = 10 * np.log10((x.astype(np.float64) ** 2).sum() / (error**2).sum())
    assert out["losses"]["sqnr_db"] == pytest.approx(noise, abs=1e-9)
    assert aliases_in(out) == {"sqnr_db"}
    assert out["losses"]["flushed"] == int(((values == 0) & (x != 0)).sum())
    assert out["packed_bytes"] == file["codes"].size + file["exponent"].size


def test_a_byte_holds_five_ternary_values(anybit, tmp_path, x):
    assert "1.6 packed" in anybit("formats", "ternary", "--set", "packing=fives").stdout
    anybit("convert", tmp_path / "x.npy", "-f", "ternary", "--set", "packing=fives", "-o", tmp_path / "y.npz")
    file = np.load(tmp_path / "y.npz")
    assert file["codes"].shape == (6, 15)
    signs = np.where(np.abs(x) > 0.75 * np.abs(x.astype(np.float64)).mean(), np.sign(x), 0)
    digits = np.where(signs < 0, 2, signs).astype(int).reshape(6, 15, 5)
    np.testing.assert_array_equal(file["codes"], digits @ 3 ** np.arange(5))
    anybit("convert", tmp_path / "y.npz", "--unpack", "-o", tmp_path / "z.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), signs)


@pytest.mark.parametrize("name, dtype", [("fp8_e4m3", ml_dtypes.float8_e4m3fn), ("fp8_e5m2", ml_dtypes.float8_e5m2),
                                         ("bfloat16", ml_dtypes.bfloat16), ("float16", np.float16)])
def test_dequantized_values_match_other_libraries(anybit, tmp_path, x, name, dtype):
    anybit("convert", tmp_path / "x.npy", "--format", name, "--dequantized", "-o", tmp_path / "y.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), x.astype(dtype).astype(np.float32))


def test_every_format_comes_back_from_its_file(anybit, formats, tmp_path, x):
    for name in formats:
        for way in ([], ["--axis", "0", "--granularity", "channel"] if formats[name]["granularity"] != "element" else ["--axis", "0"]):
            anybit("convert", tmp_path / "x.npy", "--format", name, *way, "-o", tmp_path / "y.npz")
            anybit("convert", tmp_path / "x.npy", "--format", name, *way, "--dequantized", "-o", tmp_path / "d.npy")
            anybit("convert", tmp_path / "y.npz", "--unpack", "-o", tmp_path / "z.npy")
            np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), np.load(tmp_path / "d.npy"), err_msg=f"{name} {way}")


@pytest.mark.parametrize("options", [["--granularity", "channel", "--axis", "-1"], ["--block", "2,16"], ["--block=-1,8"],
                                     ["--set", "scale_kind=bfloat16"], ["--set", "scale_kind=float16", "--block-size", "5"],
                                     ["--rounding", "stochastic", "--seed", "7"]])
def test_integers_come_back_in_every_granularity(anybit, tmp_path, x, options):
    anybit("convert", tmp_path / "x.npy", "-f", "uint4", *options, "-o", tmp_path / "y.npz")
    anybit("convert", tmp_path / "x.npy", "-f", "uint4", *options, "--dequantized", "--threads", 3, "-o", tmp_path / "d.npy")
    anybit("convert", tmp_path / "y.npz", "--unpack", "-o", tmp_path / "z.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), np.load(tmp_path / "d.npy"))


@pytest.mark.parametrize("array", [np.float32(1.5), np.zeros((0, 3), np.float32), np.arange(24, dtype=">f4").reshape(2, 3, 4),
                                   np.asfortranarray(np.arange(24, dtype=np.float64).reshape(4, 6)), np.arange(9, dtype=np.int8),
                                   np.linspace(-1, 1, 7, dtype=np.float16), np.array([True, False]), np.array([2**63], np.uint64)],
                         ids=lambda a: f"{np.asarray(a).dtype}{np.shape(a)}")
def test_every_kind_of_numpy_array_is_read(anybit, tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    anybit("convert", tmp_path / "x.npy", "-f", "bfloat16", "--dequantized", "-o", tmp_path / "y.npy")
    expected = np.asarray(array).astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)
    made = np.load(tmp_path / "y.npy")
    assert made.shape == np.shape(array)
    np.testing.assert_array_equal(made, expected)


def test_files_of_numpys_own_archive_are_read(anybit, tmp_path, x):
    anybit("convert", tmp_path / "x.npy", "-f", "mxint8", "-o", tmp_path / "y.npz")
    np.savez(tmp_path / "w.npz", **np.load(tmp_path / "y.npz"))
    for name in "yw":
        anybit("convert", tmp_path / f"{name}.npz", "--unpack", "-o", tmp_path / f"{name}.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), np.load(tmp_path / "y.npy"))


def test_sizes_are_reported_exactly(anybit, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((0, 5), np.float32))
    assert "0 B packed\n" in anybit("convert", tmp_path / "x.npy", "-f", "int8", "-o", tmp_path / "y").stdout
    np.save(tmp_path / "x.npy", np.float32(1.5))
    text = anybit("convert", tmp_path / "x.npy", "-f", "int8", "-o", tmp_path / "y").stdout
    assert "[], 1 value\n" in text and "1.25 × larger" in text


def test_the_text_reports_the_error(anybit, tmp_path, x):
    text = anybit("convert", tmp_path / "x.npy", "-f", "mxfp6_e2m3", "-o", tmp_path / "y").stdout
    for part in ["dB", "Largest error", "Saturated", "Flushed", "Bits per value", "smaller", "y.npz"]:
        assert part in text, part


def test_rounding_to_float32_is_reported_separately_from_the_losses_of_the_format(anybit, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1 + 2.0**-40, 1e-60, 0.5, 1]))
    said = json.loads(anybit("convert", tmp_path / "x.npy", "-f", "bfloat16", "--json", "-o", tmp_path / "y").stdout)
    assert said["narrowing"] == {"from": "float64", "changed": 2, "flushed": 1, "largest_change": 2.0**-40}
    assert not said["losses"]["exact"]
    text = anybit("convert", tmp_path / "x.npy", "-f", "bfloat16", "-o", tmp_path / "y").stdout
    assert "2 (50.0 %) of float64, by 9.09495e-13 at most; 1 became zero" in text and "exact after" in text


@pytest.mark.parametrize("numbers, changed, largest", [
    (np.array([2**24, 2**24 + 1, -(2**24) - 1], np.int32), 2, 1), (np.array([2**62 + 1, -(2**63)], np.int64), 1, 1),
    (np.array([2**64 - 1, 2**63], np.uint64), 1, 1), (np.array([65504, 1e-7], np.float16), 0, 0),
    (np.array([np.nan, np.inf, -np.inf, 0.5]), 0, 0)], ids=lambda a: str(np.asarray(a).dtype))
def test_integers_are_compared_exactly_with_their_float32(anybit, tmp_path, numbers, changed, largest):
    np.save(tmp_path / "x.npy", numbers)
    said = json.loads(anybit("convert", tmp_path / "x.npy", "-f", "fp8_e5m2", "--allow-nonfinite", "--json", "-o",
                             tmp_path / "y").stdout)
    assert said["narrowing"] == {"from": str(numbers.dtype), "changed": changed, "flushed": 0, "largest_change": largest}


# --- bad input ---

def test_a_number_beyond_float32_is_reported_and_not_called_infinite(anybit, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, 2], [-1e300, 4]]))
    done = anybit("convert", tmp_path / "x.npy", "-f", "int8", "-o", tmp_path / "y", code=1)
    assert "value [1, 0]: -1e+300 is beyond the range of float32" in done.stderr and "--allow-nonfinite" in done.stderr
    anybit("convert", tmp_path / "x.npy", "-f", "int8", "--allow-nonfinite", "-o", tmp_path / "y")


def test_nan_and_infinity_are_rejected_with_their_index_unless_allowed(anybit, tmp_path, x):
    x[2, 7] = np.nan
    np.save(tmp_path / "x.npy", x)
    done = anybit("convert", tmp_path / "x.npy", "-f", "int8", "-o", tmp_path / "y.npz", code=1)
    assert "value [2, 7]: is NaN" in done.stderr and "--allow-nonfinite" in done.stderr and not (tmp_path / "y.npz").exists()
    anybit("convert", tmp_path / "x.npy", "-f", "int8", "--allow-nonfinite", "-o", tmp_path / "y.npz")


@pytest.mark.parametrize("options, said", [
    (["-f", "int99"], "did you mean"),
    (["-f", "minifloat", "--set", "width=1"], "from 2 to 16"),
    (["-f", "mxint8", "--axis", "2"], "axis 2"),
    (["-f", "int8", "--axis", "0"], "granularity channel"),
    (["-f", "fp8_e4m3", "--axis", "2"], "axis 2"),
    (["-f", "int8", "--granularity", "block"], "needs a block size"),
    (["-f", "fixed", "--set", "width=8", "--set", "frac=3", "--set", "width=6"], "width is given twice"),
    (["-f", "int8", "--granularity", "channel", "--block-size", "4"], "granularity block, or no block"),
    (["-f", "mxint8", "--block", "1,2,3"], "at most the tensor's rank"),
    (["-f", "INT8"], "did you mean 'int8'"),
    (["-f", "e4m3"], "did you mean 'fp8_e4m3'"),
    (["-f", "x" * 400], "…"),
    (["-f", "minifloat", "--set", "exponent_bias=" + "9" * 400], "…"),
    (["-f", "mxint8", "--block-size", "0"], "block size 0"),
    (["-f", "mxint8", "--rounding", "half_evn"], "half_even"),
    (["-f", "mxint8", "--granularity", "blok"], "block"),
    (["-f", "fp8_e4m3", "--granularity", "element", "--block-size", "4"], "granularity block"),
    (["-f", "mxint8", "--threads", "-2"], "threads"),
    ([], "--format"),
    (["-f", "mxint8", "--set", "profile=quark"], "nonfinite"),
])
def test_a_usage_error_exits_with_2_gives_the_reason_and_writes_nothing(anybit, tmp_path, x, options, said):
    done = anybit("convert", tmp_path / "x.npy", *options, "-o", tmp_path / "y.npz", code=2)
    assert said in done.stderr, done.stderr
    assert not (tmp_path / "y.npz").exists()


def test_files_that_are_not_arrays_exit_with_1(anybit, tmp_path):
    (tmp_path / "x.npy").write_bytes(b"no array")
    assert "not a .npy file" in anybit("convert", tmp_path / "x.npy", "-f", "int8", "-o", tmp_path / "y", code=1).stderr
    assert "No such file" in anybit("convert", tmp_path / "none.npy", "-f", "int8", "-o", tmp_path / "y", code=1).stderr
    np.save(tmp_path / "o.npy", np.array([{}]), allow_pickle=True)
    assert "Python objects" in anybit("convert", tmp_path / "o.npy", "-f", "int8", "-o", tmp_path / "y", code=1).stderr
    np.save(tmp_path / "t.npy", np.array(["2020-01-01"], "datetime64[D]"))
    assert "type '<M8[D]' are not read" in anybit("convert", tmp_path / "t.npy", "-f", "int8", "-o", tmp_path / "y", code=1).stderr
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "d.npz", codes=np.zeros(3, np.uint8))
        assert "meta" in anybit("convert", tmp_path / "d.npz", "--unpack", "-o", tmp_path / "y", code=1).stderr


def test_an_output_that_cannot_be_written_exits_with_1(anybit, tmp_path, x):
    done = anybit("convert", tmp_path / "x.npy", "-f", "int8", "-o", tmp_path / "no" / "such" / "folder.npz", code=1)
    assert "folder.npz" in done.stderr or "no/such" in done.stderr


def test_input_and_output_are_never_the_same_file(anybit, tmp_path, x):
    anybit("convert", tmp_path / "x.npy", "-f", "int8", "--dequantized", "-o", tmp_path / "x.npy", code=2)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x)


@pytest.mark.parametrize("change, said", [
    ({"scale": np.float32(0)}, "scale"),
    ({"scale": np.float32(np.nan)}, "scale"),
    ({"scale": np.zeros(3, np.float32)}, "scale"),
    ({"codes": np.zeros(3, np.uint8)}, "packed bytes"),
    ({"meta": "{}"}, "meta"),
    ({"meta": "[1"}, "meta"),
    ({"meta": json.dumps({"anybit": 1, "format": "int8"})}, "lacks format, granularity or dims"),
    ({"meta": json.dumps({"anybit": 0, "format": "int8", "granularity": "tensor", "dims": [6, 75]})}, "has no version"),
    ({"meta": json.dumps({"anybit": 2, "layout": "new"})}, "written by a newer anybit: version 2"),
    ({"meta": json.dumps({"anybit": 1, "format": "int8", "granularity": "tensor", "dims": [2**40, 2**40]})}, "dimensions"),
    ({"meta": json.dumps({"anybit": 1, "format": "mxint8", "granularity": "block", "dims": [2**47]})}, "y.npz"),
    ({"meta": json.dumps({"anybit": 1, "format": "nothing", "granularity": "block", "dims": [4]})}, "nothing"),
])
def test_an_inconsistent_packed_file_exits_with_1(anybit, tmp_path, x, change, said):
    anybit("convert", tmp_path / "x.npy", "-f", "int8", "-o", tmp_path / "y.npz")
    arrays = dict(np.load(tmp_path / "y.npz")) | change
    np.savez(tmp_path / "y.npz", **arrays)
    done = anybit("convert", tmp_path / "y.npz", "--unpack", "-o", tmp_path / "z.npy", code=1)
    assert said in done.stderr, done.stderr
    assert not (tmp_path / "z.npy").exists()


def test_a_value_that_becomes_nan_is_never_called_exact(anybit, tmp_path):
    values = np.ones(64, np.float32)
    values[3] = np.nan
    np.save(tmp_path / "x.npy", values)
    said = anybit("convert", tmp_path / "x.npy", "--format", "mxfp8_e4m3", "--allow-nonfinite", "-o", tmp_path / "y").stdout
    assert "31 (48.4 %)" in said.split("Lost")[1].splitlines()[0] and "exact, except" in said
    np.save(tmp_path / "x.npy", np.array([1, 500, 1e6, -2], np.float32))
    losses = json.loads(anybit("convert", tmp_path / "x.npy", "--format", "fp8_e4m3", "--set", "saturate=false", "--json",
                               "-o", tmp_path / "y").stdout)["losses"]
    assert losses["lost"] == 2 and not losses["exact"]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_never_called_exact(anybit, tmp_path, odd):
    np.save(tmp_path / "x.npy", np.array([odd, 1], np.float32))
    words = ["convert", tmp_path / "x.npy", "--format", "int8", "--allow-nonfinite", "-o", tmp_path / "y"]
    assert not json.loads(anybit(*words, "--json").stdout)["losses"]["exact"]
    assert "exact for finite values" in anybit(*words).stdout


@pytest.mark.parametrize("output", [".", "/dev/null", "/dev/full"])
def test_folders_and_devices_get_no_extension(anybit, tmp_path, output):
    np.save(tmp_path / "x.npy", np.ones(8, np.float32))
    assert "it is not a file name" in anybit("convert", tmp_path / "x.npy", "--format", "int8", "-o", output, code=2).stderr
