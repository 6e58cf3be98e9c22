#!/usr/bin/env bash
# Usage: deps.sh LIST. Installs the packages of LIST whose proof is missing, if
# this is Debian or Ubuntu and we are root or may become it without a password.
# Elsewhere it names them: the tests that need them say that they were skipped.
set -euo pipefail

list=$1
missing=()

present() { # a command, or a path with wildcards
	case $1 in
	/*) compgen -G "$1" >/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

check() {
	missing=()
	local package proof
	while read -r package proof _; do
		case $package in '' | '#'*) continue ;; esac
		present "$proof" || missing+=("$package")
	done <"$list"
}

install() {
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

check
if [ ${#missing[@]} -eq 0 ]; then
	echo 'deps: everything is here'
	exit 0
fi

root=()
may=yes
if [ "$(id -u)" -ne 0 ]; then
	root=(sudo -n)
	sudo -n true 2>/dev/null || may=no
fi
command -v apt-get >/dev/null || may=no

if [ $may = yes ]; then
	echo "deps: installing ${missing[*]}"
	# The package lists may be missing or old: fetch them only then.
	install || { "${root[@]}" apt-get update -q && install; }
	check
	[ ${#missing[@]} -eq 0 ] && exit 0
	echo "deps: installed, but still not found: ${missing[*]} (see the proofs in $list)" >&2
	exit 1
fi

echo "deps: not here, and not mine to install: ${missing[*]}"
echo "deps: (Debian's names.) Tests that need them will be skipped and say so."
[ "${CI:-}" != true ]
