#!/bin/sh
# usage: run_spin.sh SPIN CC MODEL.pml [BUG]    Searches the whole state space under weak fairness. Without BUG, 0: the property holds;
# with it, 0: the search finds that it does not. The work files go to a folder of their own.
set -eu
spin=$1 cc=$2 model=$3 bug=${4:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$spin" -DBUG="$bug" -a "$model" > spin.log || { cat spin.log; exit 2; }
"$cc" -O1 -w -DNOREDUCE -o pan pan.c # NOREDUCE: fairness with partial order reduction is not complete
./pan -a -f -m200000 > pan.log || true
grep -E 'errors:|states, stored|too small|out of memory' pan.log || { cat pan.log; exit 2; }
! grep -qE 'too small|out of memory' pan.log || exit 2 # not the whole space
if [ "$bug" = 0 ]; then
  grep -q 'errors: 0' pan.log
else
  ! grep -q 'errors: 0' pan.log
fi
