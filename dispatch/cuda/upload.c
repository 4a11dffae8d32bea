/* SPDX-License-Identifier: Apache-2.0 */
/* What a call uploads: its batches and the numbers of steps. */
#include "dispatch/cuda/parts_draw.h"
#include "dispatch/cuda/state.h"

motley_status mot_cuda_send_batch(mot_cuda_call *call, const motley_batch *batch, motley_image *images,
                                  mot_cuda_batch *sent, motley_error *error)
{
    *sent = mot_cuda_batch_of(batch, images);
    return batch->images ? mot_call_send(call, MOT_SENT, images, batch->images, batch->count * sizeof *images,
                                         "sending the images", error)
                         : MOTLEY_OK;
}

motley_status mot_cuda_send_counts(mot_cuda_call *call, const mot_cuda_plan *plan, const mot_job *job,
                                   motley_error *error)
{
    MOT_TRY(mot_call_next(call, &(mot_node){ .writes = MOT_STEPS }, error));
    return mot_cuda_try(mot_cuda_fill(plan->step_count, (int32_t)job->max_steps, job->count, call->lane),
                        "sending the numbers of steps", error);
}
