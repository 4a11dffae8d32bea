/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of the results of transforms on fixed images with fixed draws: every built-in one and each of its views, those
 * of detection with boxes, a
 * resize by each filter in both orders of its passes, and mixes by both libraries' rules. Each is a line of
 * golden/transforms.hashes; see hashes.h. Recorded draws must give the same bytes. */
#include "tests/builtins.h"
#include "tests/hashes.h"
#include "tests/inputs.h"

#include <stdlib.h>

#define IMAGES 24
#define MOST_SIDE 260
#define BOXES 6 /* of an image, fewer */

#define HEAD "motley: 1\nname: x\nstages:\n"
#define RESIZE(filter, order) \
    { \
        "resize, " filter ", " order, HEAD "  - resize: {size: [41, 67], filter: " filter ", order: " order "}\n" \
    }
#define BOTH(filter) RESIZE(filter, "pillow-13"), RESIZE(filter, "pillow-12")
#define MIX(name, settings) \
    { \
        "mix, " name, \
            HEAD "  - resize: {size: [32, 32]}\n  - output: {mean: 0.5, std: 0.25}\n  - mix: {" settings "}\n" \
    }
static const struct {
    const char *name, *text;
} written[] = { BOTH("bilinear"),
                BOTH("bicubic"),
                BOTH("lanczos"),
                BOTH("nearest"),
                BOTH("box"),
                BOTH("hamming"),
                { "crop and window", HEAD "  - resize: {size: 60, filter: bicubic}\n  - random_crop: {size: [80, 60], "
                                          "padding: 20}\n  - flip: {horizontal: 0.5, vertical: 0.5}\n" },
                { "blur by a kernel", HEAD "  - blur: {kernel_size: 23, sigma: [0.1, 2]}\n  - blur: {p: 0.5, "
                                           "kernel_size: 5, sigma: [1, 3]}\n" },
                { "own sizes", HEAD "  - policy: trivial_augment_wide\n  - grayscale: {p: 0.5}\n" },
                { "own sizes, normalised", HEAD "  - policy: trivial_augment_wide\n  - jitter: {hue: [-0.3, 0.3]}\n"
                                                "  - blur: {p: 0.5, kernel_size: 7, sigma: [0.5, 2]}\n"
                                                "  - output: {mean: 0.5, std: 0.25}\n" },
                MIX("torchvision", "mixup: 0.2, cutmix: 1"),
                MIX("timm, elem", "mixup: 0.8, cutmix: 1, rules: timm, mode: elem, p: 0.8"),
                MIX("timm, pair", "mixup: 0.8, cutmix: 1, rules: timm, mode: pair, minmax: [0.2, 0.8]"),
                MIX("drawn partners", "cutmix: 1, mode: elem, partner: drawn, lambda: drawn") };
#define WRITTEN (sizeof written / sizeof *written)

/* Images of different sizes one after another in the context's memory, and where their results go. */
typedef struct pictures {
    motley_image src[IMAGES], dst[IMAGES];
    size_t bytes, out_bytes;
    void *memory, *out;
} pictures;

/* Packed pixels of `size` bytes a component. */
static motley_image packed(int32_t width, int32_t height, size_t size, size_t offset)
{
    return (motley_image){ .data = (void *)offset,
                           .width = width,
                           .height = height,
                           .row_stride = (int64_t)width * 3 * (int64_t)size,
                           .pixel_stride = 3 * (int64_t)size,
                           .channel_stride = (int64_t)size };
}

/* Boxes of every image, of whole and half pixels; some are empty. */
static void place_boxes(const pictures *p, double boxes[][4], size_t offsets[])
{
    uint64_t state = 7;
    size_t n = 0;
    for (int i = 0; i < IMAGES; i++) {
        offsets[i] = n;
        for (int b = 0; b < i % BOXES; b++, n++)
            for (int k = 0; k < 2; k++) {
                const uint64_t most = 2 * (uint64_t)(k ? p->src[i].height : p->src[i].width) + 1;
                const double x = (double)(input_random(&state) % most) / 2,
                             y = (double)(input_random(&state) % most) / 2;
                boxes[n][k] = x < y ? x : y;
                boxes[n][2 + k] = x < y ? y : x;
            }
    }
    offsets[IMAGES] = n;
}

/* Lays out the images, and their results, of the sizes that their samples draw. */
static motley_status lay_out(pictures *p, const motley_policy *transform, const motley_samples *samples,
                             motley_error *error)
{
    const motley_policy_info *const info = motley_policy_describe(transform);
    const size_t size = info->dtype == MOTLEY_U8 ? 1 : 4;
    int32_t widths[IMAGES], heights[IMAGES];
    for (int i = 0; i < IMAGES; i++) {
        widths[i] = p->src[i].width;
        heights[i] = p->src[i].height;
    }
    const motley_status status =
        motley_policy_result_sizes(transform, samples, IMAGES, widths, heights, widths, heights, error);
    for (int i = 0; i < IMAGES; i++) {
        motley_image *const from = &p->src[i], *const to = &p->dst[i];
        *from = packed(from->width, from->height, 1, p->bytes);
        *to = packed(widths[i], heights[i], size, p->out_bytes);
        p->bytes += (size_t)from->width * (size_t)from->height * 3;
        p->out_bytes += (size_t)to->width * (size_t)to->height * 3 * size;
    }
    return status;
}

/* Fills the images on the host, and turns offsets into addresses. */
static bool fill(pictures *p, motley_context *context, motley_error *error)
{
    uint8_t *const host = malloc(p->bytes);
    bool good = host && motley_memory_create(context, MOTLEY_MEMORY_DEVICE, p->bytes, &p->memory, error) == MOTLEY_OK &&
                motley_memory_create(context, MOTLEY_MEMORY_DEVICE, p->out_bytes, &p->out, error) == MOTLEY_OK;
    for (int i = 0; good && i < IMAGES; i++) {
        const input_size size = { p->src[i].width, p->src[i].height };
        input_fill((input_kind)(i % INPUT_KINDS), (uint64_t)i, size, 3, host + (size_t)p->src[i].data);
        p->src[i].data = (uint8_t *)p->memory + (size_t)p->src[i].data;
        p->dst[i].data = (uint8_t *)p->out + (size_t)p->dst[i].data;
    }
    good = good && motley_memory_copy(context, p->memory, host, p->bytes, NULL, error) == MOTLEY_OK &&
           motley_context_wait(context, NULL, error) == MOTLEY_OK;
    free(host);
    return good;
}

/* The hash of the results; 0 after an error. */
static uint64_t results_of(const pictures *p, motley_context *context, motley_error *error)
{
    uint64_t hash = 0;
    void *const host = malloc(p->out_bytes);
    if (host && motley_memory_copy(context, host, p->out, p->out_bytes, NULL, error) == MOTLEY_OK &&
        motley_context_wait(context, NULL, error) == MOTLEY_OK)
        hash = hash_bytes(HASH_BEGIN, host, p->out_bytes);
    free(host);
    return hash;
}

static motley_status hash_of(motley_context *context, const motley_policy *transform, bool report, uint64_t *hash,
                             motley_error *error)
{
    const motley_policy_info *const info = motley_policy_describe(transform);
    pictures p = { .bytes = 0 };
    double boxes[IMAGES * BOXES][4];
    size_t offsets[IMAGES + 1];
    motley_samples samples = { .seed = 20261122, .epoch = 3, .first = 1000 };
    for (int i = 0; i < IMAGES; i++)
        p.src[i] = packed(40 + i * 9 % (MOST_SIDE - 40), 40 + i * 31 % (MOST_SIDE - 40), 1, 0);
    place_boxes(&p, boxes, offsets);
    samples.boxes = &boxes[0][0];
    samples.box_offsets = offsets;
    motley_status status = lay_out(&p, transform, &samples, error);
    if (status == MOTLEY_OK)
        status = fill(&p, context, error) ? MOTLEY_OK : MOTLEY_ERR_MEMORY;
    const motley_batch src = { .count = IMAGES, .channels = 3, .images = p.src };
    motley_batch dst = { .count = IMAGES,
                         .channels = 3,
                         .dtype = info->dtype == MOTLEY_U8 ? MOTLEY_U8 : MOTLEY_F32,
                         .layout = info->layout,
                         .data = p.out,
                         .width = info->width,
                         .height = info->height };
    if (!info->width) {
        dst = src;
        dst.dtype = info->dtype == MOTLEY_U8 ? MOTLEY_U8 : MOTLEY_F32;
        dst.images = p.dst;
    }
    motley_place drawn[IMAGES];
    motley_step *const steps = calloc(IMAGES * (info->max_steps + 1), sizeof *steps);
    int32_t counts[IMAGES];
    motley_mixed mixed[IMAGES], again[IMAGES];
    motley_apply_params params = { .samples = samples, .mixed = info->mix ? mixed : NULL };
    if (report) {
        params.drawn = drawn;
        params.steps = steps;
        params.step_counts = counts;
    }
    if (status == MOTLEY_OK)
        status = motley_apply(context, transform, &src, &dst, &params, error);
    if (status == MOTLEY_OK && report) {
        *hash = results_of(&p, context, error);
        params = (motley_apply_params){ .given = drawn,
                                        .given_steps = steps,
                                        .given_step_counts = counts,
                                        .given_mixed = info->mix ? mixed : NULL,
                                        .mixed = info->mix ? again : NULL };
        status = motley_apply(context, transform, &src, &dst, &params, error);
    }
    if (status == MOTLEY_OK)
        *hash = results_of(&p, context, error);
    free(steps);
    motley_memory_destroy(context, p.memory);
    motley_memory_destroy(context, p.out);
    return status;
}

static bool line(motley_context *context, size_t i, char line[HASHES_LINE])
{
    char name[PART_NAME];
    motley_policy *transform = NULL;
    motley_error error = { .message = "no built-in transform" };
    uint64_t own = 0, given = 1;
    motley_status status = MOTLEY_OK;
    if (i < WRITTEN) {
        snprintf(name, sizeof name, "%s", written[i].name);
        status = motley_policy_parse(written[i].text, strlen(written[i].text), NULL, &transform, &error);
    } else if (!(transform = i < WRITTEN + builtin_parts()
                                 ? builtin_part(i - WRITTEN, name)
                                 : builtin_of_detection(i - WRITTEN - builtin_parts(), name))) {
        status = MOTLEY_ERR_ARGUMENT;
    }
    if (status == MOTLEY_OK)
        status = hash_of(context, transform, false, &own, &error);
    if (status == MOTLEY_OK)
        status = hash_of(context, transform, true, &given, &error);
    if (status != MOTLEY_OK)
        fprintf(stderr, "transform_hashes: %s: %s\n", name, error.message);
    else if (own != given)
        fprintf(stderr, "transform_hashes: %s: its draws, given back, give other bytes\n", name);
    snprintf(line, HASHES_LINE, "%016llx %s\n", (unsigned long long)own, name);
    motley_policy_destroy(transform);
    return status == MOTLEY_OK && own == given;
}

int main(int argc, char **argv)
{
    const hashes what = { WRITTEN + builtin_parts() + builtins_of_detection(), line };
    return hashes_main(&what, argc, argv);
}
