"""Run a script under Nsight Compute and read what it counted for each kernel."""

from __future__ import annotations

import csv
import io
import subprocess
import sys

DRAM_BYTES = {"read_bytes": "dram__bytes_read.sum", "write_bytes": "dram__bytes_write.sum"}


def ncu_rows(metrics: dict[str, str], *command: str, cache_control: str = "all") -> list[dict]:
    """A dict per profiled kernel, in order: its "kernel" name and the metrics as ints.

    The script says what to profile with `torch.cuda.profiler.start()` and `stop()`. Clocks are left
    alone. With `cache_control="all"` ncu empties the caches before each kernel, with "none" it does not.
    """
    words = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--csv"]
    words += ["--cache-control", cache_control, "--page", "raw", "--print-units", "base"]
    words += ["--metrics", ",".join(metrics.values()), sys.executable, *command]
    result = subprocess.run(words, capture_output=True, text=True)
    lines = [line for line in result.stdout.splitlines() if line.startswith('"')]
    if not lines:
        raise RuntimeError(f"ncu found no kernel: {result.stdout[-2000:]} {result.stderr[-2000:]}")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))[1:]  # the first is the units
    return [
        {"kernel": row["Kernel Name"]}
        | {name: round(float(row[metric].replace(",", ""))) for name, metric in metrics.items()}
        for row in rows
    ]
