#!/bin/sh
# Runs the Node that `npm ci` installs in node_modules, whichever Node runs npm: `sh scripts/node.sh FILE ARGUMENTS`.
# If that Node cannot start, it says in one line what to do. Only this script puts it in PATH (see bin-links in .npmrc).
folder=$(cd "$(dirname "$0")/../node_modules/node/bin" 2>/dev/null && pwd)
if [ ! -x "$folder/node" ]; then
  problem='node_modules has no Node. Run "npm ci"; if your npm is set to ignore install scripts, "npm ci --ignore-scripts=false".'
elif said=$("$folder/node" --version 2>&1); then
  export PATH="$folder:$PATH"
  # npm hands its settings on to the npm that a program starts, in other folders too
  unset npm_config_bin_links
  exec node "$@"
else
  case $said in
  *libatomic.so*) problem='Node needs the library libatomic. Install it with "apt-get install libatomic1" (Debian, Ubuntu) or "dnf install libatomic" (Fedora, Red Hat).' ;;
  *) problem="Node does not start: $said" ;;
  esac
fi
echo "deskbell: $problem" >&2
exit 1
