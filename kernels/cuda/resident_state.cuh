/* SPDX-License-Identifier: Apache-2.0 */
/* What a CTA of the image kernel knows of the image in its shared memory. */
#ifndef MOT_RESIDENT_STATE_CUH
#define MOT_RESIDENT_STATE_CUH

#include "kernels/cuda/interpolate.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/output.h"
#include "motley/op.h"

/* One CTA's state, at the beginning of its dynamic shared memory, so that every function finds it at a constant
 * address. The image lies behind it, then the staging memory of each warp, then the output's table, if any. */
struct resident_state {
    chain work; /* what remains to be done to a pixel after it was made */
    mot_step step[MOT_WINDOW];
    mot_view work_view, output;      /* a pass writes one of them */
    mot_warp_plan plans[MOT_WINDOW]; /* of the steps ... */
    mot_warp warp[MOT_WINDOW];       /* ... and what they are made from */
    int output_dtype, output_form;   /* and the output_form of resident.cuh */
    int by_lines;                    /* components of the output are made by `line`, and there is no table */
    mot_output_line line[3];         /* of each channel */
    int image_bytes, stage_bytes;
    unsigned long long stretch[MOT_STRETCHES]; /* barriers of an image that is loaded as a whole ... */
    uint32_t phase;                            /* ... what they are at ... */
    int all_here;                              /* ... and whether they have all been waited for */
    int shape[MOT_WINDOW];    /* of the steps as a pass sees them (mot_pass_shape); -1: the step changes nothing */
    int width, height, steps; /* kept in memory: as registers they would be spilled to slower memory */
    mot_stats stats[3];
    alignas(16) uint32_t counts[3][256]; /* the histogram, or other totals (stats.cuh) */
};

/* Bulk copies to addresses that are multiples of 128 are faster: they save 1.5 us of 33 for a point op on 256 x
 * 224x224, on an H200. */
#define MOT_RESIDENT_BYTES ((int)(sizeof(resident_state) + 127) & ~127)
static_assert(MOT_RESIDENT_BYTES + 1024 <= MOT_STATIC_BYTES, "with what the chip reserves; the host counts on it");

DEVICE resident_state &resident_cta()
{
    return *(resident_state *)cta_memory;
}

DEVICE uint8_t *image_memory()
{
    return (uint8_t *)cta_memory + MOT_RESIDENT_BYTES;
}

/* The parts behind the image. */
DEVICE uint32_t *stages()
{
    return (uint32_t *)(image_memory() + resident_cta().image_bytes);
}

DEVICE uint32_t (*output_table())[256]
{
    return (uint32_t(*)[256])(image_memory() + resident_cta().image_bytes + resident_cta().stage_bytes);
}

/* Four bytes through tables: byte i through that of channel (first + i) modulo 3, or of channel 0 if there is one
 * channel. */
DEVICE uint32_t look_up_word(const uint8_t (*table)[256], uint32_t w, int first, int channels)
{
    return look_up_bytes(w, table[first % channels], table[(first + 1) % channels], table[(first + 2) % channels],
                         table[(first + 3) % channels]);
}

#endif
