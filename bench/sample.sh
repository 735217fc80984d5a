#!/bin/bash
# A piece of an ordinary script, to be read by the analyser's benchmark; it is never run.
set -euo pipefail

readonly here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build_dir=${BUILD_DIR:-"$here/build"}
declare -a targets=(nacre libnacre tests 'man pages')
declare -A packages=([gcc]=gcc [meson]=meson [ninja]=ninja-build)

log() {
	local level=$1
	shift
	printf '%s [%s] %s\n' "$(date +%H:%M:%S)" "$level" "$*" >&2
}

usage() {
	cat <<-END
		usage: ${0##*/} [-v] [-j JOBS] [TARGET...]
		    -v       say more
		    -j JOBS  run that many at a time (now: ${jobs:-1})
	END
	exit "${1:-0}"
}

check_tools() {
	local tool missing=()

	for tool in "${!packages[@]}"; do
		if ! command -v "$tool" >/dev/null 2>&1; then
			missing+=("${packages[$tool]}")
		fi
	done
	if ((${#missing[@]} > 0)); then
		log error "missing: ${missing[*]}"
		return 1
	fi
}

while getopts 'vj:h' option; do
	case $option in
	v) verbose=yes ;;
	j) jobs=$OPTARG ;;
	h | \?) usage 2 ;;
	esac
done
shift $((OPTIND - 1))

for target in "${@:-${targets[@]}}"; do
	[[ $target == *' '* || -z $target ]] && continue
	mkdir -p "$build_dir/$target" || exit 1
	if [ "${verbose:-no}" = yes ]; then
		find "$here/src" -name '*.[ch]' -newer "$build_dir/.stamp" -print0 |
			sort -z | xargs -0 -r wc -l | tail -n 1
	fi
	(cd "$build_dir/$target" && ninja -j "${jobs:-1}" all) > "$build_dir/$target.log" 2>&1 || {
		log error "target $target failed, see $build_dir/$target.log"
		tail -n 20 -- "$build_dir/$target.log" | sed 's/^/    /' >&2
		exit 1
	}
	size=$(stat -c %s "$build_dir/$target.log")
	total=$((${total:-0} + size))
done

git -C "$here" log --oneline -n 5 --format='%h %s' | while IFS=' ' read -r hash subject; do
	echo "  $hash  ${subject:0:60}"
done
{ date; echo "total: ${total:-0} bytes"; } >> "$build_dir/history.txt"
rm -f "$build_dir"/*.tmp "$build_dir/.lock"
touch "$build_dir/.stamp"
