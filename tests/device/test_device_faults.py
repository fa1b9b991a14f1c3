"""Sessions under faults: full disks, files that change, no memory; and many sessions at once."""

import ctypes
import json
import os
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.devices import SOURCES, ROOT, compiled, generator, run
from support.faults import ERRORS, KILL, every_fault

OK, NOT_FOUND, IO, MALFORMED, DATA_LOST, INVALID_STATE, INVALID_DATA = 0, 2, 3, 5, 10, 11, 13
FLOAT, QUANTIZED, GENERATED = 0, 1, 2
# `make check-all` runs the long version.
ALL = bool(os.environ.get("ANYBIT_ALL_SESSIONS"))


def small_model(seed=7, middle=6):
    """Two Gemm layers, from 8 to `middle` to 4 values."""
    random = np.random.default_rng(seed)

    def weight(name, *shape):
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    nodes = [helper.make_node("Gemm", ["x", "a", "b"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "c", "d"], ["y"])]
    graph = helper.make_graph(nodes, "small", [x], [y],
                              [weight("a", 8, middle), weight("b", middle), weight("c", middle, 4), weight("d", 4)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


@pytest.fixture(scope="module")
def program(build, made):
    return compiled(build, made, "steps")


@pytest.fixture
def model(tmp_path):
    (tmp_path / "m").mkdir()
    onnx.save(small_model(), tmp_path / "m" / "m.onnx")
    return tmp_path / "m" / "m.onnx"


def files(model):
    return {file.name for file in model.parent.iterdir()}


def steps(program, model, *words, **environment):
    """(status, model in use, runs that the ranges know, first output) after each word; and what was wrong."""
    done = subprocess.run([program, model, *words], capture_output=True, text=True, timeout=60,
                          env=os.environ | {key: str(value) for key, value in environment.items()})
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    rows = re.findall(r" status (\d+) model (\d) ranges (-?\d+): (\S+)\n", done.stdout)
    assert len(rows) == len(words), done.stdout
    return [(int(a), int(b), int(c), float(d)) for a, b, c, d in rows], done.stderr


@pytest.mark.parametrize("error", [ERRORS["full disk"], KILL], ids=["full", "killed"])
def test_a_failing_disk_while_the_quantized_model_is_saved_leaves_session_and_folder_intact(
        build, program, model, tmp_path, error):
    words = ["gather", "run", "type:1", f"path:{model.parent}/q.onnx", "quantize", "reset", "run"]
    expected = steps(program, model, *words)[0][-1]
    whole = (model.parent / "q.onnx").read_bytes()

    def prepare():
        for name in files(model) - {"m.onnx"}:
            (model.parent / name).unlink()

    runs = 0
    for fault in every_fault([program, model, *words, "quantize", "reset", "run"], build / "lib/libfailing_io.so",
                             model.parent, error, tmp_path / "log", prepare):
        runs += 1
        q = model.parent / "q.onnx"
        assert not q.exists() or q.read_bytes() == whole, fault
        if error == KILL:
            continue
        assert fault.status == 0, fault
        # After a fault all files are complete in the end.
        assert q.read_bytes() == whole, fault
        assert files(model) <= {"m.onnx", "q.onnx", "m.ranges.json"}, fault
    assert runs > 8 and expected[1] == QUANTIZED


def test_paths_that_cannot_be_read_or_written_are_reported(program, model, tmp_path):
    assert run(program, tmp_path / "nothing.onnx") == f"load {NOT_FOUND}\n"
    assert run(program, tmp_path) != f"load {OK}\n"
    (tmp_path / "text.onnx").write_text("not a model")
    assert run(program, tmp_path / "text.onnx") == f"load {MALFORMED}\n"
    rows, said = steps(program, model, "type:4", f"path:{tmp_path}/no/such/folder/q.onnx", "quantize", "run")
    assert [row[0] for row in rows] == [OK, OK, NOT_FOUND, OK] and "no/such/folder" in said
    assert rows[-1][1] == FLOAT
    rows, said = steps(program, model, "type:4", f"path:{model}", "quantize")
    assert rows[-1][0] == 1 and "is the float model itself" in said


def test_code_is_never_written_over_the_float_model_of_a_quantized_one(program, model):
    before = model.read_bytes()
    rows, said = steps(program, model, "type:4", "quantize", f"cpath:{model}", "codegen:c-gen", "run")
    assert [row[0] for row in rows] == [OK, OK, OK, 1, OK] and "the model lies in it" in said
    assert model.read_bytes() == before


def test_a_trace_keeps_its_folder(build, model):
    library, session = ctypes.CDLL(str(build / "lib" / "libanybit.so")), ctypes.c_void_p()
    library.anybit_last_error.restype = ctypes.c_char_p
    assert library.anybit_create_session(ctypes.byref(session)) == OK
    assert library.anybit_load_model_from_file(session, str(model).encode()) == OK
    trace = 4
    assert library.anybit_set_execute_config(session, trace) == OK
    assert library.anybit_set_workspace(session, b"") == 1
    assert b"no folder for it" in library.anybit_last_error(session)
    assert library.anybit_reset_execute_config(session) == OK and library.anybit_set_workspace(session, b"") == OK
    assert library.anybit_close_session(session) == OK


def test_a_model_overwritten_while_it_is_in_use_is_an_error_and_one_that_is_replaced_is_not(program, model):
    other = model.parent.parent / "other.onnx"
    onnx.save(small_model(8, 6000), other)  # small data is copied, and cannot change
    onnx.save(small_model(9, 6000), model)
    rows, _ = steps(program, model, "run", f"shell:cp {other} {other}.2 && mv {other}.2 {model}", "run")
    assert rows[0][3] == rows[2][3] and rows[2][0] == OK
    rows, said = steps(program, model, "run", f"shell:sleep 0.01; cat {other} > {model}", "run", "run")
    assert [row[0] for row in rows] == [OK, OK, DATA_LOST, DATA_LOST]
    assert "m.onnx" in said


def test_ranges_survive_a_restart_merge_and_are_reset(program, model, tmp_path):
    rows, _ = steps(program, model, "gather", "run", "run", "reset")
    assert [row[2] for row in rows] == [0, 1, 2, 2] and files(model) == {"m.onnx", "m.ranges.json"}
    rows, _ = steps(program, model, "gather", "run")  # saved when the session is closed
    assert rows[-1][2] == 3
    rows, _ = steps(program, model, "type:1", "quantize", "run")
    assert [row[:3] for row in rows] == [(OK, FLOAT, 3), (OK, QUANTIZED, 3), (OK, QUANTIZED, 3)]
    assert files(model) == {"m.onnx", "m.ranges.json", "m.q.onnx"}
    rows, _ = steps(program, model, "reset-ranges", "type:1", "quantize")
    assert [row[0] for row in rows] == [OK, OK, INVALID_STATE] and files(model) == {"m.onnx", "m.q.onnx"}
    (tmp_path / "work").mkdir()
    steps(program, model, "gather", "run", WORKSPACE=tmp_path / "work")
    assert files(model) == {"m.onnx", "m.q.onnx"}
    assert (tmp_path / "work" / "m.ranges.json").is_file()
    steps(program, model, "gather", "run", WORKSPACE="")
    assert files(model) == {"m.onnx", "m.q.onnx"}


def test_ranges_of_another_model_are_rejected_and_replaced(program, model):
    steps(program, model, "gather", "run", "run")
    onnx.save(small_model(8), model)
    rows, said = steps(program, model, "type:1", "quantize", "gather", "run", "quantize")
    assert [row[0] for row in rows] == [OK, INVALID_STATE, OK, OK, OK]
    assert "are of another model" in said and rows[-1][2] == 1
    (model.parent / "m.ranges.json").write_text("{}")
    rows, said = steps(program, model, "gather", "run", "quantize")
    assert rows[1][0] == OK and rows[2][0] == INVALID_STATE  # no recipe
    rows, said = steps(program, model, "type:1", "quantize")
    assert rows[1][0] == MALFORMED and "m.ranges.json" in said
    rows, said = steps(program, model, "type:4", "quantize")  # needs none
    assert rows[1][:2] == (OK, QUANTIZED)


def test_infinite_values_are_rejected_and_not_counted(program, tmp_path):
    model = small_model()
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.full((8, 6), 3e38, np.float32), "a"))
    onnx.save(model, tmp_path / "m.onnx")
    rows, said = steps(program, tmp_path / "m.onnx", "gather", "run", "reset", "run")
    assert [row[0] for row in rows] == [OK, INVALID_DATA, OK, OK] and rows[1][2] == 0 and "infinite" in said


def test_auto_compilation_switches_at_the_threshold_and_reuses_its_files_after_a_restart(program, model):
    rows, _ = steps(program, model, *["auto:3"] * 5)
    assert [row[1] for row in rows] == [FLOAT, FLOAT, QUANTIZED, QUANTIZED, QUANTIZED]
    assert rows[0][3] == rows[2][3] != rows[3][3]
    assert files(model) == {"m.onnx", "m.ranges.json", "m.q.onnx", "m.compiled.json"}
    assert steps(program, model, "auto:3")[0][0] == (OK, QUANTIZED, 3, rows[3][3])
    # Runs are counted across restarts, also before the threshold.
    for name in files(model) - {"m.onnx"}:
        (model.parent / name).unlink()
    for runs in range(1, 4):
        assert steps(program, model, "auto:3")[0][0][1:3] == (QUANTIZED if runs == 3 else FLOAT, runs)


@pytest.mark.parametrize("change", ["model", "quantized", "recipe", "record"])
def test_stale_compiled_files_are_not_used(program, model, change):
    steps(program, model, *["auto:2"] * 2)
    words = []
    if change == "model":
        onnx.save(small_model(8), model)
    elif change == "quantized":
        onnx.save(small_model(8), model.parent / "m.q.onnx")
    elif change == "recipe":
        words = ["type:3"]
    else:
        (model.parent / "m.compiled.json").write_text("{}")
    rows, _ = steps(program, model, *words, "auto:9")
    assert rows[-1][:2] == (OK, FLOAT)
    rows, _ = steps(program, model, *words, "auto:2", "auto:2")
    assert rows[-1][:2] == (OK, QUANTIZED)
    assert steps(program, model, *words, "auto:2")[0][-1][:2] == (OK, QUANTIZED)


def test_auto_compilation_generates_code_and_reuses_it(program, model, made):
    folder = generator(made / "generators")
    rows, _ = steps(program, model, *["auto:2:abc-gen"] * 3, GENERATORS=folder)
    assert [row[1] for row in rows] == [FLOAT, GENERATED, GENERATED] and rows[2][3] == -4  # the sum of the inputs
    written = model.parent / "m.q.abc"
    before = written.stat().st_mtime_ns
    assert steps(program, model, "auto:2:abc-gen", GENERATORS=folder)[0][0][1:] == (GENERATED, 2, -4)
    assert written.stat().st_mtime_ns == before
    with open(folder / "libabc-gen.so", "ab") as library:
        library.write(b"of a newer version")
    assert steps(program, model, "auto:2:abc-gen", GENERATORS=folder)[0][0][1:3] == (GENERATED, 2)
    assert written.stat().st_mtime_ns != before
    written.write_text("abc of somebody else")
    rows, _ = steps(program, model, "auto:2:abc-gen", "auto:2:abc-gen", GENERATORS=folder)
    assert [row[1] for row in rows] == [GENERATED, GENERATED] and "else" not in written.read_text()
    rows, said = steps(program, model, "auto:2:no-gen", "run", GENERATORS=folder)
    assert rows[0][0] == NOT_FOUND and rows[1][:2] == (OK, QUANTIZED) and "no-gen" in said


def input_code(path):
    """The integer type that the input is quantized to."""
    graph = onnx.load(path).graph
    first = next(node for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] == "x")
    return next(tensor.data_type for tensor in graph.initializer if tensor.name == first.input[2])


def test_a_new_quantization_type_in_a_session_recompiles_the_float_model(program, model):
    rows, _ = steps(program, model, "auto:2", "auto:2", "auto:2", "type:1", "auto:2", "auto:2", "type:2", "auto:9", "run")
    assert [row[0] for row in rows] == [OK] * 9
    assert [row[1] for row in rows] == [FLOAT, QUANTIZED, QUANTIZED, QUANTIZED, QUANTIZED, QUANTIZED, QUANTIZED, FLOAT, FLOAT]
    assert rows[4][3] == rows[0][3] == rows[8][3] and rows[5][3] != rows[0][3]
    assert input_code(model.parent / "m.q.onnx") == TensorProto.UINT8
    # Reused as long as the type is the same.
    assert steps(program, model, "type:1", "auto:2")[0][1] == (OK, QUANTIZED, 4, rows[5][3])


def test_a_new_preference_in_a_session_regenerates_the_code(program, model, made):
    folder = generator(made / "generators")
    written = model.parent / "m.q.abc"
    note = f"shell:cp {written} {model.parent}/first.abc; rm {written}"
    rows, said = steps(program, model, *["auto:2:abc-gen"] * 3, note, "small-auto:2:abc-gen", GENERATORS=folder)
    assert [row[0] for row in rows] == [OK] * 5 and rows[-1][1] == GENERATED, said
    assert written.exists()


def test_a_failing_generator_leaves_no_file_and_an_unchanged_session(program, model, made):
    folder = generator(made / "generators")
    rows, said = steps(program, model, "codegen:abc-gen", "run", GENERATORS=folder, ABC_FAILS="1")
    assert rows[0][0] != OK and rows[1][:2] == (OK, FLOAT) and "asked to fail" in said
    assert files(model) == {"m.onnx"}
    rows, said = steps(program, model, "backends:abc", "run", "codegen:abc-gen", "run", "backends:xyz", "backends:cpu",
                       "run", GENERATORS=folder)
    assert [row[0] for row in rows] == [OK, INVALID_STATE, OK, OK, NOT_FOUND, OK, OK]
    assert [row[1] for row in rows] == [FLOAT, FLOAT, GENERATED, GENERATED, GENERATED, FLOAT, FLOAT]
    assert "abc, xyz" not in said and "there is no backend 'xyz'" in said


def test_times_of_nodes_are_kept_and_traced(program, model):
    rows, _ = steps(program, model, "profile", "run", "run", "reset")
    assert [row[0] for row in rows] == [OK] * 4
    events = json.loads((model.parent / "m.trace.json").read_text())["traceEvents"]
    assert len(events) >= 4 and all(event["dur"] >= 0 for event in events)


def test_times_are_kept_and_traced_while_ranges_are_gathered_also_beside_a_quantized_model(program, model):
    rows, said = steps(program, model, "gather", "profile", "run", "times", "type:1", "quantize", "run", "times", "reset", "run")
    assert [row[0] for row in rows] == [OK] * 10, said
    assert rows[6][1:3] == (FLOAT, 2) and rows[6][3] == rows[2][3] and rows[9][1] == QUANTIZED
    events = json.loads((model.parent / "m.trace.json").read_text())["traceEvents"]
    operators = [event["args"]["operator"] for event in events]
    assert operators == 2 * ["Gemm", "Relu", "Gemm"], "those of two runs, in which nothing is fused"


def test_running_out_of_memory_at_any_allocation_is_only_an_error(build, made, model, tmp_path):
    library = (build / "lib").resolve()
    program = made / "out_of_memory"
    done = subprocess.run(["g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include",
                           str(SOURCES / "out_of_memory.cpp"), "-o", str(program), f"-L{library}", "-lanybit",
                           f"-Wl,-rpath,{library}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "work").mkdir()
    said = run(program, model, tmp_path / "work", 1 if ALL else 29)
    counts = dict(re.findall(r"^(\w[\w ]*): (\d+) allocations$", said, re.MULTILINE))
    assert counts.keys() == {"create", "load", "prepare", "run", "gather", "quantize", "run quantized"}
    assert int(counts["quantize"]) > 1000


def test_sessions_on_many_threads_do_not_disturb_each_other(build, made, model):
    program = compiled(build, made, "threads", "-pthread")
    run(program, model, model.parent, 8, 1000 if ALL else 50)
    assert files(model) == {"m.onnx", "m.ranges.json", *(f"q{i}.onnx" for i in range(8))}
    assert len({(model.parent / f"q{i}.onnx").stat().st_size for i in range(8)}) == 1


def test_sessions_survive_a_fork(build, made, model):
    """ThreadSanitizer forbids threads in a forked child without this option."""
    program = compiled(build, made, "forks", "-pthread", "-D_POSIX_C_SOURCE=200809L", "-std=c11")
    options = f"{os.environ.get('TSAN_OPTIONS', '')}:die_after_fork=0"
    run(program, model, 300 if ALL else 30, TSAN_OPTIONS=options)


def test_a_model_with_functions_is_quantized_from_ranges_of_the_values_inside_them(program, tmp_path):
    """Preparation inlines functions, which creates values that the model itself does not have."""
    model = small_model()
    layer = helper.make_function("local", "Layer", ["i", "w", "v"], ["o"],
                                 [helper.make_node("Gemm", ["i", "w", "v"], ["inner"]), helper.make_node("Relu", ["inner"], ["o"])],
                                 [helper.make_opsetid("", 17)])
    del model.graph.node[:2]
    model.graph.node.insert(0, helper.make_node("Layer", ["x", "a", "b"], ["r"], domain="local"))
    model.functions.append(layer)
    model.opset_import.append(helper.make_opsetid("local", 1))
    onnx.save(model, tmp_path / "m.onnx")
    rows, said = steps(program, tmp_path / "m.onnx", "gather", "run", "run", "type:1", "quantize", "reset", "run")
    assert [row[0] for row in rows] == [OK] * 7, said
    assert rows[-1][1] == QUANTIZED and abs(rows[-1][3] - rows[1][3]) < 0.1 * abs(rows[1][3])
    kinds = [node.op_type for node in onnx.load(tmp_path / "m.q.onnx").graph.node]
    assert kinds.count("QuantizeLinear") >= 2


def listed(model):
    """The model with its weights also listed as inputs, as older exporters do: x, a, b, c, d."""
    for one in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(one.name, one.data_type, one.dims))
    return model


def test_weights_that_are_also_inputs_are_weights(program, build, model, tmp_path):
    words = ["run", "gather", "run", "type:2", "quantize", "reset", "run", "codegen:so-gen", "run"]
    folder = (build / "lib" / "anybit" / "codegen").resolve()
    plain, _ = steps(program, model, *words, GENERATORS=folder)
    kept = onnx.load(model.parent / "m.q.onnx").graph
    onnx.save(listed(small_model()), model)
    rows, said = steps(program, model, "reset-ranges", *words, GENERATORS=folder)
    assert rows[1:] == plain and rows[-1][:2] == (OK, GENERATED), said
    made = onnx.load(model.parent / "m.q.onnx").graph
    assert [one.name for one in made.input] == ["x"] and [one.op_type for one in made.node] == [one.op_type for one in kept.node]


def test_a_value_for_an_input_with_a_default_is_used_or_rejected(program, build, model):
    onnx.save(listed(small_model()), model)
    rows, said = steps(program, model, "default:4x4", "run", "default:-4x4", "gather", "run", "default:4x4", "run", "type:2",
                       "quantize", "reset", "run", "default:-4x4", "run", "codegen:so-gen", "run", "default:4x4", "run",
                       GENERATORS=(build / "lib" / "anybit" / "codegen").resolve())
    assert [row[0] for row in rows] == [OK] * 10 + [1] + [OK] * 5 + [1], said
    assert rows[1][3] == rows[6][3] != rows[4][3]
    assert "input 'd'" in said and "quantization made" in said and "code generation made" in said


def open_batch(model):
    small = small_model()
    small.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    small.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(small, model)


def test_code_for_another_shape_is_regenerated_after_a_restart(program, model, made):
    folder = generator(made / "generators")
    open_batch(model)
    rows, _ = steps(program, model, *["auto:2:abc-gen"] * 3, GENERATORS=folder, BATCH=1)
    assert rows[-1][:2] == (OK, GENERATED)
    written = model.parent / "m.q.abc"
    before = written.stat().st_mtime_ns
    rows, _ = steps(program, model, "auto:2:abc-gen", GENERATORS=folder, BATCH=1)
    assert rows[-1][:2] == (OK, GENERATED) and written.stat().st_mtime_ns == before
    rows, _ = steps(program, model, *["auto:2:abc-gen"] * 2, GENERATORS=folder, BATCH=2)
    assert [row[:2] for row in rows] == [(OK, GENERATED)] * 2 and written.stat().st_mtime_ns != before


def test_anybit_runs_the_model_itself_if_an_input_has_another_shape_than_the_code(program, model, made):
    open_batch(model)
    rows, said = steps(program, model, "run", "codegen:abc-gen", "run", "shape:2", "run", "shape:1", "run", "backends:abc",
                       "shape:2", "run", GENERATORS=generator(made / "generators"))
    assert [row[0] for row in rows] == [OK] * 9 + [1], said
    assert [row[1] for row in rows[2:9]] == [GENERATED, FLOAT, FLOAT, GENERATED, GENERATED, GENERATED, GENERATED]
    assert rows[4][3] == rows[0][3] != rows[6][3] == rows[2][3]
    assert "shape [2, 8] is given" in said and "the code was generated for [1, 8]" in said


def test_the_environment_variable_selects_backends_until_a_call_does(program, model, made):
    rows, said = steps(program, model, "run", "codegen:abc-gen", "run", "backends:cpu", "run", "backends:NULL", "run", "backends:",
                       "run", GENERATORS=generator(made / "generators"), BACKENDS="abc")
    assert [row[0] for row in rows] == [INVALID_STATE] + [OK] * 8 and "none of the backends abc can run the model" in said
    assert [row[1] for row in rows[1:]] == [GENERATED, GENERATED, FLOAT, FLOAT] + [GENERATED] * 4


def test_code_is_generated_before_the_run_if_its_backend_is_the_only_one_permitted(program, model, made):
    folder = generator(made / "generators")
    assert steps(program, model, *["auto:2"] * 2)[0][-1][:2] == (OK, QUANTIZED)
    rows, said = steps(program, model, *["auto:2:abc-gen"] * 2, GENERATORS=folder, BACKENDS="abc")
    assert [row[:2] for row in rows] == [(OK, GENERATED)] * 2 and rows[0][3] == -4, said
