"""Where each block format is proven, against reference_block.py in rational arithmetic; the six of OCP MX are also
compared with public implementations, in test_mx_second_opinions.py."""

from support import reference_block

COVERED = {name: "test_block_formats.py" for name in reference_block.ALL}
