"""The functions that fill the tables stand side by side in the library (cmake/tables.ld), so that a start touches few pages of code."""
import re
import subprocess

MOST = 256 * 1024  # bytes from the first of them to the last


def test_functions_that_fill_tables_are_neighbours(build):
    if "ANYBIT_CAN_PLACE_TABLES:INTERNAL=1" not in (build / "CMakeCache.txt").read_text() or \
            "CMAKE_BUILD_TYPE:STRING=Release" not in (build / "CMakeCache.txt").read_text():
        return
    symbols = subprocess.run(["nm", "--defined-only", build / "lib/libanybit.so"], capture_output=True, text=True, check=True).stdout
    places = sorted(int(place, 16) for place in re.findall(r"^([0-9a-f]+) [tT] _ZN6anybit\w+_descriptorsEv$", symbols, re.MULTILINE))
    assert len(places) > 200
    assert places[-1] - places[0] < MOST, f"{places[-1] - places[0]} bytes"
