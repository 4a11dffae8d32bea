/* SPDX-License-Identifier: Apache-2.0 */
/* The order of what the CUDA backend queues: random calls of several contexts on several streams, with graphs, on a
 * runtime that only records (emulate/record.h). Any two accesses to the same memory, one of which writes, have an
 * order, whatever runs ahead; the caller's memory and tables are read when they were written; captured calls keep to
 * what graphs allow; nothing is left when contexts are destroyed.
 *
 *     check_order [--runs N] [--first SEED] */
#include "tests/emulate/record.h"
#include "tests/options.h"
#include "tests/sweep.h"

#include "dispatch/cuda/state.h"
#include "policies/compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 2000
#define CALLS 100 /* of a run */
#define MOST_IMAGES 300
#define SIDE 96
#define USERS 3 /* the caller's streams; the first is the default stream */
#define CONTEXTS 2
#define GRAPHS 8
#define REGION ((size_t)1 << 34) /* bytes of addresses; pixels are never read */

/* ---- what is called ---- */

static const char *const policy_names[] = { "rand_augment",   "timm_rand_m9_mstd05_inc1",
                                            "timm_3_augment", "auto_augment_imagenet",
                                            "augmix",         "trivial_augment_wide" };
#define NAMES 6
#define MIXES_CHAINS 4
#define LEVELS 6 /* the first one, by the caller's levels */
#define POLICIES 7
#define HEAD "motley: 1\nname: x\n"
#define CROP "stages:\n  - random_resized_crop: {size: 64}\n"
static const char *const transform_texts[] = {
    HEAD CROP "  - flip: {horizontal: 0.5}\n  - output: {}\n",
    HEAD CROP "  - policy: {name: rand_augment}\n  - output: {}\n",
    HEAD CROP "  - policy: {name: rand_augment}\n  - output: {}\n  - mix: {mixup: 0.2, cutmix: 1}\n",
    HEAD CROP "  - policy: {name: timm_rand_m9_mstd05_inc1}\n  - output: {}\n  - erase: {p: 0.5, value: pixel}\n",
    HEAD CROP "  - policy: {name: augmix}\n  - output: {}\n",
    HEAD CROP "  - jitter: {brightness: 0.4, hue: 0.1}\n  - policy: {name: trivial_augment_wide}\n  - output: {}\n",
    HEAD CROP "  - policy: {name: auto_augment_imagenet}\n",
    HEAD CROP "  - jitter: {brightness: 0.4}\n  - policy: {name: rand_augment}\n  - output: {}\n",
    HEAD CROP "  - output: {}\n  - mix: {mixup: 0.2, cutmix: 1}\n",
    HEAD CROP "  - policy: {name: trivial_augment_wide, level: given}\n  - output: {}\n",
    HEAD "stages:\n  - photometric: {}\n  - iou_crop: {}\n  - resize: {size: [64, 64]}\n  - output: {}\n",
};
#define NO_STEPS 0
#define PAIRS 2 /* of images */
#define ERASES 3
#define CHAINS 4
#define PAIRS_ALONE 8 /* without steps */
#define TEXTS 11
#define TRANSFORMS (TEXTS + 1) /* the last one makes masks for ERASES */

static int mixes_pairs(int transform)
{
    return transform == PAIRS || transform == PAIRS_ALONE;
}

static motley_policy *policies[POLICIES];
static motley_policy *transforms[TRANSFORMS];

typedef struct context {
    motley_context *context;
    mot_cuda_state *state;
} context;

/* A stream of the caller's, and the memory that calls on it use. */
typedef struct user {
    cudaStream_t stream;
    uint8_t *src, *dst;
    uint64_t *counter;
    float *levels;
    double *boxes;
    size_t *box_offsets;
    int64_t *labels;
    float *targets;
} user;

/* A graph can be launched as long as its context lives. */
typedef struct captured {
    record_graph *graph;
    const context *of;
} captured;

static context contexts[CONTEXTS];
static user users[USERS];
static captured graphs[GRAPHS];
static int graphs_count;

static int calls, ahead, in_graphs, launched, refused; /* so far */

typedef enum kind {
    APPLY,
    APPLY_LIST,   /* images of several sizes */
    APPLY_OUTPUT, /* with a normalised output */
    APPLY_LARGE,  /* more than the tile kernel takes at a time */
    TILES,        /* APPLY, by tiles */
    TRANSFORM,    /* to a normalised output */
    TRANSFORM_LIST,
    RUN_AHEAD,         /* so many kinds may */
    CLIPS = RUN_AHEAD, /* of two frames; the host draws */
    GIVEN,             /* motley_op_apply */
    RESIZE,
    MIX,
    TARGETS,
    LOOK_BACK,
    KINDS
} kind;

/* A call. */
typedef struct plan {
    kind kind;
    int policy, transform, user, context;
    size_t count;
    int32_t side; /* of large images, pixels */
    int in_place; /* of a TRANSFORM_LIST: the results are a list, too */
    int ids, views, counter, boxes;
} plan;

static motley_image image_of(uint8_t *memory, size_t i, int32_t width, int32_t height, int64_t size)
{
    const int64_t row = SIDE * 3 * size;
    return (motley_image){ memory + (int64_t)i * SIDE * row, width, height, row, 3 * size, size };
}

static motley_status call(const plan *p, int number, motley_error *error)
{
    static motley_image images[2][MOST_IMAGES];
    static uint64_t ids[MOST_IMAGES];
    static uint32_t views[MOST_IMAGES];
    static motley_mixed mixed[MOST_IMAGES];
    static double angles[MOST_IMAGES];
    motley_context *const c = contexts[p->context].context;
    const user *const u = &users[p->user];
    const size_t n = p->count;
    const motley_samples samples = { .seed = 3,
                                     .epoch = (uint32_t)number,
                                     .ids = p->ids ? ids : NULL,
                                     .views = p->views ? views : NULL,
                                     .boxes = u->boxes,
                                     .box_offsets = u->box_offsets,
                                     .boxes_on_device = 1,
                                     .levels = u->levels };
    const uint64_t *const counter = p->counter ? u->counter : NULL;
    const motley_planes planes = { /* record.c takes `dst` as what the list points to */
                                   .element_size = 8,
                                   .images = (const motley_plane *)u->labels,
                                   .dst = u->targets,
                                   .count = 1
    };
    const motley_followed followed = {
        .boxes_count = 4, .boxes = u->boxes, .box_offsets = u->box_offsets, .planes = &planes, .planes_count = 1
    };
    const int32_t channels = n % 4 == 3 ? 2 : 3; /* 2: bands */
    motley_batch src = { .count = n, .channels = channels, .data = u->src, .width = SIDE, .height = SIDE }, dst = src;
    dst.data = u->dst;
    for (size_t i = 0; i < n; i++) {
        const int32_t width = SIDE - (int32_t)(i + (size_t)number) % 40;
        images[0][i] = image_of(u->src, i, width, SIDE, 1);
        images[1][i] = image_of(u->dst, i, width, SIDE, 1);
        ids[i] = p->kind == CLIPS ? i / 2 : i;
        views[i] = 0;
        angles[i] = 20;
        mixed[i] = (motley_mixed){ .kind = MOTLEY_MIX_NONE, .partner = (int32_t)i, .lambda = 1, .share = 1 };
    }
    motley_apply_params params = {
        .samples = samples, .stream = u->stream, .counter = counter, .followed = p->boxes ? &followed : NULL
    };
    const motley_batch small = {
        .count = n, .channels = channels, .dtype = MOTLEY_F16, .data = u->dst, .width = 64, .height = 64
    };
    switch (p->kind) {
    case APPLY_LIST:
        src.images = images[0];
        dst.images = images[1];
        break;
    case APPLY_OUTPUT:
        params.output = (motley_output){ .batch = src, .mean = { (float)p->policy } };
        params.output.batch.dtype = MOTLEY_F16;
        params.output.batch.data = u->dst;
        break;
    case APPLY_LARGE:
        src.count = dst.count = n < 3 ? n : 3;
        src.width = src.height = dst.width = dst.height = p->side;
        break;
    case CLIPS:
        src.count = dst.count = n / 2 * 2;
        params.clip_frames = 2;
        params.samples.ids = ids;
        break;
    case GIVEN: {
        const motley_op_params op = { .stream = u->stream };
        return motley_op_apply(c, motley_op_find("rotate"), angles, 1, &src, p->in_place ? &src : &dst, &op, error);
    }
    case TRANSFORM_LIST:
        src.images = images[0];
        __attribute__((fallthrough));
    case TRANSFORM: {
        motley_apply_params t = {
            .samples = samples, .stream = u->stream, .counter = counter, .followed = p->boxes ? &followed : NULL
        };
        const motley_policy_info *const info = motley_policy_describe(transforms[p->transform]);
        t.mixed = info->mix ? mixed : NULL;
        dst = small;
        dst.dtype = info->has_output ? MOTLEY_F16 : MOTLEY_U8;
        for (size_t i = 0; i < n; i++)
            images[1][i] = image_of(u->dst, i, 64, 64, info->has_output ? 2 : 1);
        dst.images = p->kind == TRANSFORM_LIST && p->in_place ? images[1] : NULL;
        return motley_apply(c, transforms[p->transform], &src, &dst, &t, error);
    }
    case RESIZE: {
        const motley_resize_params r = { .filter = MOTLEY_FILTER_BILINEAR, .stream = u->stream };
        dst = small;
        dst.dtype = MOTLEY_U8;
        return motley_resize(c, &src, &dst, &r, error);
    }
    case MIX:
        return motley_mix_apply(c, &src, p->in_place ? &src : &dst, mixed, NULL, NULL, u->stream, error);
    case TARGETS:
        return motley_mix_targets(c, mixed, n, 10, u->labels, NULL, 0.1, u->targets, u->stream, error);
    default:
        break;
    }
    mot_cuda_tiles_always(c, p->kind == TILES);
    return motley_apply(c, policies[p->policy], &src,
                        p->kind == APPLY_OUTPUT ? NULL
                        : p->in_place           ? &src
                                                : &dst,
                        &params, error);
}

/* Fails if nothing has been run yet, and in contexts whose stream is captured. */
static void look_back(motley_context *c)
{
    motley_subbatches *subbatches = NULL;
    if (motley_context_subbatches(c, &subbatches, NULL) == MOTLEY_OK)
        motley_subbatches_destroy(subbatches);
}

/* ---- a run ---- */

/* What a run chooses from, mostly the first ones: few things, so that its calls often find what they need, and use the
 * same memory in turn. */
typedef struct choice {
    kind kinds[3];
    int policies[3], transforms[3];
    size_t counts[3];
    int options; /* != 0: ids, views, counters and boxes */
} choice;

static choice draw_choice(void)
{
    static const size_t counts[] = { 1, 3, 8, 64, MOST_IMAGES };
    choice c = { .options = record_random(2) == 0 };
    for (int i = 0; i < 3; i++) {
        c.kinds[i] = (kind)record_random(i < 2 ? RUN_AHEAD : KINDS);
        c.policies[i] = record_random(3) ? (int)record_random(POLICIES) : MIXES_CHAINS;
        c.transforms[i] = record_random(3) ? (int)record_random(TRANSFORMS) : NO_STEPS;
        c.counts[i] = counts[record_random(5)];
    }
    return c;
}

/* 0, 1 or, seldom, 2. */
static int one_of_three(void)
{
    const unsigned r = record_random(8);
    return r < 4 ? 0 : r < 7 ? 1 : 2;
}

/* Changes one thing about a call. */
static void change(plan *p, const choice *from)
{
    switch (record_random(10)) {
    case 0:
    case 1:
    case 2:
        p->kind = from->kinds[one_of_three()];
        break;
    case 3:
    case 4:
        p->policy = from->policies[one_of_three()];
        break;
    case 5:
        p->transform = from->transforms[one_of_three()];
        break;
    case 6:
        p->count = from->counts[record_random(4) ? 0 : one_of_three()];
        break;
    case 7:
        p->user = record_random(4) ? 1 : (int)record_random(USERS);
        p->context = record_random(8) == 0;
        break;
    case 8:
        p->side = (int32_t)(1500 + 1500 * record_random(3));
        p->in_place = record_random(2) == 0;
        break;
    default:
        p->ids = from->options && record_random(3) == 0;
        p->views = from->options && record_random(4) == 0;
        p->counter = from->options && record_random(6) == 0;
        p->boxes = from->options && record_random(3) == 0;
    }
}

/* Leaves out what a call would refuse: boxes where chains or images are mixed, clips of chains, a counter or levels
 * where the host draws. */
static void allow(plan *p)
{
    const int transform = p->kind == TRANSFORM || p->kind == TRANSFORM_LIST;
    if (p->kind == CLIPS && (p->policy == MIXES_CHAINS || p->policy == LEVELS))
        p->policy = 0;
    if (transform ? p->transform == CHAINS || mixes_pairs(p->transform) : p->policy == MIXES_CHAINS)
        p->boxes = 0;
    if (p->kind == CLIPS || (transform && mixes_pairs(p->transform)))
        p->counter = 0;
}

static void open_context(context *c)
{
    motley_error error = { 0 };
    const motley_context_params params = { .allocate = record_allocate, .release = record_release };
    void *state;
    c->context = calloc(1, sizeof *c->context);
    need(c->context != NULL, "no memory");
    need(recorded_backend.create(&params, &state, &error) == MOTLEY_OK, error.message);
    c->context->backend = &recorded_backend;
    c->context->state = c->state = state;
}

static void drop_graph(int i)
{
    record_destroy(graphs[i].graph);
    graphs[i] = graphs[--graphs_count];
}

/* Destroys a context, whose graphs are gone then. Its work may still be queued. */
static void close_context(context *c)
{
    for (int i = graphs_count - 1; i >= 0; i--)
        if (graphs[i].of == c)
            drop_graph(i);
    motley_context_destroy(c->context);
}

/* What comes before and after a call on the caller's stream. */
static void use_memory(const user *u, const char *name, int writes)
{
    record_work(name, u->stream);
    record_access("src", u->src, REGION, 1);
    record_access("dst", u->dst, REGION, writes);
    record_access("counter", u->counter, REGION, writes);
    record_access("levels", u->levels, REGION, writes);
    record_access("boxes", u->boxes, REGION, writes);
    record_access("box_offsets", u->box_offsets, REGION, writes);
    record_access("labels", u->labels, REGION, writes);
    record_access("targets", u->targets, REGION, writes);
}

static void make_call(const plan *plan_of_call, int number)
{
    plan own = *plan_of_call, *const p = &own;
    const user *const u = &users[p->user];
    motley_error error = { 0 };
    const int failed = record_refused, elsewhere = record_elsewhere;
    allow(p);
    record_call(number, u->stream, &contexts[p->context].state->timeline.node);
    if (p->kind == LOOK_BACK) {
        look_back(contexts[p->context].context);
        return;
    }
    use_memory(u, "the caller's upload", 1);
    const motley_status status = call(p, number, &error);
    need(status == MOTLEY_OK || record_refused > failed, error.message);
    if (status != MOTLEY_OK) /* nothing is left of the batch before it, or all of it */
        look_back(contexts[p->context].context);
    calls++;
    ahead += status == MOTLEY_OK && record_elsewhere > elsewhere;
    use_memory(u, "the caller's use", 0);
}

/* Captures one or two calls, perhaps while there are others. A graph with a call that was refused is not launched. */
static void make_graph(const plan *plan_of_call, int number, int others)
{
    plan own = *plan_of_call, *const p = &own;
    const user *const u = &users[p->user];
    context *const c = &contexts[p->context];
    int whole = 1;
    p->kind = p->kind == LOOK_BACK ? APPLY : p->kind;
    allow(p);
    use_memory(u, "the caller's upload", 1);
    record_capture(u->stream);
    for (unsigned n = 1 + record_random(2); n > 0; n--) {
        motley_error error = { 0 };
        if (others && record_random(3) == 0) {
            plan other = *p;
            other.user = (p->user + 1) % USERS;
            other.context = (int)record_random(CONTEXTS);
            make_call(&other, number);
        }
        record_call(number, u->stream, &contexts[p->context].state->timeline.node);
        const int failed = record_refused;
        const motley_status status = call(p, number, &error);
        need(status == MOTLEY_OK || record_refused > failed || strstr(error.message, "captured"), error.message);
        whole &= status == MOTLEY_OK;
        in_graphs += status == MOTLEY_OK;
        refused += status != MOTLEY_OK;
    }
    record_graph *const graph = record_capture_ends(u->stream);
    if (!whole || graphs_count == GRAPHS) {
        record_destroy(graph);
        return;
    }
    graphs[graphs_count++] = (captured){ graph, c };
}

/* Launches a graph on any stream. No call may run beside it: the caller orders them. */
static void launch_graph(int number)
{
    const int i = (int)record_random((unsigned)graphs_count);
    const cudaStream_t stream = users[record_random(USERS)].stream;
    record_call(number, stream, NULL);
    for (int u = 0; u < USERS; u++)
        record_wait(stream, users[u].stream);
    record_launch(graphs[i].graph, stream);
    for (int u = 0; u < USERS; u++)
        record_wait(users[u].stream, stream);
    launched++;
}

static void *region(size_t i)
{
    return (void *)(uintptr_t)(((size_t)1 << 46) + i * 2 * REGION);
}

static void begin_run(uint64_t seed, int multiprocessors, int overlaps)
{
    record_begin(seed, multiprocessors, overlaps);
    for (int i = 0; i < USERS; i++) {
        user *const u = &users[i];
        const size_t at = (size_t)i * 8;
        *u = (user){ .src = region(at),
                     .dst = region(at + 1),
                     .counter = region(at + 2),
                     .boxes = region(at + 3),
                     .box_offsets = region(at + 4),
                     .labels = region(at + 5),
                     .targets = region(at + 6),
                     .levels = region(at + 7) };
        if (i > 0)
            need(cudaStreamCreateWithFlags(&u->stream, cudaStreamNonBlocking) == cudaSuccess, "too many streams");
    }
    for (int i = 0; i < CONTEXTS; i++)
        open_context(&contexts[i]);
}

static void end_run(void)
{
    record_call(0, NULL, NULL);
    for (int i = 0; i < CONTEXTS; i++)
        close_context(&contexts[i]);
    for (int i = 1; i < USERS; i++)
        cudaStreamDestroy(users[i].stream);
    record_end();
}

static void run(uint64_t seed)
{
    begin_run(seed, seed % 3 == 0 ? 16 : 132, seed % 5 != 0);
    const int captures = seed % 2 == 0;
    record_streamless = seed % 4 == 3;
    const choice from = draw_choice();
    plan p = { .kind = from.kinds[0],
               .policy = from.policies[0],
               .transform = from.transforms[0],
               .user = 1,
               .count = from.counts[0],
               .side = 1500 };
    for (int number = 1; number <= CALLS; number++) {
        record_failing = seed % 7 == 0;
        record_idle = record_random(8) == 0;
        for (unsigned changes = record_random(3); changes > 0; changes--)
            change(&p, &from);
        if (captures && record_random(20) == 0)
            make_graph(&p, number, 1);
        else if (graphs_count > 0 && record_random(3) == 0)
            launch_graph(number);
        else
            make_call(&p, number);
        if (record_random(100) == 0) {
            close_context(&contexts[p.context]);
            record_failing = 0;
            open_context(&contexts[p.context]);
        }
    }
    end_run();
}

/* A call that a graph captures keeps the context's later ones from running ahead; one that is refused does not,
 * whatever it lacks: memory, or, after another call, the tables of its policy or transform. */
static void check_captures(kind tested, int after_another)
{
    const plan p = { .kind = tested, .policy = 0, .transform = 1, .user = 1, .count = 8 };
    plan other = p, later = p;
    begin_run(1, 132, 1);
    record_failing = record_idle = record_streamless = 0;
    other.policy = 3;
    other.transform = 0;
    if (after_another)
        make_call(&other, 0);
    later.kind = tested == RESIZE ? APPLY : tested;
    for (int graph = 0; graph < 2; graph++) {
        const int refused_before = refused, ahead_before = ahead;
        make_graph(&p, 0, 0);
        need((refused > refused_before) == !graph, "a capture is refused, or is not");
        make_call(&p, 0);
        for (int n = 0; n < 20; n++)
            make_call(&later, n);
        need((ahead > ahead_before) == !graph,
             graph ? "a call runs ahead in a context with a graph" : "no call runs ahead after a refused capture");
    }
    end_run();
}

int main(int argc, char **argv)
{
    int64_t runs = RUNS, first = 1;
    const option_row options[] = {
        { "runs", &runs, NULL, "N" },
        { "first", &first, NULL, "SEED" },
    };
    read_options(argc, argv, options, sizeof options / sizeof *options);
    motley_error error = { 0 };
    for (int i = 0; i < NAMES; i++)
        need(motley_policy_builtin(policy_names[i], &policies[i], &error) == MOTLEY_OK, error.message);
    need(motley_policy_builtin(policy_names[0], &policies[LEVELS], &error) == MOTLEY_OK, error.message);
    mot_policy_set_level(policies[LEVELS], (mot_level){ .kind = MOT_LEVEL_GIVEN }, NULL);
    need(mot_policy_compile(policies[LEVELS], NULL, &error) == MOTLEY_OK, error.message);
    for (int i = 0; i < TEXTS; i++) {
        const char *const text = transform_texts[i];
        need(motley_policy_parse(text, strlen(text), NULL, &transforms[i], &error) == MOTLEY_OK, error.message);
    }
    const motley_follower_params masks = { .channels = 3, .fill = { 255, 255, 255 }, .erase = 1 };
    need(motley_policy_follower(transforms[ERASES], &masks, &transforms[TEXTS], &error) == MOTLEY_OK, error.message);
    for (int after_another = 0; after_another < 2; after_another++) {
        check_captures(APPLY, after_another);
        check_captures(TILES, after_another);
        check_captures(TRANSFORM, after_another);
    }
    check_captures(RESIZE, 0);
    uint64_t seed = (uint64_t)first;
    for (; seed < (uint64_t)(first + runs) && record_failures == 0; seed++) {
        char again[80];
        snprintf(again, sizeof again, "check_order --runs 1 --first %" PRIu64, seed);
        record_again = again;
        run(seed);
    }
    left_out((size_t)runs, RUNS, "random runs");
    printf("%" PRIu64 " runs: %d calls, %d of them ahead; %d captured, %d refused, %d graphs launched; %d failures\n",
           seed - (uint64_t)first, calls, ahead, in_graphs, refused, launched, record_failures);
    for (int i = 0; i < POLICIES; i++)
        motley_policy_destroy(policies[i]);
    for (int i = 0; i < TRANSFORMS; i++)
        motley_policy_destroy(transforms[i]);
    return record_failures > 0;
}
