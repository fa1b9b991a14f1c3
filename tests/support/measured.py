"""Time and peak memory of a process."""
import subprocess
import sys

# A small process that starts the measured one: the peak memory of a child is at least that of its parent.
LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - begin, usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(arguments):
    """Seconds, peak bytes and standard output of a process; an error if it fails."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, *map(str, arguments)], capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-500:])
    *said, last = done.stdout.decode().splitlines()
    seconds, peak = last.split()
    return float(seconds), int(peak), "\n".join(said)
