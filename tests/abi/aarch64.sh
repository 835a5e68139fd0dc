#!/bin/sh
# Cross-builds libcomity and its unit tests for aarch64 (preset aarch64, build/aarch64) and runs them under qemu-user.
# usage: aarch64.sh JOBS
set -eu
cd "$(dirname "$0")/../.."
echo "== aarch64: configure"
cmake --preset aarch64 --log-level=WARNING
echo "== aarch64: build"
cmake --build --preset aarch64 --parallel "$1"
readelf -h build/aarch64/lib/libcomity.so.0 | grep -q AArch64
echo "== aarch64: test"
ctest --preset aarch64 --parallel "$1"
