"""Rules of generators, violations of them, and the search path."""

import json
import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
from support.faults import ERRORS, KILL, every_fault

HERE = Path(__file__).parent
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


def compile_rule(folder: Path, name="rule-gen", source="rule_gen.c", *defines):
    folder.mkdir(exist_ok=True)
    library = folder / f"lib{name}.so"
    compiler = ["c++", "-std=c++11"] if source.endswith(".cpp") else ["cc", "-std=c99"]
    command = [*compiler, "-shared", "-fPIC", "-Wall", "-I", ROOT / "include", HERE / source, "-o", library]
    subprocess.run([*map(str, command), *(f"-D{one}" for one in defines)], check=True)
    return library


@pytest.fixture
def plugins(tmp_path):
    """plugins(define, …): a folder with a generator that violates that rule."""
    def make(*defines, name="rule-gen", source="rule_gen.c"):
        compile_rule(tmp_path / "plugins", name, source, *defines)
        return tmp_path / "plugins"
    return make


@pytest.fixture
def model(tmp_path):
    """A copy of a model in its own folder."""
    (tmp_path / "models").mkdir()
    return Path(shutil.copy(DIGITS, tmp_path / "models" / "net.onnx"))


def codegen(anybit, model, folder, *words, name="rule-gen", code=0):
    return anybit("codegen", model, "--target", name, "--plugins", folder, *words, code=code)


def listing(model):
    return sorted(file.name for file in model.parent.iterdir())


def test_without_a_path_the_file_is_beside_the_model_with_the_generators_extension(anybit, plugins, model):
    done = codegen(anybit, model, plugins())
    assert done.stdout == f"{model.with_suffix('.rule')}\n"
    assert listing(model) == ["net.onnx", "net.rule"]
    assert model.with_suffix(".rule").stat().st_size == 180000


def test_the_default_path_is_never_the_model(anybit, plugins, model):
    before = model.read_bytes()
    done = codegen(anybit, model, plugins('EXTENSION=".onnx"'))
    assert done.stdout == f"{model.parent}/net.rule-gen.onnx\n"
    assert model.read_bytes() == before


def test_a_path_that_is_the_model_is_rejected(anybit, plugins, model):
    before = model.read_bytes()
    link = model.parent / "link.rule"
    os.link(model, link)
    for path in (model, link, model.parent / "." / "net.onnx"):
        said = codegen(anybit, model, plugins(), "-o", path, code=2).stderr
        assert "the model lies in it" in said
    assert model.read_bytes() == before


def test_a_further_file_that_would_overwrite_the_model_is_rejected(anybit, plugins, model, monkeypatch):
    before = model.read_bytes()
    monkeypatch.setenv("RULE_OVERWRITES", "1")
    said = codegen(anybit, model, plugins("WRITES_SEVERAL"), code=2).stderr
    assert "the model lies in it" in said
    assert listing(model) == ["net.onnx"] and model.read_bytes() == before


def test_several_files_are_moved_together(anybit, plugins, model):
    codegen(anybit, model, plugins("WRITES_SEVERAL"))
    assert listing(model) == ["net.onnx", "net.rule", "net_data.bin"]


@pytest.mark.parametrize("rule, message", [
    ("FAILS", "this model \\x1b[31mis not for me; second line"),
    ("SILENT", "it failed with 7 and said nothing"),
    ("WRITES_NOTHING", "'net.rule' was not written"),
    ("WRITES_ELSEWHERE", "'other.rule' was written"),
    ("WRITES_A_LINK", "no regular file"),
])
def test_a_failure_leaves_nothing_and_is_reported(anybit, plugins, model, rule, message):
    old = model.with_suffix(".rule")
    old.write_text("old")
    said = codegen(anybit, model, plugins(rule), code=1).stderr
    assert "rule-gen" in said and message in said
    assert listing(model) == ["net.onnx", "net.rule"]
    assert old.read_text() == "old"


@pytest.mark.parametrize("fails", [False, True])
def test_a_generator_that_changes_the_current_folder_writes_to_the_right_place(tool, plugins, model, fails):
    done = subprocess.run([tool("anybit"), "codegen", "net.onnx", "--target", "rule-gen", "--plugins", plugins("GOES_ELSEWHERE")],
                          cwd=model.parent, capture_output=True, text=True, env=os.environ | ({"RULE_FAILS": "1"} if fails else {}))
    assert (done.returncode, done.stdout) == ((1, "") if fails else (0, "net.rule\n")), done.stderr
    assert listing(model) == ["net.onnx"] + ["net.rule"] * (not fails)


def test_an_exception_is_an_error(anybit, plugins, model):
    said = codegen(anybit, model, plugins(name="throwing-gen", source="throwing_gen.cpp"), name="throwing-gen", code=1).stderr
    assert "it threw an exception: thrown by the generator" in said
    assert listing(model) == ["net.onnx"]


@pytest.mark.parametrize("rule, message", [
    ("ABI=99", "it is made for ABI 99, this library has 1 to 2"),
    ('NAME="other-gen"', "it calls itself 'other-gen', not 'rule-gen'"),
    ("NAME=NULL", "it calls itself '', not 'rule-gen'"),
    ('EXTENSION="/../x"', "its extension is '/../x'"),
    ("EXTENSION=NULL", "its extension is ''"),
    ("MISSING_SYMBOL", "nobody_has_this"),
    ("NO_ENTRY", "it has no symbol anybit_codegen_entry"),
    ("NO_TABLE", "returned nothing"),
    ("HALF_A_BACKEND", "load, run and unload come together"),
])
def test_an_incompatible_library_is_rejected_and_listed_with_the_reason(anybit, plugins, model, rule, message):
    folder = plugins(rule)
    said = codegen(anybit, model, folder, code=1).stderr
    assert f"{folder}/librule-gen.so: cannot be used as a generator: " in said and message in said
    assert listing(model) == ["net.onnx"]
    listed = json.loads(anybit("codegen", "--list", "--json", "--plugins", folder).stdout)
    assert message in {one["name"]: one["summary"] for one in listed}["rule-gen"]


def test_a_file_that_is_not_a_library_is_rejected(anybit, tmp_path, model):
    (tmp_path / "librule-gen.so").write_bytes(b"not a library")
    assert "cannot be used as a generator" in codegen(anybit, model, tmp_path, code=1).stderr


def test_a_relative_folder_is_rejected(anybit, tool, plugins, model, monkeypatch):
    folder = plugins()
    monkeypatch.chdir(folder.parent)
    assert "an absolute path" in codegen(anybit, model, "plugins", code=2).stderr
    assert "an absolute path" in codegen(anybit, model, "./plugins", code=2).stderr
    assert "an absolute path" in anybit("codegen", "--list", "--plugins", "plugins", code=2).stderr


@pytest.mark.parametrize("path, mode", [("librule-gen.so", 0o666), (".", 0o777), ("..", 0o777)])
def test_world_writable_files_are_not_loaded(anybit, plugins, model, path, mode):
    """Neither the library, nor a replacement in a world-writable folder; the group is trusted."""
    folder = plugins()
    (folder / path).chmod(mode)
    said = codegen(anybit, model, folder, code=1).stderr
    assert "everybody may write to it" in said and "chmod o-w" in said
    assert "everybody may write to it" in anybit("codegen", "--list", "--plugins", folder).stdout
    (folder / path).chmod(mode & 0o775)
    codegen(anybit, model, folder)


def test_own_libraries_in_a_sticky_folder_are_loaded(anybit, plugins, model):
    """As in /tmp, where only owners may replace their files."""
    folder = plugins()
    folder.chmod(0o1777)
    codegen(anybit, model, folder)
    if os.geteuid() == 0:
        os.chown(folder / "librule-gen.so", 65534, 65534)
        assert "everybody may write to it" in codegen(anybit, model, folder, code=1).stderr


def test_a_link_in_a_world_writable_folder_is_not_followed(anybit, plugins, model, tmp_path):
    library = plugins() / "librule-gen.so"
    links = tmp_path / "links"
    links.mkdir()
    (links / library.name).symlink_to(library)
    codegen(anybit, model, links)
    links.chmod(0o777)
    assert "everybody may write to it" in codegen(anybit, model, links, code=1).stderr


def test_the_current_folder_and_the_models_are_never_searched(anybit, plugins, model, monkeypatch):
    library = plugins() / "librule-gen.so"
    for folder in (Path.cwd(), model.parent):
        monkeypatch.chdir(model.parent)
        shutil.copy(library, model.parent)
        (model.parent / "anybit" / "codegen").mkdir(parents=True, exist_ok=True)
        shutil.copy(library, model.parent / "anybit" / "codegen")
        monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
        said = anybit("codegen", model.name, "--target", "rule-gen", code=2).stderr
        assert "there is no generator 'rule-gen'" in said


@pytest.mark.parametrize("name", ["rule", "../rule-gen", "-gen", "Rule-gen", "rule-gen/", "a b-gen", "rule-gen\n"])
def test_an_invalid_generator_name_is_rejected(anybit, plugins, model, name):
    said = codegen(anybit, model, plugins(), name=name, code=2).stderr
    assert "cannot be a generator" in said


def test_a_misspelt_name_gets_a_suggestion(anybit, plugins, model):
    assert "rule-gen" in codegen(anybit, model, plugins(), name="rulle-gen", code=2).stderr


def test_an_earlier_folder_has_precedence(anybit, tmp_path, model):
    compile_rule(tmp_path / "first", "rule-gen", "rule_gen.c", "SILENT")
    compile_rule(tmp_path / "second")
    codegen(anybit, model, tmp_path / "second", "--plugins", tmp_path / "first")
    assert "said nothing" in codegen(anybit, model, tmp_path / "first", "--plugins", tmp_path / "second", code=1).stderr


def test_an_output_that_is_not_a_file_is_rejected(anybit, plugins, model):
    folder = plugins()
    for path, message in ((model.parent, "a folder"), (f"{model.parent}/", "names no file"), ("/dev/null", "not a regular file"),
                          (model.parent / "none" / "net.rule", "No such file")):
        assert message in anybit("codegen", model, "--target", "rule-gen", "--plugins", folder, "-o", path,
                                 code=2 if message == "names no file" else 1).stderr
    assert listing(model) == ["net.onnx"]


def test_a_full_disk_keeps_the_old_files(tool, plugins, model):
    """A file size limit makes the writes of the generator fail."""
    folder = plugins()
    model.with_suffix(".rule").write_text("old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    command = [tool("anybit"), "codegen", model, "--target", "rule-gen", "--plugins", folder]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 1 and "cannot write" in done.stderr
    assert listing(model) == ["net.onnx", "net.rule"]
    assert model.with_suffix(".rule").read_text() == "old"


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_whatever_call_fails_the_files_are_the_old_ones_or_the_new_ones(tool, build, plugins, tmp_path, error):
    folder = tmp_path / "out"
    folder.mkdir()
    command = [tool("anybit"), "codegen", DIGITS, "--target", "rule-gen", "--plugins", plugins("WRITES_SEVERAL"),
               "-o", folder / "net.rule"]

    def prepare():
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "net.rule").write_text("old")
        (folder / "net_data.bin").write_text("old")

    runs = 0
    for run in every_fault(command, build / "lib" / "libfailing_io.so", folder, error, tmp_path / "log", prepare):
        runs += 1
        main, data = (folder / "net.rule").read_text(), (folder / "net_data.bin").read_text()
        assert main in ("old", "main") and data in ("old", "data"), run
        if error == KILL:
            # The requested file is written last.
            assert main == "old" or data == "data", run
        elif run.status == 0 or "in place" in run.stderr:
            assert (main, data) == ("main", "data"), run
        else:
            assert (main, data) == ("old", "old"), run
            assert sorted(file.name for file in folder.iterdir()) == ["net.rule", "net_data.bin"], run
    assert runs >= 4


def test_settings_and_the_preference_reach_the_generator(anybit, build, tmp_path):
    out = tmp_path / "net.json"
    anybit("codegen", DIGITS, "--target", "written-gen", "--plugins", build / "lib" / "test-generators", "-o", out,
           "--prefer", "memory", "--set", "depth=a=b", "--set", "empty=")
    seen = json.loads(out.read_text())
    assert seen["preference"] == 2 and seen["settings"] == {"depth": "a=b", "empty": ""}
    assert seen["path"] == str(DIGITS) and len(seen["hash"]) == 64
    for words in (("--prefer", "speed"), ("--set", "depth"), ("--set", "a=1", "--set", "a=2")):
        anybit("codegen", DIGITS, "--target", "written-gen", *words, code=2)


def test_the_example_builds_outside_the_tree_and_draws_a_model(build, tmp_path):
    prefix = tmp_path / "usr"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, capture_output=True)
    source = shutil.copytree(ROOT / "examples" / "codegen-plugin", tmp_path / "source")
    assert len((source / "dot_gen.c").read_text().splitlines()) < 60
    subprocess.run(["cmake", "-S", source, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"], check=True,
                   capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path / "build"], check=True, capture_output=True)
    shutil.copy(DIGITS, tmp_path / "net.onnx")
    program = prefix / "bin" / "anybit"
    done = subprocess.run([program, "codegen", tmp_path / "net.onnx", "--target", "dot-gen", "--plugins", tmp_path / "build"],
                          check=True, capture_output=True, text=True)
    assert done.stdout == f"{tmp_path}/net.dot\n"
    drawn = (tmp_path / "net.dot").read_text()
    assert drawn.startswith("digraph") and 'label="Conv"' in drawn and '"image" -> n0' in drawn
    listed = subprocess.run([program, "codegen", "--list", "--json"], check=True, capture_output=True, text=True).stdout
    ours = sorted(folder.name for folder in (ROOT / "plugins").iterdir() if folder.name.endswith("-gen"))
    assert [one["name"] for one in json.loads(listed)] == ours
    assert all(one["library"].startswith(str(prefix.resolve())) for one in json.loads(listed))
