/* SPDX-License-Identifier: Apache-2.0 */
/* A normalised output by lines (mot_find_output_line): a table's look-ups by 32 lanes conflict in the banks of shared
 * memory. */
#ifndef MOT_LINES_CUH
#define MOT_LINES_CUH

#include "kernels/cuda/memory.cuh"
#include "kernels/output.h"

/* Byte `i` of a word, shifted to bits 16 to 23 of a float. */
DEVICE float line_byte(uint32_t word, int i)
{
    return __uint_as_float(__byte_perm(word, 0, 0x4044 | i << 8));
}

DEVICE float on_line(const mot_output_line &line, float byte)
{
    return __fmaf_rn(byte, line.scale, line.offset);
}

/* mot_output_on_line of byte `i` of a word. */
DEVICE float line_value(const mot_output_line &line, uint32_t word, int i)
{
    return on_line(line, line_byte(word, i));
}

#endif
