#!/bin/sh
# Checks that `node` starts and is new enough, and otherwise says in one line what to do. In scripts of package.json,
# `node` is the one that `npm ci` installs in node_modules, whichever Node runs npm. It is a shell script because no Node
# may be there that could run it.
required=$(sed -n 's/.*"node": ">=\([0-9]*\)".*/\1/p' "$(dirname "$0")/../package.json")
if version=$(node --version 2>&1); then
  major=${version#v}
  [ "${major%%.*}" -ge "$required" ] && exit 0
  problem="this is Node $version, and $required or newer is needed. Run npm ci, which installs one in node_modules."
else
  problem="Node does not start: $version"
  case $version in
  *libatomic.so*) problem="Node needs the library libatomic. Install it with \"apt-get install libatomic1\" (Debian, \
Ubuntu) or \"dnf install libatomic\" (Fedora, Red Hat)." ;;
  esac
fi
echo "deskbell: $problem" >&2
exit 1
