#!/bin/sh
# What --config=stamp lets into images: the commit, marked when files differ from it.
set -eu
commit=$(git rev-parse HEAD)
[ -z "$(git status --porcelain)" ] || commit=$commit-dirty
echo "STABLE_GIT_COMMIT $commit"
