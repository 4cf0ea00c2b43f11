# What the scripts share: where things are, and how they speak. To be sourced.
# shellcheck shell=bash

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/giltrace

# Status of giltrace's own failures; see giltrace(1).
failed=125

say() {
	printf 'giltrace: %s\n' "$1" >&2
	shift
	(($# == 0)) || printf '  %s\n' "$@" >&2
}

fail() {
	say "$@"
	exit $failed
}

# Runs a command of the distribution: version managers put a python3 of their own first on PATH, and
# that one has neither meson nor pytest.
distribution() {
	PATH=/usr/bin:/bin:$PATH "$@"
}

# Runs a command that speaks only when it fails.
quietly() {
	local output
	output=$("$@" 2>&1 </dev/null) && return
	printf '%s\n' "$output" >&2
	return 1
}
