#!/usr/bin/env bash
# From nothing to a result: installs what is missing, builds hloc, compiles a network that was trained on handwritten
# digits and lets it read ten of them.
set -euo pipefail
cd "$(dirname "$0")/.."
tests/setup.sh
build=${BUILD:-build}
hloc=$build/src/hloc

echo
echo "\$ hloc run examples/digits/module.hlo --input examples/digits/in0.npy --verbose"
"$hloc" run examples/digits/module.hlo --input examples/digits/in0.npy --verbose
echo
echo "\$ digits examples/digits        # the same through the C++ interface, with pictures"
"$build/examples/digits" examples/digits
echo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "\$ hloc compile examples/digits/module.hlo -o digits.o"
"$hloc" compile examples/digits/module.hlo -o "$work/digits.o"
