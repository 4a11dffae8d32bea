/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs: the host makes each one's table of values once, keeps it on the device, and finds lines that make the same
 * values, which takes several microseconds. */
#include "dispatch/cuda/state.h"
#include "kernels/cpu.h"

#include <string.h>

static mot_kept_output *find_output(mot_outputs *outputs, int32_t channels, const mot_output_as *as)
{
    for (unsigned i = 0; i < MOT_OUTPUTS_KEPT; i++)
        if (outputs->kept[i].channels == channels && memcmp(&outputs->kept[i].as, as, sizeof *as) == 0)
            return &outputs->kept[i];
    return NULL;
}

/* Puts an output in place of the oldest. */
static motley_status keep_output(const mot_cuda_call *call, const motley_batch *batch, const mot_output_as *as,
                                 mot_kept_output *kept, motley_error *error)
{
    uint32_t values[4][256] = { 0 };
    const int32_t channels = batch->channels;
    mot_cuda_output *const output = &kept->output;
    mot_cpu_make_output(as, channels, values);
    MOT_TRY(mot_pool_put_output(call, kept, values, sizeof values, error));
    kept->channels = channels;
    kept->as = *as;
    *output = (mot_cuda_output){ .dtype = as->dtype, .values = kept->block.memory };
    output->by_lines = channels <= 3 || mot_batch_bands(batch) == channels;
    for (int c = 0; c < channels && output->by_lines; c++)
        output->by_lines = mot_find_output_line(as, c, values[c], &output->line[c]);
    return MOTLEY_OK;
}

motley_status mot_cuda_output_of(mot_cuda_call *call, const motley_batch *batch, const mot_output_as *as,
                                 mot_cuda_output *output, motley_error *error)
{
    mot_outputs *const outputs = &call->s->pool.outputs;
    mot_kept_output *kept = find_output(outputs, batch->channels, as);
    if (!kept) {
        kept = &outputs->kept[outputs->next % MOT_OUTPUTS_KEPT];
        MOT_TRY(keep_output(call, batch, as, kept, error));
        outputs->next++;
    }
    kept->block.captured |= call->captured;
    mot_taken(MOT_OUTPUTS, kept->block.memory, kept->block.bytes);
    *output = kept->output;
    output->by_lines = output->by_lines && !call->s->always_tables;
    return MOTLEY_OK;
}
