#!/usr/bin/env python3
"""Runs what READMEs show: each ```console block has lines `$ command` and the output that follows them.

A line `...` in the expected output stands for any lines. `hloc` is the program given as the first argument; commands run
in the README's folder, and find the programs of examples/ too.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commands(text):
    for block in re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        command, expected = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, expected
                command, expected = line[2:], []
            else:
                expected.append(line.rstrip())
        if command:
            yield command, expected


def matches(expected, got):
    """Whether `got` is `expected` with `...` standing for any lines."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(matches(expected[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and expected[0] == got[0] and matches(expected[1:], got[1:])


def main():
    hloc = pathlib.Path(sys.argv[1]).resolve()
    passed = failed = 0
    for readme in [ROOT / "README.md", *sorted((ROOT / "examples").glob("*/README.md"))]:
        for command, expected in commands(readme.read_text()):
            run = subprocess.run(command, shell=True, cwd=readme.parent, capture_output=True, text=True,
                                 env={"PATH": f"{hloc.parent}:{hloc.parent.parent}/examples:/usr/bin:/bin", "HOME": "/tmp"})
            got = [line.rstrip() for line in (run.stdout + run.stderr).splitlines()]
            while got and not got[-1]:
                got.pop()
            while expected and not expected[-1]:
                expected.pop()
            if matches(expected, got):
                passed += 1
                continue
            failed += 1
            print(f"FAILED {readme.relative_to(ROOT)}: $ {command}\n--- shown\n" + "\n".join(expected) + "\n--- printed\n" + "\n".join(got))
    print(f"lessons: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
