/* SPDX-License-Identifier: Apache-2.0 */
/* torchvision's blur on every instruction set of the CPU against the reference, whose bytes tests/pillow compares with
 * torchvision's: every size of a kernel, pictures that round where the two passes are unsure, layouts, odd weights. */
#include "augmentations/kernel_blur.h"
#include "kernels/cpu.h"
#include "tests/inputs.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST 80

static uint8_t pixels[MOST * MOST * 4], want[MOST * MOST * 4], found[MOST * MOST * 4];

static mot_view view_of(uint8_t *data, int width, int height, int channels, int planar)
{
    const int pixel = planar ? 1 : channels;
    return (mot_view){ data, width, height, channels, 0, (int64_t)width * pixel, pixel, planar ? width * height : 1 };
}

static int compare(const mot_cpu_rows *set, int width, int height, int channels, int planar, const float *half,
                   int size)
{
    static _Alignas(MOT_CPU_ALIGN) uint8_t scratch[1 << 20];
    const size_t bytes = (size_t)width * (size_t)height * (size_t)channels;
    const mot_view src = view_of(pixels, width, height, channels, planar);
    const mot_view expected = view_of(want, width, height, channels, planar);
    const mot_view got = view_of(found, width, height, channels, planar);
    if (mot_cpu_kernel_blur_scratch(width, channels, size) > sizeof scratch)
        return 1;
    mot_rows_reference.kernel_blur(&src, &expected, half, size, scratch);
    set->kernel_blur(&src, &got, half, size, scratch);
    for (size_t i = 0; i < bytes; i++)
        if (want[i] != found[i]) {
            printf("%s: %dx%d, %d channels%s, kernel %d, weights %g %g ...: byte %zu is %d, want %d\n", set->name,
                   width, height, channels, planar ? " in planes" : "", size, (double)half[0], (double)half[1], i,
                   found[i], want[i]);
            return 1;
        }
    return 0;
}

int main(void)
{
    static const double sigmas[] = { 0.05, 0.3, 1, 2.7, 50 };
    const mot_cpu_rows *sets[MOT_CPU_SETS];
    const size_t count = mot_cpu_sets(sets);
    uint32_t turn = 0;
    int wrong = 0;
    for (size_t s = 0; s < count && !wrong; s++)
        for (int size = 3; size <= MOTLEY_MAX_KERNEL && !wrong; size += 2)
            for (int k = 0; k < 8 && !wrong; k++) {
                float half[MOTLEY_KERNEL_WEIGHTS] = { 0 };
                mot_kernel_blur_weights(sigmas[k < 5 ? k : 1], size, half);
                if (k == 5) /* sums end in .5 nearly everywhere */
                    half[0] = 0.5f, half[1] = 0.25f, memset(half + 2, 0, sizeof half - 2 * sizeof *half);
                if (k == 6)
                    half[1] = -half[1];
                for (int kind = 0; kind < INPUT_KINDS && !wrong; kind++, turn++) {
                    const int width = size / 2 + 1 + (int)(turn * 37 % 60),
                              height = size / 2 + 1 + (int)(turn * 11 % 30);
                    const int channels = 1 + (int)(turn % 4), planar = (int)(turn / 4 % 2);
                    input_fill((input_kind)kind, turn, (input_size){ width, height }, channels, pixels);
                    wrong = compare(sets[s], width, height, channels, planar, half, size);
                }
            }
    return wrong;
}
