#!/bin/sh
# Builds a program with a sanitizer, by each compiler, and runs it with Comity's library.
# told: a library that is not built for the sanitizer says which one is. clean: one that is leads to no report but a true one.
# usage: run.sh told|clean address|thread LIBRARY_FOLDER HEADERS WORK_FOLDER COMPILER...
set -eu
expected=$1 sanitizer=$2 libraries=$3 headers=$4 work=$5
shift 5
here=$(dirname "$0")
mkdir -p "$work"

fail() { echo "$program: $*; it said:" >&2; cat "$work/said" >&2; exit 1; }

flag=$sanitizer
[ "$expected-$sanitizer" != clean-address ] || flag=address,undefined # as the preset

for compiler; do
  program=$work/$(basename "$compiler")-$sanitizer
  $compiler -std=c++20 -g -O1 -fsanitize="$flag" -I"$headers" "$here/main.cpp" -o "$program" -L"$libraries" -lcomity \
    -Wl,-rpath,"$libraries" -pthread
  status=0
  "$program" > "$work/said" 2>&1 || status=$?
  case $expected-$sanitizer in
  told-thread)
    [ $status != 0 ] || fail "it did not end"
    grep -q "preset tsan" "$work/said" || fail "the library is not named"
    ;;
  told-address)
    grep -q "preset asan" "$work/said" || fail "the library is not named"
    ;;
  clean-*)
    [ $status = 0 ] || fail "status $status"
    [ "$(cat "$work/said")" = "caught 500" ] || fail "there is a report"
    ;;
  esac
  if [ $expected-$sanitizer = clean-thread ]; then
    # Without interruptions: see docs/sanitizers.md.
    if COMITY_STALL_MS=0 COMITY_HARTS=2 "$program" race > "$work/said" 2>&1; then fail "the race was not seen"; fi
    grep -q "data race" "$work/said" || fail "the race was not seen"
  fi
done
