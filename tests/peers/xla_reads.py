#!/usr/bin/env python3
"""Shows that XLA's own parser accepts the HLO text that hloc prints.

    tests/peers/xla_reads.py build/src/hloc FILE-OR-FOLDER...

Each .hlo file is given to XLA's parser as it is; what XLA refuses there is skipped. The others are printed by
`hloc convert FILE - --to hlo`, given to XLA again, and must be accepted and mean the same: XLA's own print of both texts
is compared, apart from the sign of zeros, which XLA loses when it reads "-0", a transpose_a that the original left out,
and the names of computations that it wrote in place, for which both sides invent one. A folder's index.tsv may say that
a file is invalid although XLA reads it; such files are skipped. The parser comes from jaxlib, installed from PyPI into a
virtual environment in the cache folder, once. Ends with 1 when a file failed, 3 when there is no jaxlib.
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from environment import cache_folder, run_inside


def find_parser():
    """The function text → module; jaxlib has moved it over time."""
    try:
        from jaxlib import _hlo as home
    except ImportError:
        from jaxlib import xla_client

        home = xla_client._xla
    return home.hlo_module_from_text


def xla_reads(parse, text):
    """(XLA's print of the module, None) or (None, why not). In a process of its own: the parser can die."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            answer = "+" + parse(text).to_string()
        except Exception as e:  # every binding raises its own kind
            answer = "-" + str(e)
        with os.fdopen(writer, "w", errors="replace") as out:
            out.write(answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, errors="replace") as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    if answer.startswith("+"):
        return answer[1:], None
    return None, answer[1:] or "the parser died"


def comparable(text):
    """XLA's print without what may differ."""
    text = re.sub(r"-0(\.0)?(?=[,\s)}])", "0", text)
    text = text.replace(", transpose_a=NO_TRANSPOSE", "")
    return re.sub(r"%(_|inline)(_\d+)?(\.\d+)?\b", "%inline", text)


def check(parse, hloc, path):
    """'passed', 'skipped', or what is wrong."""
    text = path.read_text(errors="surrogateescape")
    try:
        original, _ = xla_reads(parse, text)
    except UnicodeEncodeError:
        return "skipped"
    if original is None:
        return "skipped"
    ran = subprocess.run([hloc, "convert", str(path), "-", "--to", "hlo"], capture_output=True, text=True)
    if ran.returncode != 0:
        return "hloc does not print it: " + ran.stderr.strip().split("\n")[0]
    printed, why = xla_reads(parse, ran.stdout)
    if printed is None:
        return "XLA refuses what hloc prints: " + " ".join(why.split("\n")[:4])
    for a, b in zip(comparable(original).split("\n"), comparable(printed).split("\n")):
        if a != b:
            return f"XLA reads something else:\n    {a.strip()}\n    {b.strip()}"
    return "passed"


def files_of(paths):
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        invalid = {index.parent / line.split("\t")[0] for index in path.rglob("index.tsv")
                   for line in index.read_text().splitlines() if "(invalid)" in line}
        yield from (file for file in sorted(path.rglob("*.hlo")) if file not in invalid)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hloc", help="the hloc to test")
    parser.add_argument("paths", nargs="+", help=".hlo files, or folders of them")
    parser.add_argument("--venv", type=Path, default=cache_folder("xla-parser"), help="where jaxlib is or gets installed")
    args = parser.parse_args()
    run_inside(args.venv, ["jaxlib", "numpy"])
    parse = find_parser()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in files_of(args.paths):
        result = check(parse, args.hloc, path)
        counts[result if result in counts else "failed"] += 1
        if result not in counts:
            print(f"{path}: {result}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
