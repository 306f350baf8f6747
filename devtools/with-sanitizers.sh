#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a test of a sanitizer build (meson test --wrapper). A program of ours is
# given the runtime first in LD_PRELOAD, so that it is also first in what the
# program starts on the model; a script passes it on (MANA_PRELOAD) to the
# programs that it starts on the model, which are not built with it. Leaks are
# reported for our own programs only: testpmd has its own.

leaks=0
more=
case $1 in
*/python3*|*.py|*.sh)
	export MANA_PRELOAD="$MANA_SANITIZER_RUNTIME"
	# Scripts look at the signal that ended a program, and at the growth of
	# its memory, to which freed memory in quarantine would add.
	more=handle_segv=0:handle_abort=0:quarantine_size_mb=1:
	;;
*)
	leaks=1
	export LD_PRELOAD="$MANA_SANITIZER_RUNTIME${LD_PRELOAD:+:$LD_PRELOAD}"
	;;
esac
# Everything takes longer, the model's device too.
export MANA_TEST_PATIENCE_MS=20000
here=$(dirname "$0")
export ASAN_OPTIONS="${more}detect_leaks=$leaks:exitcode=99:strict_string_checks=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export LSAN_OPTIONS="suppressions=$here/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
exec "$@"
