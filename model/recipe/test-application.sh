#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests a DPDK application on modelled MANA ports: builds driver and model where they are
# not built, and runs test_application.py. The one script for a container or a workflow.
#
# usage: test-application.sh [COMMAND]
#   COMMAND  the application, for the shell; $EAL in it stands for EAL's arguments, such as
#            'exec my-application $EAL -- -p 3'. Default: Debian's testpmd
# environment: MANA_BUILD, the build folder (default: build/ of the checkout)

set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

[ -x "${MANA_BUILD:-$root/build}/model/mana-model" ] || "$root/devtools/build.sh" build
/usr/bin/python3 -c 'import pytest' 2>/dev/null || {
	echo "test-application.sh: pytest is missing: apt-get install python3-pytest" >&2
	exit 1
}
[ $# -eq 0 ] || export MANA_APPLICATION="$1"
exec /usr/bin/python3 -m pytest -p no:cacheprovider -v "$here/test_application.py"
