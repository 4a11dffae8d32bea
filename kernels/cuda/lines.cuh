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

/* Four components as values of 16 bits, two in a word. */
DEVICE uint2 round_four(int dtype, const float v[4])
{
    return dtype == MOTLEY_F16 ? make_uint2(two_f16(v[0], v[1]), two_f16(v[2], v[3]))
                               : make_uint2(two_bf16(v[0], v[1]), two_bf16(v[2], v[3]));
}

/* The same of a word's bytes. */
DEVICE uint2 round_word(int dtype, const mot_output_line &line, uint32_t word)
{
    const float v[4] = { line_value(line, word, 0), line_value(line, word, 1), line_value(line, word, 2),
                         line_value(line, word, 3) };
    return round_four(dtype, v);
}

#endif
