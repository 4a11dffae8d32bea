/* SPDX-License-Identifier: Apache-2.0 */
/* See stages.h. */
#include "dispatch/cuda/stages.h"

#include <stdlib.h>

static mot_stage_tables lay_out_tables(const mot_transform *t, mot_arena *arena)
{
    mot_stage_tables all = { .stages = mot_take(arena, MOT_TABLES, t->stages * sizeof *all.stages) };
    all.policies = mot_take(arena, MOT_TABLES, t->stages * sizeof *all.policies);
    for (uint32_t s = 0; s < t->stages; s++) {
        const mot_stage *const stage = &t->stage[s];
        all.ratios[s] = mot_take_copy(arena, MOT_TABLES, stage->ratios, MOT_RATIO_CELLS * sizeof(double));
        all.normals[s] = mot_take_copy(arena, MOT_TABLES, stage->normals, MOT_NORMAL_CELLS * sizeof(float));
        if (stage->policy)
            all.compiled[s] = mot_take_copy(arena, MOT_TABLES, stage->policy->compiled, stage->policy->compiled_bytes);
    }
    return all;
}

/* Completes a stage on the host, with pointers into the device's memory. */
static void fill_stage(const mot_stage *stage, uint32_t s, const mot_stage_tables *host, const mot_stage_tables *device)
{
    mot_stage *const copy = &host->stages[s];
    *copy = *stage;
    copy->name = NULL;
    copy->policy = NULL;
    copy->mixer = NULL;
    copy->ratios = device->ratios[s];
    copy->normals = device->normals[s];
    if (stage->policy)
        host->policies[s] = mot_cuda_tables_at(stage->policy, device->compiled[s]);
}

motley_status mot_stage_tables_send(const mot_cuda_call *call, const mot_transform *t, mot_stage_tables *device,
                                    motley_error *error)
{
    mot_arena counted = { 0 };
    *device = lay_out_tables(t, &counted);
    if (counted.bytes == 0) /* a follower without stages */
        return MOTLEY_OK;
    mot_kept_tables *kept;
    MOT_TRY(mot_pool_keep(call, MOT_KEPT_TRANSFORM, t->fingerprint, counted.bytes, &kept, error));
    *device = lay_out_tables(t, &(mot_arena){ .base = kept->block.memory });
    if (kept->kind)
        return MOTLEY_OK;
    uint8_t *const memory = calloc(1, counted.bytes);
    if (!memory)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for a transform's tables of %zu bytes", counted.bytes);
    const mot_stage_tables host = lay_out_tables(t, &(mot_arena){ .base = memory, .host = 1 });
    for (uint32_t s = 0; s < t->stages; s++)
        fill_stage(&t->stage[s], s, &host, device);
    const motley_status status = mot_pool_upload(call, kept, MOT_KEPT_TRANSFORM, memory, error);
    free(memory);
    return status;
}
