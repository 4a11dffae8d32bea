/* SPDX-License-Identifier: Apache-2.0 */
/* motley_context_subbatches: reports how the last batch was sorted. */
#include "dispatch/backend.h"

#include <stdlib.h>
#include <string.h>

motley_status mot_last_make(mot_last *last, size_t count, size_t max_steps, motley_error *error)
{
    *last = (mot_last){ .count = count, .max_steps = max_steps };
    last->steps = malloc(count * max_steps * sizeof *last->steps);
    last->step_counts = malloc(count * sizeof *last->step_counts);
    last->order = malloc(count * sizeof *last->order);
    last->batches = malloc(count * sizeof *last->batches);
    if (last->steps && last->step_counts && last->order && last->batches)
        return MOTLEY_OK;
    mot_last_clear(last);
    return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the steps of %zu images", count);
}

void mot_last_clear(mot_last *last)
{
    free(last->steps);
    free(last->step_counts);
    free(last->order);
    free(last->batches);
    *last = (mot_last){ 0 };
}

/* Allocates the report as one block: the struct, then its arrays, those with wider members first. */
static motley_status report(const mot_last *last, motley_subbatches **subbatches, motley_error *error)
{
    const size_t steps_bytes = last->count * last->max_steps * sizeof(motley_step);
    const size_t batches_bytes = last->batches_count * sizeof(motley_subbatch);
    motley_subbatches *const out =
        calloc(1, sizeof *out + steps_bytes + batches_bytes + last->count * (sizeof(size_t) + sizeof(int32_t)));
    if (!out)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the sub-batches of %zu images", last->count);
    motley_step *const steps = (motley_step *)(void *)(out + 1);
    motley_subbatch *const batches = (motley_subbatch *)(void *)((char *)steps + steps_bytes);
    size_t *const images = (size_t *)(void *)((char *)batches + batches_bytes);
    int32_t *const counts = (int32_t *)(void *)(images + last->count);
    memcpy(batches, last->batches, batches_bytes);
    for (size_t i = 0; i < last->count; i++) {
        images[i] = last->order[i];
        for (int32_t s = 0; s < last->step_counts[i]; s++) {
            const mot_step *step = &last->steps[i * last->max_steps + (size_t)s];
            if (!(step->arg.flags & MOT_ARG_IDENTITY))
                steps[i * last->max_steps + (size_t)counts[i]++] = mot_public_step(mot_step_info(step->op), step);
        }
    }
    *out = (motley_subbatches){ .count = last->batches_count,
                                .subbatches = batches,
                                .images_count = last->count,
                                .images = images,
                                .max_steps = last->max_steps,
                                .steps = steps,
                                .step_counts = counts,
                                .route = last->route,
                                .reason = last->reason };
    *subbatches = out;
    return MOTLEY_OK;
}

motley_status motley_context_subbatches(motley_context *context, motley_subbatches **subbatches, motley_error *error)
{
    MOT_REQUIRE(subbatches, error, "subbatches is NULL, want a place for the result");
    *subbatches = NULL;
    MOT_REQUIRE(context, error, "context is NULL");
    mot_last last = { 0 };
    MOT_TRY(context->backend->look_back(context->state, &last, error));
    const motley_status status = report(&last, subbatches, error);
    mot_last_clear(&last);
    return status;
}

void motley_subbatches_destroy(motley_subbatches *subbatches)
{
    free(subbatches);
}
