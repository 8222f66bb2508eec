"""The README tells the truth: its file tree, its links and the numbers that it quotes."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import committed
import pytest
from test_notebooks import WITHOUT_TRITON

from fdlib.recorded import load_recorded, recorded_names
from fdlib.shapes import AttentionShape
from fdlib.xray.recordings import recorded_timeline
from fdlib.xray.residuals import residual_points

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PEERS = ("sdpa_flash_us", "sdpa_cudnn_us", "fa3_us", "flashinfer_us")


def tree() -> list[str]:
    """Paths in the README's tree; indentation of two spaces is a folder."""
    block = README.split("## What is where")[1].split("```")[1]
    folders: list[str] = []
    paths = []
    for line in filter(str.strip, block.splitlines()):
        depth = (len(line) - len(line.lstrip())) // 2
        if "  " not in line.strip() and len(line.split()) > 1:  # several files on one line
            paths += line.split()
            continue
        folders[depth:] = [line.split()[0].rstrip("/")]
        paths.append("/".join(folders))
    return paths


def test_every_path_in_the_tree_exists():
    missing = [path for path in tree() if not (ROOT / path).exists()]
    assert not missing


def test_the_tree_omits_nothing():
    listed = committed.committed_files()
    if listed is None:
        pytest.skip("not a git checkout")
    files = [Path(line) for line in listed]
    top = {file.parts[0] for file in files if not file.parts[0].startswith(".")}
    rooms = {"/".join(file.parts[:2]) for file in files if file.parts[0] == "fdlib"}
    ladder = {str(file) for file in files if file.parts[:2] == ("fdlib", "attention")}
    wanted = {path for path in top | rooms | ladder if not path.endswith("__init__.py")}
    assert wanted <= set(tree()) | {"README.md", "fdlib/__main__.py"}


def test_every_recording_is_linked():
    for path in (ROOT / "fdlib" / "data" / "recorded").glob("*.json"):
        assert str(path.relative_to(ROOT)) in README, path.name


def test_readme_and_notebook_00_name_the_same_notebooks_without_triton():
    numbers = [int(stem[:2]) for stem in WITHOUT_TRITON]
    assert numbers == [0, 1, 2, 4]
    said = "notebooks 00 to 02 and 04"
    assert said in README
    first = committed.notebooks().get("00_start_here.ipynb")
    if first is None:
        pytest.skip("not a git checkout, and notebook 00 was run")
    assert said in first.decode()


def test_no_command_has_dots_to_fill_in():
    """What is shown as code can be pasted."""
    code = re.findall(r"```bash.*?```|`make [^`\n]+`", README, flags=re.DOTALL)
    assert code
    assert not [part for part in code if "..." in part]


def test_sm_is_explained_at_its_first_use():
    prose = README.split("## Why")[1]
    assert prose.index("SM (streaming multiprocessor") == re.search(r"\bSMs?\b", prose).start()


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_quoted_times_are_the_recorded_ones():
    rows = load_recorded("h200_decode")["rows"]
    row = next(r for r in rows if (r["heads_q"], r["batch"], r["len_kv"]) == (8, 1, 131072))
    before, after = f"{row['flash_attention_us']:,.0f}", f"{row['flash_decode_us']:.0f}"
    others = [row[peer] for peer in PEERS]
    flat = " ".join(README.split())
    assert f"FlashAttention kernel, without splits, takes {before} microseconds" in flat
    assert f"Flash-Decoding kernel, with splits, {after}." in flat
    assert f"which split too, take {min(others):.0f} to {max(others):.0f}:" in flat


@pytest.mark.parametrize("len_kv", [16384, 131072])
def test_flash_decode_keeps_up_with_production_kernels(len_kv):
    rows = load_recorded("h200_decode")["rows"]
    sizes = (32, 8, 1, len_kv)
    row = next(r for r in rows if (r["heads_q"], r["heads_kv"], r["batch"], r["len_kv"]) == sizes)
    assert row["flash_decode_us"] <= 1.15 * min(row[peer] for peer in PEERS)


def test_versions_of_the_recordings_are_the_quoted_ones():
    records = [load_recorded(name) for name in recorded_names()]
    assert {r["torch"].split("+")[0] for r in records} == {"2.11.0"}
    assert {r["triton"] for r in records} == {"3.6.0"}
    assert "(torch 2.11.0, triton 3.6.0)" in README
    assert "Run on an H200 with torch 2.11 and triton 3.6" in README


def test_quoted_errors_are_the_recorded_ones():
    summary = load_recorded("h200_grid")["summary"]
    out, lse = ([f"{row[key]:.1e}" for row in summary] for key in ("max_abs_out", "max_abs_lse"))
    flat = " ".join(README.split())
    assert f"{summary[0]['cases']} cases each" in flat
    assert f"an output is {out[0]}, {out[1]} and {out[2]}" in flat
    assert f"of an LSE {lse[0]}, {lse[1]} and {lse[2]}" in flat


def test_every_record_says_where_and_when():
    for name in recorded_names():
        assert {"gpu", "torch", "triton", "python", "date", "command"} <= set(
            load_recorded(name)
        ), name


def test_the_sanitizer_found_nothing():
    verdicts = load_recorded("h200_sanitizer")["compute_sanitizer"]
    assert {"memcheck", "initcheck"} <= set(verdicts)
    for verdict in verdicts.values():
        assert verdict["exit_code"] == 0
        assert "0 errors" in verdict["said"][0] or "0 hazards" in verdict["said"][0]


def test_no_record_names_a_machines_path():
    for name in recorded_names():
        assert " /" not in load_recorded(name)["command"]


def test_quoted_traffic_is_the_recorded_one():
    apart = [
        abs(
            (row["hbm_read_bytes"] + row["hbm_write_bytes"])
            / (row["read_bytes"] + row["write_bytes"] + row["write_bytes_after"])
            - 1
        )
        for row in load_recorded("h200_traffic")["rows"]
    ]
    flat = " ".join(README.split())
    median, worst = f"{statistics.median(apart):.1%}", f"{max(apart):.1%}"
    assert f"{median} apart in the median of {len(apart)} launches, {worst} at most" in flat


def test_quoted_residuals_are_those_of_the_model():
    errors = [abs(each.error) for each in residual_points(1)]
    flat = " ".join(README.split())
    median, worst = f"{statistics.median(errors):.1%}", f"{max(errors):.1%}"
    assert f"{median} off in the median of the {len(errors):,} calls" in flat
    assert f"{worst} at most; the model" in flat


def test_quoted_use_of_sm_time_is_the_recorded_one():
    line = recorded_timeline("flash_decode", AttentionShape(heads_q=8, heads_kv=1, len_kv=131_072))
    flat = " ".join(README.split())
    assert f"{line.busy_sms} SMs work while" in flat
    assert f"SM time is used to {line.utilisation:.0%}" in flat
