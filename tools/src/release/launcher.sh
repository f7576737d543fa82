#!/bin/sh
# Starts flotilla by the Node beside this file, or by the one in PATH where there is none.
file=$0
while [ -L "$file" ]; do
  link=$(readlink "$file")
  case $link in
    /*) file=$link ;;
    *) file=${file%/*}/$link ;;
  esac
done
case $file in
  */*) folder=${file%/*} ;;
  *) folder=. ;;
esac
if [ -x "$folder/node" ]; then exec "$folder/node" "$folder/main.mjs" "$@"; fi
if command -v node >/dev/null; then exec node "$folder/flotilla.cjs" "$@"; fi
echo "flotilla: there is no Node in PATH: install Node 24, or put its program as $folder/node" >&2
exit 1
