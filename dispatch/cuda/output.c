/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs: the host makes each one's table of values once, keeps it on the device, and finds lines that make the same
 * values, which takes several microseconds. */
#include "dispatch/cuda/state.h"
#include "kernels/cpu.h"

#include <stdlib.h>
#include <string.h>

/* Whether channels a and b of two outputs have the same numbers, as bits. */
static int same_numbers(const mot_output_as *as, int a, const mot_output_as *other, int b)
{
    return mot_float_bits(mot_output_mean(as, a)) == mot_float_bits(mot_output_mean(other, b)) &&
           mot_float_bits(mot_output_std(as, a)) == mot_float_bits(mot_output_std(other, b));
}

static mot_kept_output *find_output(mot_outputs *outputs, int32_t channels, const mot_output_as *as)
{
    for (unsigned i = 0; i < MOT_OUTPUTS_KEPT; i++) {
        const mot_output_as *const kept = &outputs->kept[i].as;
        int same =
            outputs->kept[i].channels == channels && kept->dtype == as->dtype && kept->convention == as->convention;
        for (int c = 0; c < channels && same; c++)
            same = same_numbers(kept, c, as, c);
        if (same)
            return &outputs->kept[i];
    }
    return NULL;
}

/* Makes an output's table and its lines. */
static motley_status make_output(const mot_cuda_call *call, const motley_batch *batch, mot_kept_output *kept,
                                 uint32_t (*values)[256], size_t bytes, motley_error *error)
{
    const int32_t channels = batch->channels;
    const mot_output_as *const as = &kept->as;
    mot_cpu_make_output(as, channels, values);
    MOT_TRY(mot_pool_put_output(call, kept, values, bytes, error));
    kept->channels = channels;
    kept->output = (mot_cuda_output){ .dtype = as->dtype, .values = kept->block.memory };
    int by_lines = channels <= 3 || mot_batch_bands(batch) == channels;
    for (int c = 0; c < channels && by_lines; c++)
        by_lines = c < 4 ? mot_find_output_line(as, c, values[c], &kept->output.line[c])
                         : same_numbers(as, c, as, mot_line_of_band(c));
    kept->output.by_lines = by_lines;
    return MOTLEY_OK;
}

/* Puts an output in place of the oldest. */
static motley_status keep_output(const mot_cuda_call *call, const motley_batch *batch, const mot_output_as *as,
                                 mot_kept_output *kept, motley_error *error)
{
    const size_t channels = (size_t)batch->channels, bytes = channels * 256 * sizeof(uint32_t);
    kept->channels = 0;
    kept->as = *as;
    if (as->means) {
        MOT_TRY(mot_keep(&kept->numbers, 2 * channels * sizeof(float), channels, error));
        float *const means = kept->numbers.memory, *const stds = means + channels;
        kept->as.means = memcpy(means, as->means, channels * sizeof *means);
        kept->as.stds = memcpy(stds, as->stds, channels * sizeof *stds);
    }
    uint32_t few[4][256] = { 0 }, (*const values)[256] = channels <= 4 ? few : malloc(bytes);
    if (!values)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for an output's table of %zu bytes", bytes);
    const motley_status status = make_output(call, batch, kept, values, channels <= 4 ? sizeof few : bytes, error);
    if (values != few)
        free(values);
    return status;
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
