#!/usr/bin/env bash
# Everything that CI checks, from a bare Debian machine with Go: installs what
# is missing (a C compiler for the race detector, make, a browser for the
# report's tests), then runs make check.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
command -v make >/dev/null || missing+=(make)
command -v git >/dev/null || missing+=(git)
command -v chromium >/dev/null || missing+=(chromium)
if [ ${#missing[@]} -gt 0 ]; then
	echo "installing ${missing[*]}"
	sudo=
	[ "$(id -u)" -eq 0 ] || sudo=sudo
	$sudo apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
make check
