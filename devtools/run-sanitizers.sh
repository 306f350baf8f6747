#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds driver, model and tests with the address and undefined-behaviour
# sanitizers and runs meson's tests with them. A finding ends the program, so its
# test fails.
#
# testpmd and libibverbs are the distribution's, not instrumented: the sanitizers'
# runtime libraries are preloaded before the model's (the launcher keeps existing
# entries of LD_PRELOAD first).
#
# usage: run-sanitizers.sh [build folder] [arguments of meson test]
#   default: in a part (MANA_TEST_PART), the tests that test-forms.txt lists for sanitizers;
#   else each program of the suites fast, fault, sequence and corpus on one machine: other
#   tests cover no further code of driver and model

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-sanitizers}
[ $# -eq 0 ] || shift

runtime=
for library in libasan.so libubsan.so; do
	path=$(gcc -print-file-name=$library)
	case $path in
	/*) runtime=$runtime${runtime:+:}$(realpath "$path") ;;
	*)
		echo "FAIL sanitizers: gcc has no $library" >&2
		exit 1
		;;
	esac
done

[ -e "$build/build.ninja" ] || CC=gcc meson setup "$build" "$root" \
	-Db_sanitize=address,undefined -Db_lundef=false \
	-Dbuildtype=debugoptimized -Doptimization=1 -Dc_args=-DMANA_LOCK_ORDER
if [ $# -ne 0 ]; then
	:
elif [ -n "${MANA_TEST_PART:-}" ]; then
	# shellcheck disable=SC2046 # a list of names
	set -- $("$root/devtools/sanitized-tests.py" "$build")
else
	# Without those that start hundreds of processes: each start takes long with sanitizers.
	# shellcheck disable=SC2046 # a list of names
	set -- $("$root/devtools/first-machines.py" "$build" fast fault sequence corpus |
		grep -vxE 'model-(killed-verbs|limits)')
fi
[ $# -ne 0 ] || exit 1

# Programs are slower with sanitizers: a fifth of what they repeat.
export MANA_TEST_PART="${MANA_TEST_PART:-5}"
# Leak checks run in this project's programs, see with-sanitizers.sh.
export MANA_SANITIZER_RUNTIME="$runtime"
# Builds what these tests need.
exec meson test -C "$build" --print-errorlogs --timeout-multiplier 6 \
	--wrapper "$root/devtools/with-sanitizers.sh" "$@"
