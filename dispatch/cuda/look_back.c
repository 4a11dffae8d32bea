/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the last batch's steps back, and sorts them into sub-batches as the device did. */
#include "dispatch/buckets.h"
#include "dispatch/cuda/state.h"

#include <math.h>
#include <stdlib.h>

/* Returns an image's cost bucket. Mixing steps are ignored; of the others there are at most MOT_MAX_STEPS. */
static int bucket_of(const mot_cuda_state *s, const mot_step *steps, int count, float share)
{
    mot_step ops[MOT_MAX_STEPS];
    int n = 0;
    for (int k = 0; k < count && n < MOT_MAX_STEPS; k++)
        if (steps[k].op >= 0)
            ops[n++] = steps[k];
    return mot_bucket_of(ops, n, s->op, share);
}

/* The last batch's steps and images, copied to the host. */
typedef struct copied {
    mot_step *steps;      /* [count][max_steps] */
    motley_image *images; /* [count], if they have several sizes */
    int32_t *step_counts; /* [count] */
    int32_t *buckets;     /* [count] */
} copied;

static motley_status copy_back(const mot_cuda_state *s, const copied *to, motley_error *error)
{
    const mot_cuda_report *const last = &s->last;
    const size_t n = last->count;
    CUDA_TRY(cudaDeviceSynchronize(), "waiting for the batch"); /* all streams: a graph may replay on another */
    CUDA_TRY(cudaMemcpy(to->steps, last->steps, n * last->max_steps * sizeof(mot_step), cudaMemcpyDeviceToHost),
             "copying the steps");
    CUDA_TRY(cudaMemcpy(to->step_counts, last->step_count, n * sizeof(int32_t), cudaMemcpyDeviceToHost),
             "copying the numbers of steps");
    if (last->images)
        CUDA_TRY(cudaMemcpy(to->images, last->images, n * sizeof(motley_image), cudaMemcpyDeviceToHost),
                 "copying the sizes");
    for (size_t i = 0; i < n; i++) {
        const int32_t count = to->step_counts[i];
        if (count < 0 || (size_t)count > last->max_steps)
            return mot_fail(error, MOTLEY_ERR_INTERNAL, "image %zu has %d steps, want at most %zu", i, (int)count,
                            last->max_steps);
        for (size_t k = 0; k < (size_t)count; k++)
            if (to->steps[i * last->max_steps + k].op >= MOT_OP_COUNT) /* by a graph that was replayed */
                return mot_fail(error, MOTLEY_ERR_INTERNAL, "image %zu: its steps have been overwritten since", i);
    }
    return MOTLEY_OK;
}

/* Adds the images in the order of their buckets. */
static void add_sorted(const mot_cuda_state *s, const copied *from, motley_subbatches *to)
{
    const size_t n = s->last.count, each = s->last.max_steps;
    int op_at[MOT_OP_COUNT + 1];
    float most = 1;
    for (int op = 0; op < MOT_OP_COUNT; op++)
        op_at[s->op[op].place] = op;
    op_at[MOT_OP_COUNT] = -1;
    for (size_t i = 0; s->last.images && i < n; i++)
        most = fmaxf(most, (float)from->images[i].width * (float)from->images[i].height);
    for (size_t i = 0; i < n; i++) {
        const float pixels = s->last.images ? (float)from->images[i].width * (float)from->images[i].height : 1;
        from->buckets[i] = bucket_of(s, from->steps + i * each, from->step_counts[i], pixels / most);
    }
    for (int b = 0; b < MOT_BUCKETS; b++)
        for (size_t i = 0; i < n; i++)
            if (from->buckets[i] == b)
                mot_subbatches_add(to, i, op_at[b % (MOT_OP_COUNT + 1)], MOT_COST_CLASSES - 1 - b / (MOT_OP_COUNT + 1),
                                   from->steps + i * each, from->step_counts[i]);
}

motley_status mot_cuda_look_back(void *state, motley_subbatches **subbatches, motley_error *error)
{
    mot_cuda_state *const s = state;
    const size_t n = s->last.count, steps = n * s->last.max_steps;
    int before;
    MOT_REQUIRE(n > 0, error, "the last call sorted no images, want one of a policy without stages or of an op");
    mot_step *const memory = malloc(steps * sizeof *memory + n * (sizeof(motley_image) + 2 * sizeof(int32_t)));
    if (!memory)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the steps of %zu images", n);
    copied from = { .steps = memory, .images = (motley_image *)(void *)(memory + steps) };
    from.step_counts = (int32_t *)(void *)(from.images + n);
    from.buckets = from.step_counts + n;
    motley_status status = mot_cuda_enter(s, &before, error);
    if (status == MOTLEY_OK) {
        status = copy_back(s, &from, error);
        mot_cuda_leave(s, before);
    }
    if (status == MOTLEY_OK)
        status = mot_subbatches_make(n, s->last.max_steps, mot_route_names[s->last_run.route], s->last_run.reason,
                                     subbatches, error);
    if (status == MOTLEY_OK)
        add_sorted(s, &from, *subbatches);
    free(memory);
    return status;
}
