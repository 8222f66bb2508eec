"""Fit the simulation's numbers to recorded times, and print them with what they leave over.

    PYTHONPATH=. python tests/gpu/fit_model.py [--keep] [--record FILE.json]

Runs anywhere, without a GPU: it reads the recording that ships with the package, or another of the same form. Each
number of `fdlib.xray.model.Parameters` is moved in turn, up and down, by ever smaller steps, as long as the mean
squared error (of the logarithm of simulated over measured time) falls. The same recording gives the same numbers. Copy
what it prints into fdlib/xray/model.py as `FITTED`. With --keep it fits nothing and judges the numbers that are there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "xray"))
from recorded_points import Point, decode_points, loss, regret, sweeps

from fdlib.xray.model import FITTED, Parameters

FIRST_STEP, ROUNDS = 0.25, 14


def fit(points: list[Point], numbers: Parameters) -> Parameters:
    best = loss(points, numbers)
    steps = dict.fromkeys(asdict(numbers), FIRST_STEP)
    for _ in range(ROUNDS):
        for name in steps:
            for factor in (1 + steps[name], 1 / (1 + steps[name])):
                tried = replace(numbers, **{name: getattr(numbers, name) * factor})
                if (found := loss(points, tried)) < best:
                    best, numbers = found, tried
                    break
            else:
                steps[name] /= 2
    return replace(numbers, **{name: float(f"{x:.3g}") for name, x in asdict(numbers).items()})


def describe(each: Point) -> str:
    shape = each.shape
    what = f"{each.num_splits:4d} splits" if each.num_splits else "FlashAttn.  "
    heads = f"{shape.heads_q}/{shape.heads_kv}"
    return f"B {shape.batch:3d}  {heads:>6}  {shape.len_kv:7,d} keys  {what:12}"


def print_table(points: list[Point], numbers: Parameters) -> None:
    for each in points:
        simulated = each.simulated_us(numbers)
        error = simulated / each.time_us - 1
        print(f"{describe(each)} {each.time_us:9.2f} us {simulated:9.2f} simulated {error:+7.1%}")


def print_summary(points: list[Point], numbers: Parameters) -> None:
    errors = sorted(abs(each.error(numbers)) for each in points)
    print(f"{len(points)} points: median {statistics.median(errors):.1%}, worst {errors[-1]:.1%}")
    lost = {shape: regret(several, numbers) for shape, several in sweeps(points).items()}
    good = sum(each <= 0.05 for each in lost.values())
    print(f"best split count of the model within 5% of the best time: {good} of {len(lost)} shapes")
    for shape, each in lost.items():
        if each > 0.05:
            print(f"  not: {shape}: {each:+.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", action="store_true", help="judge the numbers that are there")
    parser.add_argument("--record", type=Path, help="what tests/gpu/record_decode.py wrote")
    options = parser.parse_args()
    record = json.loads(options.record.read_text(encoding="utf-8")) if options.record else None
    points = decode_points(record)
    numbers = FITTED if options.keep else fit(points, FITTED)
    print_table(points, numbers)
    print_summary(points, numbers)
    fields = "".join(f"    {name}={value:g},\n" for name, value in asdict(numbers).items())
    print(f"FITTED = Parameters(\n{fields})")


if __name__ == "__main__":
    main()
