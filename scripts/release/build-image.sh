#!/bin/sh
# Builds the container image of packaging/Containerfile for each platform, from the package as it was packed, into one manifest list.
# Usage: build-image.sh TARBALL IMAGE [OPTION of podman build ...]
# PLATFORMS: linux/amd64,linux/arm64 where it is not set. PODMAN: the command, with global options.
set -eu
tarball=${1:?'Usage: build-image.sh TARBALL IMAGE [OPTION ...]'}
image=${2:?'Usage: build-image.sh TARBALL IMAGE [OPTION ...]'}
shift 2
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
root="$(dirname "$0")/../.."
cp "$tarball" "$root/packaging/Containerfile" "$root/package-lock.json" "$folder"
# shellcheck disable=SC2086
${PODMAN:-podman} build --format docker --platform "${PLATFORMS:-linux/amd64,linux/arm64}" --manifest "$image" "$@" "$folder"
