#!/bin/sh
# Stages the package on npm, with provenance. Nobody can install it until a maintainer has approved it with a second factor: npm stage approve ID.
# Usage: stage-package.sh TARBALL [OPTION of npm stage publish ...]
set -eu
tarball=${1:?'Usage: stage-package.sh TARBALL [OPTION ...]'}
shift
# who installs without a version gets no version to try
case ${tarball##*/} in
  *-*-*.tgz) tag=next ;;
  *) tag=latest ;;
esac
case $tarball in
  /*) ;;
  # without it, npm would take a folder and a name for a repository on GitHub
  *) tarball=./$tarball ;;
esac
npm stage publish "$tarball" --access public --tag "$tag" "$@"
