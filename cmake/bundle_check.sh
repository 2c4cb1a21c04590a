#!/bin/sh
# bundle_check.sh FOLDER: lists what the programs and libraries in FOLDER need from outside of it, and exits 1 if that is
# more than libc's family, CUDA and cuDNN.
set -eu
cd "$1"
needed=$(for file in spillway cuda_gpu_test *.so*; do
  [ -f "$file" ] && readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
done | sort -u)
status=0
for name in $needed; do
  [ ! -e "$name" ] || continue
  case $name in
    ld-linux*|libc.so.*|libm.so.*|libdl.so.*|librt.so.*|libpthread.so.*|libresolv.so.*) echo "outside: $name (libc)" ;;
    libcuda.so.*|libcudart.so.*|libcudnn*.so.*|libcublas*.so.*) echo "outside: $name (CUDA)" ;;
    *) echo "outside: $name: not in the bundle"; status=1 ;;
  esac
done
# The newest libc that any of them asks for.
newest=$(for file in spillway cuda_gpu_test *.so*; do readelf -V "$file"; done 2>/dev/null |
  grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
echo "needs libc: ${newest#GLIBC_} or later"
exit $status
