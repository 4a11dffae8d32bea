/* SPDX-License-Identifier: Apache-2.0 */
/* What a backend drew and how it sorted it: for every built-in policy the values of the steps that the last call left
 * behind equal the host's bit for bit, and the sub-batches partition the batch and fit what each image drew.
 *
 *     test_subbatches cpu|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. */
#include "augmentations/table.h"
#include "dispatch/backend.h"
#include "policies/builtin.h"
#include "policies/compile.h"
#include "policies/draw.h"
#include "tests/contexts.h"
#include "tests/inputs.h"

#include <inttypes.h>
#include <stdio.h>

#ifndef IMAGES      /* a build that makes code slow takes fewer: tests/meson.build */
#define IMAGES 1500 /* of several CTAs, the last of them not full */
#endif
#define SIDE 40 /* the longest side */

static long steps_compared;

static void fail(const char *policy, size_t image, const char *what)
{
    fprintf(stderr, "%s, image %zu: %s\n", policy, image, what);
    if (++failures >= 30)
        exit(1);
}

/* A batch of mixed sizes, with ids that are not in order, and views. */
typedef struct set {
    motley_context *context;
    uint8_t *memory;
    motley_image images[IMAGES];
    uint64_t ids[IMAGES];
    uint32_t views[IMAGES];
    motley_batch batch;
    motley_samples samples;
} set;

static void make_set(set *s, motley_context *context, size_t count)
{
    void *memory;
    uint64_t state = 3;
    const size_t bytes = IMAGES * SIDE * SIDE * 3;
    uint8_t *const host = malloc(bytes);
    need(host && motley_memory_create(context, MOTLEY_MEMORY_DEVICE, bytes, &memory, NULL) == MOTLEY_OK, "no memory");
    for (size_t i = 0; i < bytes; i++)
        host[i] = (uint8_t)input_random(&state);
    need(motley_memory_copy(context, memory, host, bytes, NULL, NULL) == MOTLEY_OK, "copying the images failed");
    free(host);
    *s = (set){ .context = context, .memory = memory };
    for (size_t i = 0; i < count; i++) {
        const int32_t w = 1 + (int32_t)(input_random(&state) % SIDE), h = 1 + (int32_t)(input_random(&state) % SIDE);
        s->images[i] = (motley_image){ s->memory + i * SIDE * SIDE * 3, w, h, 3 * w, 3, 1 };
        s->ids[i] = i % 3 ? input_random(&state) : i;
        s->views[i] = i % 4 ? (uint32_t)input_random(&state) % 65536 : 0;
    }
    s->batch = (motley_batch){ .count = count, .channels = 3, .images = s->images };
}

/* ---- the draws ---- */

static int same_step(const motley_step *a, const motley_step *b)
{
    return a->op == b->op && a->level == b->level && a->interpolation == b->interpolation &&
           a->values_count == b->values_count && memcmp(a->values, b->values, sizeof a->values) == 0 &&
           memcmp(a->fill, b->fill, sizeof a->fill) == 0;
}

/* The steps of image i against the host's; those that change nothing are not kept. */
static void compare_steps(const set *s, const motley_policy *policy, const motley_subbatches *all, size_t i)
{
    mot_step drawn[MOT_MAX_STEPS];
    const mot_drawn_sample of =
        mot_sample_of(&s->samples, i, s->images[i].width, s->images[i].height, s->batch.channels);
    const int n = mot_draw_sample(&policy->tables, &of, drawn);
    const motley_step *found = &all->steps[i * all->max_steps];
    int kept = 0;
    for (int k = 0; k < n; k++) {
        if (drawn[k].arg.flags & MOT_ARG_IDENTITY)
            continue;
        const motley_step wanted = mot_public_step(mot_step_info(drawn[k].op), &drawn[k]);
        if (kept < all->step_counts[i] && !same_step(&found[kept], &wanted)) {
            char what[160];
            snprintf(what, sizeof what, "step %d is %s(%.17g), want %s(%.17g), or differs in its other values", kept,
                     mot_step_info(found[kept].op)->name, found[kept].values[0], mot_step_info(wanted.op)->name,
                     wanted.values[0]);
            fail(motley_policy_describe(policy)->name, i, what);
            return;
        }
        kept++;
        steps_compared++;
    }
    if (kept != all->step_counts[i])
        fail(motley_policy_describe(policy)->name, i, "it has another number of steps than the host draws");
}

static void check_draws(const set *s, const motley_policy *policy)
{
    motley_subbatches *all;
    motley_error error;
    need(motley_context_subbatches(s->context, &all, &error) == MOTLEY_OK, error.message);
    need(all->images_count == s->batch.count && all->max_steps == motley_policy_describe(policy)->max_steps,
         "another batch was left");
    for (size_t i = 0; i < all->images_count; i++)
        compare_steps(s, policy, all, i);
    motley_subbatches_destroy(all);
}

/* ---- the sub-batches ---- */

/* Whether `op` is among the steps of image i; -1: whether it has none. */
static int has_step(const motley_subbatches *all, size_t i, int32_t op)
{
    int found = 0, ops = 0; /* steps that mix chains do not count as ops */
    for (int32_t k = 0; k < all->step_counts[i]; k++) {
        found |= all->steps[i * all->max_steps + (size_t)k].op == op;
        ops += all->steps[i * all->max_steps + (size_t)k].op >= 0;
    }
    return op < 0 ? ops == 0 : found;
}

static void check_subbatches(const set *s, const char *name)
{
    static uint8_t lighter[MOT_OP_COUNT][MOT_OP_COUNT]; /* [a][b]: an image with a and b was sorted under a */
    uint8_t seen[IMAGES] = { 0 };
    motley_subbatches *all;
    motley_error error;
    size_t next = 0;
    need(motley_context_subbatches(s->context, &all, &error) == MOTLEY_OK, error.message);
    need(all->images_count == s->batch.count, "the sub-batches are of another batch");
    const char *const route = s->context->backend->id == MOTLEY_BACKEND_CUDA ? "tiles" : "cpu"; /* sizes differ */
    if (strcmp(all->route, route) != 0 || !all->reason[0])
        fail(name, 0, "it took another route, or has no reason");
    for (size_t b = 0; b < all->count; b++) {
        const motley_subbatch *sub = &all->subbatches[b];
        if (sub->first != next || sub->count == 0 || next + sub->count > all->images_count)
            fail(name, next, "the sub-batches do not lie one after the other");
        next += sub->count;
        if (sub->cost < 0 || sub->cost > 8)
            fail(name, sub->first, "its sub-batch's cost is none of 0 to 8");
        if (b > 0 && sub->cost > sub[-1].cost)
            fail(name, sub->first, "its sub-batch comes after a cheaper one");
        for (size_t k = sub->first; k < next && k < all->images_count; k++) {
            const size_t i = all->images[k];
            if (i >= all->images_count || seen[i]++)
                fail(name, i, "it is in two sub-batches, or not of the batch");
            if (i >= all->images_count)
                continue;
            if (!has_step(all, i, sub->op))
                fail(name, i, "its sub-batch's op is not among its steps");
            for (int32_t k2 = 0; sub->op >= 0 && k2 < all->step_counts[i]; k2++) {
                const int32_t other = all->steps[i * all->max_steps + (size_t)k2].op;
                if (other < 0)
                    continue;
                lighter[sub->op][other] |= other != sub->op;
                if (lighter[other][sub->op] && other != sub->op)
                    fail(name, i, "of two ops, now the one and now the other is the more costly");
            }
        }
    }
    if (next != all->images_count)
        fail(name, next, "the sub-batches leave images out");
    if (s->context->backend->id == MOTLEY_BACKEND_CUDA) /* one bucket of each kind */
        for (size_t b = 1; b < all->count; b++)
            for (size_t a = 0; a < b; a++)
                if (all->subbatches[a].op == all->subbatches[b].op &&
                    all->subbatches[a].cost == all->subbatches[b].cost)
                    fail(name, all->subbatches[b].first, "two sub-batches are of one kind");
    motley_subbatches_destroy(all);
}

static void check_policy(set *s, const motley_policy *policy)
{
    motley_error error;
    for (uint32_t epoch = 0; epoch < 4; epoch++) {
        s->samples = (motley_samples){ .seed = 77 + epoch * UINT64_C(0x100000001),
                                       .epoch = epoch * 80,
                                       .first = epoch ? 1u << 31 : 0,
                                       .ids = epoch >= 2 ? s->ids : NULL,
                                       .view = epoch == 1 ? 65535 : 0,
                                       .views = epoch == 3 ? s->views : NULL };
        const motley_apply_params params = { .samples = s->samples };
        need(motley_apply(s->context, policy, &s->batch, &s->batch, &params, &error) == MOTLEY_OK, error.message);
        check_draws(s, policy);
        check_subbatches(s, motley_policy_describe(policy)->name);
    }
}

static void check_builtin(set *large, set *small, const char *name)
{
    motley_policy *policy;
    motley_error error;
    need(motley_policy_builtin(name, &policy, &error) == MOTLEY_OK, error.message);
    if (motley_policy_describe(policy)->takes_boxes) {
        motley_policy_destroy(policy);
        return;
    }
    check_policy(large, policy);
    check_policy(small, policy);
    if (strcmp(name, "rand_augment") == 0) { /* so that some images have more than three spatial steps */
        policy->repeat.most = 5;
        need(mot_policy_compile(policy, NULL, &error) == MOTLEY_OK, error.message);
        check_policy(large, policy);
    }
    motley_policy_destroy(policy);
}

static void check_op(set *s)
{
    const int op = motley_op_find("rotate");
    double values[IMAGES];
    motley_error error;
    for (size_t i = 0; i < s->batch.count; i++)
        values[i] = i % 4 ? (double)i : 0; /* every fourth changes nothing */
    need(motley_op_apply(s->context, op, values, 1, &s->batch, &s->batch, NULL, &error) == MOTLEY_OK, error.message);
    check_subbatches(s, "rotate");
}

/* After a call with stages there is nothing to report: not what a call before it sorted. */
static void check_stages(const set *s)
{
    static const char text[] = "motley: 1\nname: x\nstages:\n  - center_crop: {size: 8}\n  - policy: rand_augment\n";
    motley_policy *policy;
    motley_subbatches *none;
    motley_error error;
    need(motley_policy_parse(text, strlen(text), NULL, &policy, &error) == MOTLEY_OK, error.message);
    const size_t behind = 100 * SIDE * SIDE * 3; /* make_set has room for more images */
    const motley_batch dst = { .count = 100, .channels = 3, .data = s->memory + behind, .width = 8, .height = 8 };
    const motley_apply_params params = { .samples = s->samples };
    need(motley_apply(s->context, policy, &s->batch, &dst, &params, &error) == MOTLEY_OK, error.message);
    need(motley_context_subbatches(s->context, &none, &error) == MOTLEY_ERR_ARGUMENT && !none,
         "a call with stages has no sub-batches");
    motley_policy_destroy(policy);
}

int main(int argc, char **argv)
{
    static set large, small;
    motley_subbatches *none;
    motley_error error;
    motley_context *const context = open_on(backend_of(argc, argv), 0, argc > 2);
    need(motley_context_subbatches(context, &none, &error) == MOTLEY_ERR_ARGUMENT && !none, "nothing was run yet");
    make_set(&large, context, IMAGES);
    make_set(&small, context, 100); /* of one CTA */
    for (size_t i = 0; i < mot_builtin_count; i++)
        check_builtin(&large, &small, mot_builtins[i].name);
    check_op(&large);
    check_op(&small);
    check_stages(&small);
    motley_memory_destroy(context, large.memory);
    motley_memory_destroy(context, small.memory);
    motley_context_destroy(context);
    printf("%s: %ld steps of %zu policies compared, %d failures\n", argv[1], steps_compared, mot_builtin_count,
           failures);
    return failures > 0 || steps_compared == 0;
}
