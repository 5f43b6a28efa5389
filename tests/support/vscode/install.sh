#!/bin/sh
# Installs code-server (an extension host and a workbench without a desktop) and the Node that it wants into folder $1,
# from npm. Scripts of packages are not run: what they compile is the log, a watchdog and a search that no test needs.
set -eu
cd "$1"
quiet="--ignore-scripts --no-audit --no-fund --silent --fetch-timeout=60000 --fetch-retries=1"
# shellcheck disable=SC2086 # words, not one word
npm install $quiet
cd node_modules/code-server/lib/vscode
npm pkg delete 'dependencies.@github/copilot' 'dependencies.@github/copilot-sdk' # 400 MB that nothing here calls
# shellcheck disable=SC2086
npm install --omit=dev $quiet
