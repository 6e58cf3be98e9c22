#!/usr/bin/env bash
# Usage: ci.sh TARGET... Makes the targets in turn, stops at the first that fails,
# and ends with the seconds of each.
set -uo pipefail

make=${MAKE:-make}
table='' failed='' left=''
began=$SECONDS
for target in "$@"; do
	if [ -n "$failed" ]; then
		left+=" $target"
		continue
	fi
	printf '\n=== make %s\n' "$target"
	start=$SECONDS
	$make --no-print-directory "$target"
	status=$?
	verdict=ok
	if [ $status -ne 0 ]; then
		failed=$target verdict="FAILED (exit $status)"
	fi
	table+=$(printf '%5d s  %-16s %s' $((SECONDS - start)) "$target" "$verdict")$'\n'
done

printf '\n=== seconds per target\n%s%5d s  in all\n' "$table" $((SECONDS - began))
if [ -n "$failed" ]; then
	printf 'ci: FAILED at make %s; what it said is above.%s\n' "$failed" "${left:+ Not run:$left.}"
	exit 1
fi
printf 'ci: all passed\n'
