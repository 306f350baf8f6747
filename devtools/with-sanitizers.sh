#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a test of a sanitizer build (meson test --wrapper). A program of this project
# gets the runtime first in LD_PRELOAD, so that it is also first in programs that it
# starts on the model. A script passes it (MANA_PRELOAD) to such programs, which are
# not built with it. Leaks are reported for this project's programs only, because
# testpmd has its own.

leaks=0
more=
case $1 in
*/python3*|*.py|*.sh)
	export MANA_PRELOAD="$MANA_SANITIZER_RUNTIME"
	# Scripts check the signal that ended a program, and the growth of its
	# memory, which includes freed memory in quarantine.
	more=handle_segv=0:handle_abort=0:quarantine_size_mb=1:
	;;
*)
	leaks=1
	export LD_PRELOAD="$MANA_SANITIZER_RUNTIME${LD_PRELOAD:+:$LD_PRELOAD}"
	;;
esac
# Programs are slower with sanitizers.
export MANA_TIMEOUT_FACTOR=4
here=$(dirname "$0")
export ASAN_OPTIONS="${more}detect_leaks=$leaks:exitcode=99:strict_string_checks=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export LSAN_OPTIONS="suppressions=$here/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
exec "$@"
