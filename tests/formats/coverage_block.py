"""Block formats, each with the test that compares it with the exact reference (reference_block.py, rational arithmetic).
test_mx_second_opinions.py also compares the six OCP MX formats with public implementations."""

from support import reference_block

COVERED = {name: "test_block_formats.py" for name in reference_block.ALL}
