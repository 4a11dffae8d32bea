#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the widest of meson's cpu_sets that this processor runs. Tests of it and of the base set, which is always built,
# cover the loops: the base set reads 16 bytes at once, and the widest most; those between are the same loops.
set=avx2
! grep -q avx512bw /proc/cpuinfo || set=avx512
! grep -q avx512_vbmi /proc/cpuinfo || set=avx512vbmi
echo $set
