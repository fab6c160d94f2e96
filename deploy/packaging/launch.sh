#!/bin/sh
# Says what is missing before the loader would, then becomes the program of this name.
needed=@GLIBC@
found=$(getconf GNU_LIBC_VERSION 2>/dev/null)
found=${found#glibc }
case $found in
  2.*) [ "${found#2.}" -ge "${needed#2.}" ] 2>/dev/null ;;
  *) false ;;
esac || {
  echo "$(basename "$0"): needs glibc $needed or newer, found ${found:-none}" >&2
  exit 1
}
real=$(readlink -f "$0")  # Links to it may have other names.
# As it was typed, for what it proposes to type next.
NOISEFLOOR_CALLED=$0
[ "$(command -v "$(basename "$0")")" != "$0" ] || NOISEFLOOR_CALLED=$(basename "$0")
export NOISEFLOOR_CALLED
exec "$(dirname "$real")/../libexec/$(basename "$real")" "$@"
