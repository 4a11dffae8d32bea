/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of many bands against grey images: each band is what it would be alone, with the same draw. */
#include "motley.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6, W = 41, H = 37, MOST = 67 };

static const motley_backend backends[] = { MOTLEY_BACKEND_CPU, MOTLEY_BACKEND_REFERENCE };
static const int32_t channel_counts[] = { 2, 4, 5, 6, 7, 8, 13, MOST };
#define COUNTS (sizeof channel_counts / sizeof *channel_counts)

static const char fills[] =
    "motley: 1\nname: fills\nfill: [10, 200, 90, 33]\ninterpolation: bilinear\nops:\n"
    "  rotate: {range: [0, 30], sign: random}\n  cutout: {low: 3, span: 9}\n  shear_x: {range: [0, 0.4]}\n"
    "bins: 5\nlevel: uniform\nrepeat: 3\nbranches: [rotate, cutout, shear_x, equalize]\n";

static const char stages[] =
    "motley: 1\nname: whole\nstages:\n"
    "  - random_resized_crop: {size: [32, 24], filter: bicubic}\n  - flip: {horizontal: 0.5}\n"
    "  - jitter: {brightness: [0.6, 1.4], contrast: [0.6, 1.4], hue: [-0.1, 0.1]}\n"
    "  - policy: {name: rand_augment, fill: [1, 2, 3]}\n  - blur: {p: 0.5, kernel_size: 5, sigma: [0.1, 2]}\n"
    "  - output: {convention: timm, type: f16}\n";

static const char zoomed[] =
    "motley: 1\nname: zoomed\nstages:\n  - zoom_out: {p: 1, side: [1, 3], fill: [40, 90, 200]}\n"
    "  - resize: {size: [30, 50]}\n  - flip: {vertical: 0.5}\n";

static motley_policy *policy_of(const char *text)
{
    motley_policy *policy = NULL;
    motley_error error = { 0 };
    const motley_status status = strchr(text, '\n') ? motley_policy_parse(text, strlen(text), NULL, &policy, &error)
                                                    : motley_policy_builtin(text, &policy, &error);
    cr_assert(status == MOTLEY_OK, "%s", error.message);
    return policy;
}

static motley_context *context_of(motley_backend backend)
{
    motley_context *context = NULL;
    motley_error error = { 0 };
    const motley_context_params params = { .backend = backend, .threads = 2 };
    cr_assert(motley_context_create(&params, &context, &error) == MOTLEY_OK, "%s", error.message);
    return context;
}

/* Dense bytes, or values of another type. */
typedef struct pixels {
    motley_batch batch;
    size_t element;
    uint8_t *bytes;
} pixels;

static pixels pixels_make(int32_t channels, motley_dtype dtype, motley_layout layout, int32_t width, int32_t height)
{
    pixels p = { .element = dtype == MOTLEY_U8 ? 1 : dtype == MOTLEY_F32 ? 4 : 2 };
    p.bytes = calloc((size_t)N * (size_t)channels * (size_t)width * (size_t)height, p.element);
    cr_assert(p.bytes);
    p.batch = (motley_batch){ .count = N,
                              .channels = channels,
                              .dtype = dtype,
                              .layout = layout,
                              .data = p.bytes,
                              .width = width,
                              .height = height };
    return p;
}

static uint8_t *component(const pixels *p, int i, int c, int y, int x)
{
    const motley_batch *const b = &p->batch;
    const int64_t w = b->width, h = b->height, n = b->channels;
    const int64_t at = b->layout == MOTLEY_CHW ? ((i * n + c) * h + y) * w + x : ((i * h + y) * w + x) * n + c;
    return p->bytes + (size_t)at * p->element;
}

static void fill(const pixels *p)
{
    for (int i = 0; i < N; i++)
        for (int c = 0; c < p->batch.channels; c++)
            for (int y = 0; y < p->batch.height; y++)
                for (int x = 0; x < p->batch.width; x++)
                    *component(p, i, c, y, x) = (uint8_t)(x * (c % 5 + 1) + y * 3 + (x * y >> 3) * (i + 1) + 17 * c);
}

/* Requires that band c of `many` is band k of `few`. */
static void same_band(const pixels *many, int c, const pixels *few, int k, const char *what)
{
    for (int i = 0; i < N; i++)
        for (int y = 0; y < many->batch.height; y++)
            for (int x = 0; x < many->batch.width; x++)
                cr_assert(memcmp(component(many, i, c, y, x), component(few, i, k, y, x), many->element) == 0,
                          "%s, %d bands: image %d, band %d, (%d, %d) differs", what, many->batch.channels, i, c, x, y);
}

/* The bands from `first` on as images of their own. */
static pixels bands_of(const pixels *many, int first, int32_t channels)
{
    const motley_batch *const b = &many->batch;
    const pixels few = pixels_make(channels, b->dtype, MOTLEY_HWC, b->width, b->height);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < channels; c++)
            for (int y = 0; y < b->height; y++)
                for (int x = 0; x < b->width; x++)
                    memcpy(component(&few, i, c, y, x), component(many, i, first + c, y, x), many->element);
    return few;
}

/* What a policy makes of all bands, and of `together` of them. */
static void check_policy(const char *text, motley_backend backend, int32_t channels, motley_layout layout, int together)
{
    motley_context *const context = context_of(backend);
    motley_policy *const policy = policy_of(text);
    const motley_policy_info *const info = motley_policy_describe(policy);
    const int32_t width = info->width ? info->width : W, height = info->height ? info->height : H;
    const pixels src = pixels_make(channels, MOTLEY_U8, layout, W, H);
    const pixels dst = pixels_make(channels, info->dtype, layout, width, height);
    motley_error error = { 0 };
    float means[MOST], stds[MOST];
    fill(&src);
    for (int c = 0; c < channels; c++) {
        means[c] = 0.3f + 0.01f * (float)c;
        stds[c] = 0.2f + 0.005f * (float)c;
    }
    motley_apply_params params = { .samples = { .seed = 11, .first = 70 } };
    const int normalises = info->dtype != MOTLEY_U8;
    params.output.means = normalises ? means : NULL;
    params.output.stds = normalises ? stds : NULL;
    cr_assert(motley_apply(context, policy, &src.batch, &dst.batch, &params, &error) == MOTLEY_OK, "%s", error.message);
    for (int c = 0; c + together <= channels; c += c == 0 ? together : 1) {
        const pixels from = bands_of(&src, c, together);
        const pixels to = pixels_make(together, info->dtype, MOTLEY_HWC, width, height);
        params.output.means = normalises ? means + c : NULL;
        params.output.stds = normalises ? stds + c : NULL;
        cr_assert(motley_apply(context, policy, &from.batch, &to.batch, &params, &error) == MOTLEY_OK, "%s",
                  error.message);
        for (int k = 0; k < (c == 0 ? together : 1); k++) /* behind the fourth: as the first of four */
            same_band(&dst, c + k, &to, k, info->name);
        free(from.bytes);
        free(to.bytes);
    }
    free(src.bytes);
    free(dst.bytes);
    motley_policy_destroy(policy);
    motley_context_destroy(context);
}

static void check_all(const char *text, int together)
{
    for (size_t b = 0; b < sizeof backends / sizeof *backends; b++)
        for (size_t k = 0; k < COUNTS; k++)
            for (int layout = 0; layout < 2; layout++)
                check_policy(text, backends[b], channel_counts[k], (motley_layout)layout, together);
}

Test(bands, policies_and_transforms_work_on_each_band_alone)
{
    static const char *const texts[] = { "rand_augment", "trivial_augment_wide", "augmix", stages, zoomed };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        check_all(texts[k], 1);
}

Test(bands, four_fills_are_those_of_the_first_four)
{
    check_all(fills, 4);
}

Test(bands, outputs_have_a_mean_for_each)
{
    for (size_t k = 0; k < COUNTS; k++)
        for (int turn = 0; turn < 8; turn++) {
            const int32_t channels = channel_counts[k];
            const motley_dtype dtype = turn & 1 ? MOTLEY_F16 : MOTLEY_F32;
            motley_context *const context = context_of(MOTLEY_BACKEND_CPU);
            motley_policy *const policy = policy_of("trivial_augment_wide");
            const pixels src = pixels_make(channels, MOTLEY_U8, turn & 2 ? MOTLEY_CHW : MOTLEY_HWC, W, H);
            const pixels dst = pixels_make(channels, dtype, turn & 4 ? MOTLEY_CHW : MOTLEY_HWC, W, H);
            const pixels out = pixels_make(1, dtype, MOTLEY_CHW, W, H);
            float means[MOST], stds[MOST];
            motley_error error = { 0 };
            fill(&src);
            for (int c = 0; c < channels; c++)
                means[c] = 0.01f * (float)c, stds[c] = c % 4 ? 0.1f * (float)(c % 7) : 0;
            motley_apply_params params = { .samples = { .seed = 5 },
                                           .output = { .batch = dst.batch, .means = means, .stds = stds } };
            for (int again = 0; again < 2; again++) /* tables are kept */
                cr_assert(motley_apply(context, policy, &src.batch, NULL, &params, &error) == MOTLEY_OK, "%s",
                          error.message);
            for (int c = 0; c < channels; c++) {
                const pixels one = bands_of(&src, c, 1);
                const motley_apply_params alone = {
                    .samples = { .seed = 5 }, .output = { .batch = out.batch, .mean = { means[c] }, .std = { stds[c] } }
                };
                cr_assert(motley_apply(context, policy, &one.batch, NULL, &alone, &error) == MOTLEY_OK, "%s",
                          error.message);
                same_band(&dst, c, &out, 0, "output");
                free(one.bytes);
            }
            free(src.bytes);
            free(dst.bytes);
            free(out.bytes);
            motley_policy_destroy(policy);
            motley_context_destroy(context);
        }
}

Test(bands, ops_and_resizes_too)
{
    for (size_t k = 0; k < COUNTS; k++)
        for (int turn = 0; turn < 4; turn++) {
            const int32_t channels = channel_counts[k];
            motley_context *const context = context_of(backends[turn & 1]);
            const pixels src = pixels_make(channels, MOTLEY_U8, turn & 2 ? MOTLEY_CHW : MOTLEY_HWC, W, H);
            const pixels dst = pixels_make(channels, MOTLEY_U8, turn & 2 ? MOTLEY_CHW : MOTLEY_HWC, W, H);
            const pixels small = pixels_make(channels, MOTLEY_U8, MOTLEY_CHW, 20, 50);
            const pixels out = pixels_make(1, MOTLEY_U8, MOTLEY_CHW, W, H),
                         one_small = pixels_make(1, MOTLEY_U8, MOTLEY_CHW, 20, 50);
            double values[N], many_fills[MOST];
            motley_error error = { 0 };
            fill(&src);
            for (int i = 0; i < N; i++)
                values[i] = 7 * i - 20;
            for (int c = 0; c < MOST; c++)
                many_fills[c] = c < 4 ? 50 + 20 * c : 50;
            const motley_resize_params how = { .filter = MOTLEY_FILTER_LANCZOS };
            const motley_op_params params = { .fill = many_fills, .interpolation = MOTLEY_BILINEAR };
            const int rotate = motley_op_find("rotate");
            cr_assert(motley_op_apply(context, rotate, values, 1, &src.batch, &dst.batch, &params, &error) == MOTLEY_OK,
                      "%s", error.message);
            cr_assert(motley_resize(context, &src.batch, &small.batch, &how, &error) == MOTLEY_OK, "%s", error.message);
            for (int c = 0; c < channels; c++) {
                const pixels one = bands_of(&src, c, 1);
                const motley_op_params alone = { .fill = many_fills + c, .interpolation = MOTLEY_BILINEAR };
                cr_assert(motley_op_apply(context, rotate, values, 1, &one.batch, &out.batch, &alone, &error) ==
                              MOTLEY_OK,
                          "%s", error.message);
                same_band(&dst, c, &out, 0, "rotate");
                cr_assert(motley_resize(context, &one.batch, &one_small.batch, &how, &error) == MOTLEY_OK, "%s",
                          error.message);
                same_band(&small, c, &one_small, 0, "resize");
                free(one.bytes);
            }
            many_fills[4] = 51;
            if (channels > 4)
                cr_assert(motley_op_apply(context, rotate, values, 1, &src.batch, &dst.batch, &params, &error) ==
                              MOTLEY_ERR_ARGUMENT &&
                          strstr(error.message, "fill of channel 4 is 51, want the first's, 50"));
            free(src.bytes);
            free(dst.bytes);
            free(small.bytes);
            free(out.bytes);
            free(one_small.bytes);
            motley_context_destroy(context);
        }
}
