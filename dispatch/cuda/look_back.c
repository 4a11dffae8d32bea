/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the last batch's steps back, and sorts them into sub-batches as the device did. */
#include "dispatch/buckets.h"
#include "dispatch/cuda/state.h"

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

/* Finds the sub-batches of `last` by a counting sort. `share`: each image's pixels as a share of the largest
 * image's. */
static void sort_last(const mot_cuda_state *s, mot_last *last, const float *share)
{
    int op_at[MOT_OP_COUNT + 1];
    size_t first[MOT_BUCKETS + 1] = { 0 };
    for (int op = 0; op < MOT_OP_COUNT; op++)
        op_at[s->op[op].place] = op;
    op_at[MOT_OP_COUNT] = -1;
    for (int turn = 0; turn < 2; turn++) { /* first the counts, then the members */
        for (size_t i = 0; i < last->count; i++) {
            const int b = bucket_of(s, &last->steps[i * last->max_steps], last->step_counts[i], share[i]);
            if (turn == 0)
                first[b + 1]++;
            else
                last->order[first[b]++] = (uint32_t)i;
        }
        for (int b = 0; b < MOT_BUCKETS && turn == 0; b++) {
            const size_t count = first[b + 1];
            first[b + 1] += first[b];
            if (count > 0)
                last->batches[last->batches_count++] =
                    (motley_subbatch){ .op = op_at[b % (MOT_OP_COUNT + 1)],
                                       .cost = MOT_COST_CLASSES - 1 - b / (MOT_OP_COUNT + 1),
                                       .first = first[b],
                                       .count = count };
        }
    }
}

static motley_status copy_back(const mot_cuda_state *s, mot_last *last, motley_image *images, float *share,
                               motley_error *error)
{
    const size_t n = last->count;
    float most = 1;
    CUDA_TRY(cudaDeviceSynchronize(), "waiting for the batch"); /* all streams: a graph may replay on another */
    CUDA_TRY(cudaMemcpy(last->steps, s->last.steps, n * last->max_steps * sizeof(mot_step), cudaMemcpyDeviceToHost),
             "copying the steps");
    CUDA_TRY(cudaMemcpy(last->step_counts, s->last.step_count, n * sizeof(int32_t), cudaMemcpyDeviceToHost),
             "copying the numbers of steps");
    if (s->last.images)
        CUDA_TRY(cudaMemcpy(images, s->last.images, n * sizeof *images, cudaMemcpyDeviceToHost), "copying the sizes");
    for (size_t i = 0; i < n; i++) {
        if (last->step_counts[i] < 0 || (size_t)last->step_counts[i] > last->max_steps)
            return mot_fail(error, MOTLEY_ERR_INTERNAL, "image %zu has %d steps, want at most %zu", i,
                            (int)last->step_counts[i], last->max_steps);
        for (size_t k = 0; k < (size_t)last->step_counts[i]; k++)
            if (last->steps[i * last->max_steps + k].op >= MOT_OP_COUNT) /* by a graph that was replayed */
                return mot_fail(error, MOTLEY_ERR_INTERNAL, "image %zu: its steps have been overwritten since", i);
        share[i] = s->last.images ? (float)images[i].width * (float)images[i].height : 1;
        most = share[i] > most ? share[i] : most;
    }
    for (size_t i = 0; i < n; i++)
        share[i] /= most;
    sort_last(s, last, share);
    last->route = mot_route_names[s->last_run.route];
    last->reason = s->last_run.reason;
    return MOTLEY_OK;
}

motley_status mot_cuda_look_back(void *state, mot_last *last, motley_error *error)
{
    mot_cuda_state *const s = state;
    int before;
    MOT_REQUIRE(s->last.count > 0, error,
                "the last call sorted no images, want one of a policy without stages or of an op");
    motley_image *const images = malloc(s->last.count * sizeof *images);
    float *const share = malloc(s->last.count * sizeof *share);
    motley_status status =
        images && share ? mot_last_make(last, s->last.count, s->last.max_steps, error)
                        : mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the sizes of %zu images", s->last.count);
    if (status == MOTLEY_OK) {
        status = mot_cuda_enter(s, &before, error);
        if (status == MOTLEY_OK) {
            status = copy_back(s, last, images, share, error);
            mot_cuda_leave(s, before);
        }
        if (status != MOTLEY_OK)
            mot_last_clear(last);
    }
    free(images);
    free(share);
    return status;
}
