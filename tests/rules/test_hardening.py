"""Built files are hardened, checked in the ELF files themselves; downloaded packages are pinned by hash."""

import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def built_files(build):
    """Program, libraries, generators, and the Python module if it was built."""
    files = [build / "bin" / "anybit", (build / "lib" / "libanybit.so").resolve(),
             *sorted((build / "lib" / "anybit" / "codegen").glob("lib*-gen.so")), build / "lib" / "libanybit_ort.so",
             *sorted((build / "python" / "anybit").glob("_anybit*.so"))]
    assert len(files) >= 5 and all(file.is_file() for file in files), files
    return files


def read(file, *options):
    return subprocess.run(["readelf", "-W", *options, str(file)], capture_output=True, text=True, check=True).stdout


def test_symbols_are_bound_at_start_and_then_read_only(build):
    for file in built_files(build):
        assert "GNU_RELRO" in read(file, "-l"), file
        assert re.search(r"FLAGS_1.*\bNOW\b", read(file, "-d")), file


def test_no_stack_is_executable_and_no_segment_is_writable_code(build):
    for file in built_files(build):
        segments = re.findall(r"^\s+(\w+)(?:\s+0x[0-9a-f]+){5}\s+([RWE ]{3})", read(file, "-l"), re.MULTILINE)
        kinds = dict(segments)
        assert kinds["GNU_STACK"].strip() == "RW", file
        assert not [one for one in segments if "W" in one[1] and "E" in one[1]], file


def test_the_program_is_position_independent(build):
    header = read(build / "bin" / "anybit", "-h")
    assert re.search(r"Type:\s+DYN", header) and re.search(r"FLAGS_1.*\bPIE\b", read(build / "bin" / "anybit", "-d"))


def test_libraries_are_not_searched_in_the_current_folder(build):
    for file in built_files(build):
        if file.name.startswith("_anybit"):  # has the path of the build folder; in a wheel, only $ORIGIN
            continue
        for paths in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", read(file, "-d")):
            assert all(path.startswith("$ORIGIN") for path in paths.split(":")), (file, paths)


def test_return_addresses_are_guarded(build):
    """The ELF note declares shadow stacks."""
    if platform.machine() != "x86_64":
        return
    for file in built_files(build):
        assert re.search(r"x86 feature:.*SHSTK", read(file, "-n")), file


def is_sanitized(build):
    return re.search(r"^ANYBIT_SANITIZE:STRING=.+$", (build / "CMakeCache.txt").read_text(), re.MULTILINE) is not None


def test_stacks_copies_and_indices_are_checked(build):
    if is_sanitized(build):
        return  # sanitizers have their own checks
    for file in built_files(build):
        assert "__stack_chk_fail" in read(file, "--dyn-syms"), file
    symbols = read((build / "lib" / "libanybit.so").resolve(), "--dyn-syms")
    assert "__memcpy_chk" in symbols and "_ZSt21__glibcxx_assert_fail" in symbols


def test_indirect_calls_are_guarded(build):
    """Exported functions begin with a landing pad (Debian's crt objects have no note for landing pads, so the linker
    writes none)."""
    if is_sanitized(build) or platform.machine() != "x86_64":
        return
    library = (build / "lib" / "libanybit.so").resolve()
    bytes_of = library.read_bytes()
    segments = [tuple(int(x, 16) for x in found) for found in
                re.findall(r"LOAD\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)", read(library, "-l"))]
    functions = re.findall(r"^\s*\d+:\s+([0-9a-f]+)\s+\d+ FUNC\s+GLOBAL DEFAULT\s+\d+ (anybit_\w+)", read(library, "--dyn-syms"),
                           re.MULTILINE)
    assert len(functions) > 20
    for address, name in functions:
        place = next(int(address, 16) - start + offset for offset, start, size in segments if start <= int(address, 16) < start + size)
        assert bytes_of[place:place + 4] == b"\xf3\x0f\x1e\xfa", name  # endbr64


def test_every_python_package_is_pinned_by_hash():
    text = (ROOT / "scripts" / "requirements.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) > 20
    for line in lines:
        assert re.fullmatch(r"[\w.-]+==[\w.]+(\s+--hash=sha256:[0-9a-f]{64})+", line), f"{line[:40]}: run scripts/lock_requirements"
    assert "--require-hashes" in (ROOT / "scripts" / "setup").read_text()
