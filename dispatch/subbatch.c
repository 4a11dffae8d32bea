/* SPDX-License-Identifier: Apache-2.0 */
/* motley_context_subbatches: reports how the last batch was sorted. */
#include "base/values.h"
#include "dispatch/backend.h"

#include <stdlib.h>

motley_status mot_subbatches_make(size_t count, size_t max_steps, const char *route, const char *reason,
                                  motley_subbatches **made, motley_error *error)
{
    const size_t steps = mot_times(count, max_steps);
    motley_subbatches *const out = calloc(
        1, mot_plus(sizeof *out + count * (sizeof *out->subbatches + sizeof *out->images + sizeof *out->step_counts),
                    mot_times(steps, sizeof *out->steps)));
    if (!out)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the sub-batches of %zu images", count);
    out->max_steps = max_steps;
    out->route = route;
    out->reason = reason;
    out->steps = (motley_step *)(void *)(out + 1); /* one block, wider members first */
    out->subbatches = (motley_subbatch *)(void *)(out->steps + steps);
    out->images = (size_t *)(void *)(out->subbatches + count);
    out->step_counts = (int32_t *)(void *)(out->images + count);
    *made = out;
    return MOTLEY_OK;
}

void mot_subbatches_add(motley_subbatches *to, size_t image, int32_t op, int32_t cost, const mot_step *steps,
                        int32_t count)
{
    motley_subbatch *const batches = (motley_subbatch *)to->subbatches, *const last = batches + to->count;
    motley_step *const own = (motley_step *)to->steps + image * to->max_steps;
    int32_t *const kept = (int32_t *)to->step_counts + image;
    if (to->count > 0 && last[-1].op == op && last[-1].cost == cost)
        last[-1].count++;
    else
        batches[to->count++] = (motley_subbatch){ op, cost, to->images_count, 1 };
    ((size_t *)to->images)[to->images_count++] = image;
    for (int32_t s = 0; s < count; s++)
        if (!(steps[s].arg.flags & MOT_ARG_IDENTITY))
            own[(*kept)++] = mot_public_step(mot_step_info(steps[s].op), &steps[s]);
}

motley_status motley_context_subbatches(motley_context *context, motley_subbatches **subbatches, motley_error *error)
{
    MOT_REQUIRE(subbatches, error, "subbatches is NULL, want a place for the result");
    *subbatches = NULL;
    MOT_REQUIRE(context, error, "context is NULL");
    return context->backend->look_back(context->state, subbatches, error);
}

void motley_subbatches_destroy(motley_subbatches *subbatches)
{
    free(subbatches);
}
