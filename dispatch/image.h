/* SPDX-License-Identifier: Apache-2.0 */
/* One image on one worker of the CPU: where its pixels come from (crop, resize, window, flips, or as they are), its
 * steps, and its result: bytes, or an output, and erased boxes. */
#ifndef MOT_IMAGE_H
#define MOT_IMAGE_H

#include "dispatch/request.h"
#include "kernels/cpu.h"
#include "kernels/output.h"

/* Bytes of a dense image of this size, in whole cache lines. */
size_t mot_image_bytes(int32_t width, int32_t height, int32_t channels);

/* Channels of an image of bytes that are worked on together. The loops take up to four; of more, which are bands, they
 * get four, two or one at a time, since three would be colours. */
typedef struct mot_part {
    int first, count;
} mot_part;

/* The part that begins at channel `first`. */
mot_part mot_part_at(int first, int channels);
mot_view mot_part_view(const motley_batch *batch, size_t i, mot_part part);

static inline int mot_part_most(int channels)
{
    return channels < 4 ? channels : 4;
}

/* Bytes of a worker's memory for any image of a job, aligned to MOT_CPU_ALIGN. */
size_t mot_image_memory(const mot_cpu_rows *rows, const mot_job *job);

/* These functions get no steps that change nothing. `place`: of stages, else NULL. */

/* Nanoseconds that image i of a job takes, roughly. */
float mot_image_cost(const mot_cpu_rows *rows, const mot_job *job, size_t i, const motley_place *place,
                     const mot_step *steps, int count);

/* Makes image i. `output` [channels]: what the results have of each. */
void mot_image_run(const mot_cpu_rows *rows, const mot_job *job, const mot_output_channel *output, size_t i,
                   const motley_place *place, const mot_step *steps, int count, uint8_t *memory);

/* Runs steps from src to `end`, which may be the same pixels. All steps up to the last that mixes are chains; hue and
 * kernel blurs run between runs of ops. Pixels are copied only if no pass can write them to their destination.
 * `memory`: another image, and what any kernel needs. */
void mot_image_steps(const mot_cpu_rows *rows, const mot_step *steps, int count, const mot_view *src,
                     const mot_view *end, uint8_t *memory);

#endif
