/* SPDX-License-Identifier: Apache-2.0 */
/* Which route a batch takes on the GPU (dispatch/cuda/route.c): each reason for tiles, by itself, and the shapes of
 * what is held in shared memory. No GPU is needed. */
#include "dispatch/cuda/route.h"
#include "kernels/cuda/tuning.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

/* A chip of each architecture in the wheel: the arguments of mot_chip_of, shared memory in KB. */
static const struct {
    const char *name;
    int architecture, multiprocessors, threads, shared_per_sm, shared_per_cta;
} chips[] = { { "T4", 75, 40, 1024, 64, 64 },         { "A100", 80, 108, 2048, 164, 163 },
              { "A10", 86, 72, 1536, 100, 99 },       { "L4", 89, 58, 1536, 100, 99 },
              { "H200", 90, 132, 2048, 228, 227 },    { "B200", 100, 148, 2048, 228, 227 },
              { "RTX 5090", 120, 170, 1536, 100, 99 } };
#define CHIPS (sizeof chips / sizeof *chips)

static mot_chip h200;

static mot_route_facts uniform(size_t count, int width, int height)
{
    return (mot_route_facts){ .count = count,
                              .width = width,
                              .height = height,
                              .channels = 3,
                              .format = MOT_FORMAT_RGB,
                              .one_size = 1,
                              .dense = 1,
                              .dense_between = 1,
                              .max_steps = 2,
                              .blur_radius = -1 };
}

static void wants(const mot_chip *chip, const mot_route_facts *f, mot_route route, const char *reason)
{
    const mot_route_choice c = mot_route_choose(chip, f);
    if (c.route != route || !strstr(c.reason, reason)) {
        fprintf(stderr, "test_route: %dx%d: found route %d (%s), want %d (%s)\n", f->width, f->height, (int)c.route,
                c.reason, (int)route, reason);
        failures++;
    }
    if (c.route == MOT_ROUTE_TILES)
        return;
    const mot_resident_shape *const s = &c.shape;
    check(s->threads % 32 == 0 && s->threads >= MOT_LEAST_THREADS && s->threads <= MOT_MOST_THREADS, "threads");
    check(s->shared_bytes <= chip->shared_bytes && s->image_bytes % 16 == 0, "more shared memory than there is");
    check(s->image_bytes >= (int64_t)f->width * f->height * f->channels, "the image does not fit");
}

/* Of a policy, by motley_policy_open, in place on images of 224x224, the first of which begins at `data`. */
static void wants_of(const char *policy, uint8_t *data, mot_route route, const char *reason)
{
    mot_level_cache cache = { .next = 0 };
    motley_policy *p;
    const motley_batch batch = { .count = 256, .channels = 3, .data = data, .width = 224, .height = 224 };
    if (motley_policy_open(policy, NULL, &p, NULL) != MOTLEY_OK) {
        check(0, "a policy cannot be opened");
        return;
    }
    const mot_job job = { .count = 256, .src = &batch, .dst = &batch, .policy = p, .max_steps = p->tables.max_steps };
    for (int again = 0; again < 2; again++) { /* the second answer comes from the cache */
        const mot_route_choice c = mot_route_of(&h200, &job, mot_cuda_format_of(&batch), &batch, 0, &cache);
        if (c.route != route || !strstr(c.reason, reason)) {
            fprintf(stderr, "test_route: %s: found route %d (%s), want %d (%s)\n", policy, (int)c.route, c.reason,
                    (int)route, reason);
            failures++;
        }
    }
    motley_policy_destroy(p);
}

static mot_chip chip_at(size_t i)
{
    return mot_chip_of(chips[i].architecture / 10, chips[i].multiprocessors, chips[i].threads,
                       chips[i].shared_per_sm * 1024, chips[i].shared_per_cta * 1024);
}

/* On every chip, images of all sizes: a CTA of the route that they take fits on a multiprocessor, with its shared
 * memory and its threads. */
static void check_chips(void)
{
    for (size_t i = 0; i < CHIPS; i++) {
        const mot_chip chip = chip_at(i);
        const int tile = 4 * (MOT_TILE_WORDS + MOT_TILE_SPARE_WORDS);
        int resident = 0;
        const int before = failures;
        check(tile <= chip.shared_bytes && tile + 1024 <= chip.shared_per_sm, "a tile is more than shared memory");
        check(MOT_TILE_CTAS * MOT_TILE_THREADS <= chip.threads_per_sm, "more CTAs of tiles than threads allow");
        check(chip.draw_bytes <= chip.shared_bytes, "more shared memory for draws than there is");
        for (int side = 8; side <= 512; side += 8)
            for (int channels = 1; channels <= 3; channels += 2)
                for (int output = 0; output < 2; output++) {
                    mot_route_facts f = uniform(4096, side, side);
                    f.channels = channels;
                    f.format = channels == 1 ? MOT_FORMAT_GREY : MOT_FORMAT_RGB;
                    f.output = output;
                    const mot_route_choice c = mot_route_choose(&chip, &f);
                    const mot_resident_shape *const s = &c.shape;
                    if (c.route == MOT_ROUTE_TILES)
                        continue;
                    resident++;
                    check(s->threads <= chip.threads_per_sm && s->shared_bytes <= chip.shared_bytes &&
                              s->shared_bytes + MOT_STATIC_BYTES <= chip.shared_per_sm,
                          "a resident image does not fit");
                }
        check((resident > 0) == (chips[i].architecture >= 90), "resident images on a chip without bulk copies");
        mot_route_facts f = uniform(4096, 224, 224);
        const mot_route_choice c = mot_route_choose(&chip, &f);
        check((c.route == MOT_ROUTE_RESIDENT) == (chips[i].shared_per_cta > 200),
              "224x224 is resident where 150 KB of shared memory are, and nowhere else");
        if (failures > before)
            fprintf(stderr, "test_route: this was of the chip %s\n", chips[i].name);
    }
}

int main(void)
{
    uint8_t *const aligned = (uint8_t *)64;
    h200 = chip_at(4);
    check_chips();
    wants_of("rand_augment", aligned, MOT_ROUTE_RESIDENT, "one CTA");
    wants_of("rand_augment", aligned + 1, MOT_ROUTE_TILES, "odd");
    wants_of("timm_rand_m9_mstd05_inc1", aligned, MOT_ROUTE_TILES, "interpolation");
    wants_of("timm_3_augment", aligned, MOT_ROUTE_RESIDENT, "one CTA"); /* no warp that could interpolate */
    wants_of("motley: 1\nname: x\nbranches: [invert, {op: gaussian_blur, value: 40}]\n", aligned, MOT_ROUTE_TILES,
             "a wide blur");
    mot_route_facts f = uniform(256, 224, 224);
    wants(&h200, &f, MOT_ROUTE_RESIDENT, "one CTA");
    f = uniform(1024, 32, 32);
    wants(&h200, &f, MOT_ROUTE_RESIDENT, "one CTA");
    f = uniform(132, 224, 224);
    wants(&h200, &f, MOT_ROUTE_RESIDENT, "one CTA");
    f = uniform(131, 224, 224);
    wants(&h200, &f, MOT_ROUTE_TILES, "fewer");
    f = uniform(1, 128, 128);
    wants(&h200, &f, MOT_ROUTE_RESIDENT, "one CTA");
    f = uniform(132, 256, 256);
    wants(&h200, &f, MOT_ROUTE_RESIDENT, "one CTA");
    f = uniform(132, 280, 280);
    wants(&h200, &f, MOT_ROUTE_TILES, "no CTA holds");
#define WITH(member, value, reason) \
    f = uniform(256, 224, 224); \
    f.member = value; \
    wants(&h200, &f, MOT_ROUTE_TILES, reason)
    WITH(always_tiles, 1, "asked for");
    WITH(one_size, 0, "several sizes");
    WITH(dense, 0, "odd");
    WITH(dense_between, 0, "result");
    WITH(blur_radius, 3, "wide blur");
    WITH(blur_radius, MOT_BLUR_UNKNOWN, "may blur");
    WITH(sums, 1, "sums");
    WITH(max_steps, 5, "steps");
    WITH(interpolates, 1, "interpolation");
    f = uniform(256, 224, 224);
    f.blur_radius = 2;
    wants(&h200, &f, MOT_ROUTE_RESIDENT, "one CTA");
    f = uniform(64, 512, 512);
    f.blur_radius = 0;
    wants(&h200, &f, MOT_ROUTE_TILES, "no CTA holds");
    f = uniform(256, 224, 8); /* lower than what three passes read */
    f.blur_radius = 1;
    wants(&h200, &f, MOT_ROUTE_RESIDENT, "one CTA");
    f.blur_radius = 2;
    wants(&h200, &f, MOT_ROUTE_TILES, "across the image");
    const mot_chip turing = chip_at(0);
    f = uniform(256, 224, 224);
    wants(&turing, &f, MOT_ROUTE_TILES, "no bulk copies");

    mot_view v = { (uint8_t *)64, 224, 224, 3, 0, 672, 3, 1 };
    check(mot_is_dense(&v, MOT_FORMAT_RGB), "a dense image");
    v.data++;
    check(!mot_is_dense(&v, MOT_FORMAT_RGB), "an odd address");
    v = (mot_view){ (uint8_t *)64, 223, 224, 3, 0, 669, 3, 1 };
    check(!mot_is_dense(&v, MOT_FORMAT_RGB), "an odd width");
    v = (mot_view){ (uint8_t *)64, 224, 224, 3, 0, 688, 3, 1 };
    check(!mot_is_dense(&v, MOT_FORMAT_RGB), "a gap");
    v = (mot_view){ (uint8_t *)64, 224, 224, 4, 1, 896, 4, 1 };
    check(!mot_is_dense(&v, MOT_FORMAT_RGBA), "alpha");
    printf("%d failures\n", failures);
    return failures > 0;
}
