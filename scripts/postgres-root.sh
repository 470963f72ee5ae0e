#!/bin/sh
# Copies programs with their shared libraries into a directory that becomes part of an image without shell and package
# manager: postgres-root.sh DIRECTORY PATH...
# The C library and those of the compiler are left out: the base image has them.
set -eu
out=$1
shift
for path; do
  mkdir -p "$out$(dirname "$path")"
  cp -a "$path" "$out$path"
done
# Compilation at run time needs LLVM, 120 MB; the server goes on without.
find "$out" \( -name 'llvmjit*' -o -name bitcode \) -prune -exec rm -rf {} +
find "$out" -type f \( -perm -u+x -o -name '*.so*' \) -exec ldd {} + 2>/dev/null |
  sed -n 's/.* => \(\/[^ ]*\) (.*/\1/p' | sort -u | while read -r library; do
  name=$(basename "$library")
  case $name in libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libresolv.so.* | libgcc_s.so.* | libstdc++.so.*) continue ;; esac
  directory=$(readlink -f "$(dirname "$library")")
  mkdir -p "$out$directory"
  [ -e "$out$directory/$name" ] || cp -L "$library" "$out$directory/$name"
done
