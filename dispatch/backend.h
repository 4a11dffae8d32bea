/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a backend, and the validated request that it gets. */
#ifndef MOT_BACKEND_H
#define MOT_BACKEND_H

#include "augmentations/step.h"
#include "base/error.h"
#include "base/kept.h"
#include "kernels/output.h"
#include "kernels/resize.h"
#include "kernels/view.h"
#include "motley.h"
#include "policies/policy.h"

/* One validated request: every pointer, size and stride has been checked. */
typedef struct mot_job {
    size_t count;
    const motley_batch *src;
    const motley_batch *dst;     /* NULL when only `output` is wanted */
    const motley_batch *output;  /* NULL: no fused output step */
    mot_output_as as;            /* as what `output`, or a request's dst, is written */
    const motley_policy *policy; /* draws the steps, and has no custom ops; NULL: steps are given: */
    const mot_step *steps;       /* [count][max_steps]; those beyond an image's count change nothing */
    const mot_step *drawn_steps; /* CUDA: the same in device memory; `policy`, if not NULL, drew them */
    const mot_rect *inside;      /* [count][max_steps]: the part that each of `steps` works in; empty: all; or NULL */
    const mot_step_facts *facts; /* what drawn_steps without a policy may be; NULL: anything */
    size_t max_steps;            /* of `policy`, or of the given steps */
    motley_samples samples;
    const uint64_t *counter; /* CUDA: device memory, or NULL */
    void *stream;
    int mixes;          /* != 0: some steps are MOTLEY_STEP_MIX_* */
    size_t clip_frames; /* > 1: so many images in a row share statistics; rounds and stages of CUDA read it */
    const motley_followed *followed;  /* what moves with the images, or NULL; on the CPU dispatch/follow.c moves it */
    const struct mot_request *drawer; /* CPU: what draws the images, or has drawn them; NULL: `steps` are given */
    struct mot_request *request;      /* of images that are placed first: what draws and places them; else NULL */
    const double *fill;               /* [channels] of a wide src, or NULL: what each step has */
    const struct mot_wide_job *wide;  /* of a wide src, what mot_job_run finds about its bands; else NULL */
} mot_job;

/* Makes a report of how `count` images of at most `max_steps` steps were sorted, without any yet. */
motley_status mot_subbatches_make(size_t count, size_t max_steps, const char *route, const char *reason,
                                  motley_subbatches **made, motley_error *error);

/* Adds an image behind those that came before it: its sub-batch, and its steps, if they change anything. */
void mot_subbatches_add(motley_subbatches *to, size_t image, int32_t op, int32_t cost, const mot_step *steps,
                        int32_t count);

struct mot_cpu_rows;
struct mot_request;

/* Works on one image of many. `scratch` belongs to the worker that calls it. */
typedef void mot_each_image(void *call, size_t image, const struct mot_cpu_rows *rows, void *scratch);

/* A call of motley_mix_apply. */
typedef struct mot_mix_images {
    const motley_batch *src, *dst;
    const motley_mixed *drawn;     /* [count], host memory, as the next one */
    const motley_paste *pastes;    /* NULL: nothing is pasted */
    const motley_mix_masks *masks; /* NULL: no instances are pasted */
    uint8_t *cut; /* [count][height][width], CPU: != 0 where instances are pasted into an image; NULL without masks */
    bool gathers; /* components are read elsewhere than where they are written: images are resized, or parts pasted */
} mot_mix_images;

/* A call of motley_mix_targets; its pointers are to the context's device. */
typedef struct mot_mix_targets {
    size_t count;
    int32_t classes;
    const int64_t *labels; /* NULL: `soft` */
    const float *soft;
    double smoothing;
    float *targets;
} mot_mix_targets;

typedef struct mot_backend {
    motley_backend id;
    const char *name;
    /* Makes the backend's own state; *state is NULL on failure. */
    motley_status (*create)(const motley_context_params *params, void **state, motley_error *error);
    void (*destroy)(void *state);
    /* Checks that need the backend (is this pointer on my device?), before anything is touched. */
    motley_status (*validate)(void *state, const mot_job *job, motley_error *error);
    motley_status (*run)(void *state, const mot_job *job, motley_error *error);
    /* Moves job->followed by job->steps, which are given; NULL where the host does it. run() does so by itself. */
    motley_status (*follow)(void *state, const mot_job *job, motley_error *error);
    /* Waits for the last run() and reports how it sorted its images. */
    motley_status (*look_back)(void *state, motley_subbatches **subbatches, motley_error *error);
    /* Bytes that the state holds, or would hold after `job` if that is not NULL. */
    motley_status (*workspace)(void *state, const mot_job *job, size_t *bytes, motley_error *error);
    /* The calls of motley/memory.h; all NULL when the device uses the host's memory. */
    motley_status (*create_memory)(void *state, motley_memory_kind kind, size_t bytes, void **memory,
                                   motley_error *error);
    void (*destroy_memory)(void *state, void *memory);
    motley_status (*copy)(void *state, void *to, const void *from, size_t bytes, void *stream, motley_error *error);
    motley_status (*wait)(void *state, void *stream, motley_error *error);
    /* Calls `image` for each of `count` images, shared among the threads; NULL when the host does not do the work. */
    motley_status (*each)(void *state, size_t count, size_t scratch_bytes, mot_each_image *image, void *call,
                          motley_error *error);
    /* motley_resize with checked arguments; NULL if the backend has `each`. */
    motley_status (*resize)(void *state, const motley_batch *src, const motley_batch *dst,
                            const motley_resize_params *params, motley_error *error);
    /* run() of a job with a request; NULL: run() does it, too. Mixes images at the end if the request does. */
    motley_status (*transform)(void *state, const mot_job *job, motley_error *error);
    /* motley_mix_apply and motley_mix_targets with checked arguments; NULL if the backend has `each`. */
    motley_status (*mix)(void *state, const mot_mix_images *call, void *stream, motley_error *error);
    motley_status (*mix_targets)(void *state, const motley_mixed *drawn, const mot_mix_targets *call, void *stream,
                                 motley_error *error);
    /* The kernel table of a state; NULL if the backend has no `each`. */
    const struct mot_cpu_rows *(*rows)(const void *state);
} mot_backend;

extern const mot_backend mot_backend_cpu;
extern const mot_backend mot_backend_reference;
extern const mot_backend mot_backend_cuda; /* in builds without CUDA, its create fails and says so */

struct motley_context {
    const mot_backend *backend;
    void *state;
    /* Policies that the one-call functions made, looked up by their arguments. */
    struct {
        char name[48];
        int num_ops, magnitude;
        motley_policy *policy;
    } made[8];
    unsigned made_next;
    mot_kept draws[2], rounds, clips; /* of mot_draws_take, of mot_rounds_run, and of it for placed clips, */
    mot_kept followed;                /* of mot_follow_begin, */
    mot_kept rgb, views, bands;       /* of images read as RGB, of motley_views_apply, numbers of each band, */
    mot_kept boxes[2];                /* of mot_draw_image, */
    mot_kept scratch;                 /* of functions that call nothing else that takes it */
    int rounds_busy; /* a call is using `rounds` and draws[0], so that a custom op's calls take draws[1] */
    /* What transforms with schedules are in the last epochs. */
    struct mot_epoch {
        uint64_t of;                 /* the transform's fingerprint */
        uint32_t epoch;              /* the first in which it means the same */
        struct mot_transform *plain; /* owned; NULL: there is none */
    } epochs[8];
    unsigned epochs_made; /* so many were kept, and the oldest forgotten */
};

/* Runs a job of a request whose images stop between their steps, from stop to stop on the backend. */
motley_status mot_rounds_run(motley_context *context, const struct mot_request *request, const mot_job *job,
                             motley_error *error);

/* Runs the backend's checks, then the work. */
motley_status mot_job_run(motley_context *context, const mot_job *job, motley_error *error);

/* Which of the fields of motley_apply_params, besides those that every call has, a kind of call takes. */
enum { MOT_TAKES_STEPS = 1, MOT_TAKES_STAGES = 2, MOT_TAKES_VALUES = 4, MOT_TAKES_REGIONS = 8 };

/* Refuses fields that are set for another kind of call than `what`, which `takes` those of its bits. */
motley_status mot_apply_params_check(const char *what, unsigned takes, const motley_apply_params *params,
                                     motley_error *error);

/* These serve motley_op_apply and motley_resize. The batches are already validated, those of mot_resize_run by
 * mot_resize_check; the rest is checked here. */
motley_status mot_op_apply(motley_context *context, int op, const double *values, int values_per_image,
                           const motley_batch *src, const motley_batch *dst, const motley_op_params *params,
                           motley_error *error);
motley_status mot_resize_check(const motley_batch *src, const motley_batch *dst, const motley_resize_params *params,
                               motley_error *error);
mot_resize mot_resize_as(const motley_resize_params *params, const mot_view *src, const mot_view *dst, size_t i);
motley_status mot_resize_run(motley_context *context, const motley_batch *src, const motley_batch *dst,
                             const motley_resize_params *params, motley_error *error);

/* Image i of a batch, in either form of description. */
mot_view mot_batch_view(const motley_batch *batch, size_t i);

/* Batches of the same kind of pixels as `like`, that is, with its channels and its type: images anywhere, or one dense
 * block. Every batch and job that dispatch makes for itself begins with one of these and mot_job_of. */
motley_batch mot_batch_of_images(const motley_batch *like, size_t count, const motley_image *images);
motley_batch mot_batch_dense(const motley_batch *like, size_t count, int32_t width, int32_t height, void *data);

/* How many bands a batch's images have; 1: they are grey or RGB, with or without alpha. */
int mot_batch_bands(const motley_batch *batch);

/* Whether a batch has images of U16 or F32. */
static inline int mot_batch_is_wide(const motley_batch *batch)
{
    return batch->dtype == MOTLEY_U16 || batch->dtype == MOTLEY_F32;
}

/* A job from src to dst, which may be NULL, without steps. */
mot_job mot_job_of(const motley_batch *src, const motley_batch *dst);

/* The first byte of each component of an output, as a batch of u8: pixels are kept there between passes if there is no
 * dst. */
motley_batch mot_output_slots(const motley_batch *output);

/* Checks that every image is mixed with an image of the batch and that boxes and pastes lie in the images; width 0
 * skips both. */
motley_status mot_mix_check_drawn(const motley_mixed *drawn, const motley_paste *pastes, const motley_mix_masks *masks,
                                  size_t count, int32_t width, int32_t height, motley_error *error);

struct mot_transform;

/* These check a request: first the shapes of the batches (sizes, strides, types), then their addresses (no write may
 * overlap a read; dst and `output` may be NULL). Images of dst have the sizes that `transform` makes of src's (NULL:
 * the same), and any type if `types`, else U8. */
motley_status mot_validate_src(const motley_batch *src, motley_error *error);
motley_status mot_validate_dst(const struct mot_transform *transform, const motley_batch *src, const motley_batch *dst,
                               int types, motley_error *error);
motley_status mot_validate_normalization(const motley_batch *src, const motley_output *output, motley_error *error);
motley_status mot_validate_output(const motley_batch *src, const motley_output *output, motley_error *error);
motley_status mot_validate_places(const motley_batch *src, const motley_batch *dst, const motley_output *output,
                                  motley_error *error);
motley_status mot_validate_batch(const char *name, const motley_batch *batch, motley_error *error);
/* Requires that a batch which results go to has src's alpha. */
motley_status mot_validate_alpha(const char *name, const motley_batch *src, const motley_batch *to,
                                 motley_error *error);
/* Checks src, in which images with a channel stride of 0 are grey, and describes it as RGB: grey's channel three times,
 * alpha left out; bands stay what they are. `table` keeps what *rgb points to. */
motley_status mot_batch_as_rgb(const motley_batch *src, mot_kept *table, motley_batch *rgb, motley_error *error);
motley_status mot_validate_sizes(const char *name, const motley_batch *batch, motley_error *error); /* without data */
/* Requires that no image of dst overlaps any image of src or dst. */
motley_status mot_validate_apart(const motley_batch *src, const motley_batch *dst, mot_kept *scratch,
                                 motley_error *error);
/* These check what an op, or a step that mixes, is given: its values; or its values, their number and the
 * interpolation. */
motley_status mot_validate_values(const motley_op_info *info, const double *values, int count, motley_error *error);
motley_status mot_validate_step(const motley_op_info *info, const motley_step *step, motley_error *error);

#endif
