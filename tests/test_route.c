/* SPDX-License-Identifier: Apache-2.0 */
/* Which route a batch takes on the GPU (dispatch/cuda/route.c): each reason for tiles, by itself, and the shapes of
 * what is held in shared memory. No GPU is needed. */
#include "dispatch/cuda/route.h"
#include "kernels/cuda/tuning.h"

#include <stdio.h>
#include <string.h>

static const mot_chip h200 = { 1, 227 * 1024 - MOT_STATIC_BYTES, 228 * 1024, 132, MOT_DRAW_BYTES };
static int failures;

static void check(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "test_route: %s\n", what);
        failures++;
    }
}

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

/* Of a built-in policy, in place on images of 224x224, the first of which begins at `data`. */
static void wants_of(const char *policy, uint8_t *data, mot_route route, const char *reason)
{
    mot_level_cache cache = { .next = 0 };
    motley_policy *p;
    const motley_batch batch = { .count = 256, .channels = 3, .data = data, .width = 224, .height = 224 };
    if (motley_policy_builtin(policy, &p, NULL) != MOTLEY_OK) {
        check(0, "a built-in policy is not there");
        return;
    }
    const mot_job job = {
        .count = 256, .channels = 3, .src = &batch, .dst = &batch, .policy = p, .max_steps = p->tables.max_steps
    };
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

int main(void)
{
    uint8_t *const aligned = (uint8_t *)64;
    wants_of("rand_augment", aligned, MOT_ROUTE_RESIDENT, "one CTA");
    wants_of("rand_augment", aligned + 1, MOT_ROUTE_TILES, "odd");
    wants_of("timm_rand_m9_mstd05_inc1", aligned, MOT_ROUTE_TILES, "interpolation");
    wants_of("timm_3_augment", aligned, MOT_ROUTE_RESIDENT, "one CTA"); /* no warp that could interpolate */
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
    const mot_chip turing = { 0, 64 * 1024 - MOT_STATIC_BYTES, 64 * 1024, 40, MOT_DRAW_BYTES };
    f = uniform(256, 224, 224);
    wants(&turing, &f, MOT_ROUTE_TILES, "no bulk copies");

    mot_view v = { (uint8_t *)64, 224, 224, 3, 672, 3, 1 };
    check(mot_is_dense(&v, MOT_FORMAT_RGB), "a dense image");
    v.data++;
    check(!mot_is_dense(&v, MOT_FORMAT_RGB), "an odd address");
    v = (mot_view){ (uint8_t *)64, 223, 224, 3, 669, 3, 1 };
    check(!mot_is_dense(&v, MOT_FORMAT_RGB), "an odd width");
    v = (mot_view){ (uint8_t *)64, 224, 224, 3, 688, 3, 1 };
    check(!mot_is_dense(&v, MOT_FORMAT_RGB), "a gap");
    v = (mot_view){ (uint8_t *)64, 224, 224, 4, 896, 4, 1 };
    check(!mot_is_dense(&v, MOT_FORMAT_RGBA), "alpha");
    printf("%d failures\n", failures);
    return failures > 0;
}
