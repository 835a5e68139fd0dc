#!/bin/sh
# Builds a strict C11 program by nothing but what pkg-config says of Comity below PREFIX/LIBDIR, and runs it.
# usage: run.sh CC PREFIX LIBDIR WORK_FOLDER
set -eu
cc=$1 prefix=$2 libdir=$2/$3 work=$4
export PKG_CONFIG_PATH="$libdir/pkgconfig"

mkdir -p "$work"
$cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$(dirname "$0")/main.c" -o "$work/consumer" \
  $(pkg-config --cflags --libs comity) -Wl,-rpath,"$libdir"
"$work/consumer" "$(pkg-config --modversion comity)"

# A program written to Argobots' abt.h.
$cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$(dirname "$0")/argobots.c" -o "$work/argobots_consumer" \
  $(pkg-config --cflags --libs comity-abt) -Wl,-rpath,"$libdir"
"$work/argobots_consumer"

# The relocatable prefix points at this installation, and the soname is the one that is promised.
[ "$(realpath "$(pkg-config --variable=libdir comity)")" = "$(realpath "$libdir")" ]
objdump -p "$work/consumer" | grep -q 'NEEDED *libcomity\.so\.0$'
