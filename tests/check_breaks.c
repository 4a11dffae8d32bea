/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's kernels of breaks (kernels/cuda/breaks.cu) against the CPU's loops, with their threads run by
 * tests/emulate: kernel blurs of every size, also where the two passes are unsure or nothing is known of the
 * weights, and ops of shape FILTER, between layouts and in place. */
#include "augmentations/kernel_blur.h"
#include "dispatch/image.h"
#include "kernels/cuda/breaks.h"
#include "tests/emulate/emulate.h"
#include "tests/inputs.h"
#include "tests/test.h"

#include <stdio.h>

#define IMAGES 3
#define SIDE 150
#define BYTES (SIDE * SIDE * 4)

static uint8_t pixels[IMAGES * BYTES], found[IMAGES * BYTES], spare[IMAGES * BYTES], want[BYTES];
static uint16_t made[IMAGES * BYTES];
static uint64_t random_state = 20181002;

/* Image i of `data`, in packed pixels or planes. */
static mot_view view_at(uint8_t *data, int i, int width, int height, int channels, int planar)
{
    const int pixel = planar ? 1 : channels;
    return (mot_view){
        data + i * BYTES,           width, height, channels, channels % 2 == 0, (int64_t)width * pixel, pixel,
        planar ? width * height : 1
    };
}

static mot_cuda_batch batch_at(uint8_t *data, const mot_view *v)
{
    return (mot_cuda_batch){ .data = data,
                             .image = BYTES,
                             .width = v->width,
                             .height = v->height,
                             .row = v->row,
                             .pixel = v->pixel,
                             .channel = v->channel,
                             .samples = IMAGES };
}

/* Image i by the CPU, into `want`. */
static void run_cpu(const mot_step *step, const mot_view *src)
{
    static _Alignas(MOT_CPU_ALIGN) uint8_t memory[(1 << 20) + BYTES];
    const mot_view to = view_at(want, 0, src->width, src->height, src->channels, 0);
    mot_rows_reference.copy(src, &to);
    if (step->arg.flags & MOT_ARG_IDENTITY)
        return;
    if (step->op == MOTLEY_STEP_KERNEL_BLUR)
        mot_rows_reference.kernel_blur(src, &to, (const float *)step->arg.u, (int)step->arg.size, memory);
    if (step->op >= 0)
        mot_image_steps(&mot_rows_reference, step, 1, &to, &to, memory);
}

static mot_step random_step(int width, int height, int size, int kind)
{
    static const double sigmas[] = { 0.05, 0.5, 1, 2.7, 50 };
    mot_step step = { .arg.flags = kind < 2 ? MOT_ARG_IDENTITY : 0 };
    float half[MOTLEY_KERNEL_WEIGHTS] = { 0 };
    if (kind < 2)
        return step;
    if (kind < 5) {
        do
            step.op = (int32_t)(input_random(&random_state) % MOT_OP_COUNT);
        while (mot_shape_of(step.op) != MOTLEY_SHAPE_FILTER);
        return step;
    }
    step.op = MOTLEY_STEP_KERNEL_BLUR;
    while (size / 2 >= width || size / 2 >= height)
        size -= 2;
    mot_kernel_blur_weights(sigmas[input_random(&random_state) % 5], size, half);
    if (kind == 5) /* sums end in .5 nearly everywhere */
        half[0] = 0.5f, half[1] = 0.25f, memset(half + 2, 0, sizeof half - 2 * sizeof *half);
    if (kind == 6)
        half[1] = -half[1];
    step.arg.size = (uint32_t)size;
    memcpy(step.arg.u, half, sizeof half);
    return step;
}

static int check_turn(int turn, int width, int height)
{
    const int channels = 1 + turn % 4, from = turn / 4 % 2, to = turn / 8 % 2, in_place = turn % 3 == 0;
    mot_step steps[IMAGES];
    mot_view src[IMAGES];
    int kinds = 0, taps = 0, wrong = 0;
    for (int i = 0; i < IMAGES; i++) {
        src[i] = view_at(pixels, i, width, height, channels, from);
        input_fill((input_kind)((turn + i) % INPUT_KINDS), input_random(&random_state), (input_size){ width, height },
                   channels, pixels + i * BYTES);
        steps[i] = random_step(width, height, 3 + 2 * (turn % 11), (turn + 3 * i) % 10);
        kinds |= mot_break_of(steps[i].op);
        if (mot_break_of(steps[i].op) == MOT_BREAK_BLUR && (int)steps[i].arg.size > taps)
            taps = (int)steps[i].arg.size;
    }
    if (in_place)
        memcpy(found, pixels, sizeof found);
    const mot_view dst = view_at(found, 0, width, height, channels, in_place ? from : to);
    const mot_break_job job = { .src = batch_at(in_place ? found : pixels, &src[0]),
                                .dst = batch_at(found, &dst),
                                .spare = batch_at(spare, &dst),
                                .in_place = in_place,
                                .count = IMAGES,
                                .channels = channels,
                                .kinds = kinds,
                                .taps = taps,
                                .step = steps,
                                .width = width,
                                .height = height,
                                .multiprocessors = 1 };
    emulate_backwards = turn & 1;
    need(mot_break_launch(&job, NULL) == cudaSuccess, "launching");
    for (int i = 0; i < IMAGES && !wrong; i++) {
        const mot_view got = view_at(found, i, width, height, channels, in_place ? from : to);
        run_cpu(&steps[i], &src[i]);
        for (int k = 0; k < width * height * channels && !wrong; k++) {
            const int c = k % channels, x = k / channels % width, y = k / channels / width;
            const uint8_t is = got.data[y * got.row + x * got.pixel + c * got.channel];
            if ((wrong = is != want[k]))
                printf("turn %d, image %d, step %d, %dx%d, %d channels: (%d, %d) %d is %d, want %d\n", turn, i,
                       (int)steps[i].op, width, height, channels, x, y, c, is, want[k]);
        }
    }
    return wrong;
}

/* Blurs of few taps whose results are written as an output. */
static int check_output(int turn)
{
    enum { WIDTH = 48, HEIGHT = 50, CHANNELS = 3 };
    mot_output_as as = { .dtype = turn & 1 ? MOTLEY_F16 : MOTLEY_BF16,
                         .mean = { 0.485f, 0.456f, 0.406f },
                         .std = { 0.229f, 0.224f, 0.225f } };
    mot_cuda_output output = { .dtype = as.dtype, .by_lines = 1 };
    uint32_t values[CHANNELS][256];
    mot_step steps[IMAGES];
    mot_view src[IMAGES];
    mot_cpu_make_output(&as, CHANNELS, values);
    for (int c = 0; c < CHANNELS; c++)
        need(mot_find_output_line(&as, c, values[c], &output.line[c]), "a line");
    for (int i = 0; i < IMAGES; i++) {
        src[i] = view_at(pixels, i, WIDTH, HEIGHT, CHANNELS, 1);
        input_fill((input_kind)((turn + i) % INPUT_KINDS), input_random(&random_state), (input_size){ WIDTH, HEIGHT },
                   CHANNELS, pixels + i * BYTES);
        steps[i] = random_step(WIDTH, HEIGHT, 3 + 2 * (turn % 4), i == turn % 4 ? 0 : 5 + (turn + i) % 5);
    }
    const mot_view to = { (uint8_t *)made, WIDTH, HEIGHT, CHANNELS, 0, 2 * WIDTH + 8, 2, (2 * WIDTH + 8) * HEIGHT };
    mot_break_job job = { .src = batch_at(pixels, &src[0]),
                          .output = batch_at((uint8_t *)made, &to),
                          .as = output,
                          .has_output = 1,
                          .count = IMAGES,
                          .channels = CHANNELS,
                          .kinds = MOT_BREAK_BLUR,
                          .taps = MOT_BREAK_FEW_TAPS,
                          .step = steps,
                          .width = WIDTH,
                          .height = HEIGHT,
                          .multiprocessors = 1 };
    job.output.image = 2 * BYTES;
    need(mot_break_launch(&job, NULL) == cudaSuccess, "launching");
    for (int i = 0; i < IMAGES; i++) {
        run_cpu(&steps[i], &src[i]);
        for (int k = 0; k < WIDTH * HEIGHT * CHANNELS; k++) {
            const int c = k % CHANNELS, x = k / CHANNELS % WIDTH, y = k / CHANNELS / WIDTH;
            const uint16_t is = made[i * BYTES + c * (int)to.channel / 2 + y * (int)to.row / 2 + x];
            if (is == (uint16_t)mot_output_entry(&as, 256 * c + want[k]))
                continue;
            printf("output, turn %d, image %d: (%d, %d) %d is %04x\n", turn, i, x, y, c, is);
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    static const int sizes[][2] = { { 2, 2 }, { 5, 3 }, { 64, 64 }, { 65, 40 }, { 150, 131 }, { 33, 150 } };
    int wrong = 0;
    for (int turn = 0; turn < 240 && !wrong; turn++)
        wrong = check_turn(turn, sizes[turn % 6][0], sizes[turn % 6][1]);
    for (int turn = 0; turn < 24 && !wrong; turn++)
        wrong = check_output(turn);
    return wrong;
}
