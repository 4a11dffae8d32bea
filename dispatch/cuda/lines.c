/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of an output, which a context keeps from one call to the next. */
#include "dispatch/cuda/state.h"

#include <string.h>

void mot_cuda_find_lines(mot_line_cache *cache, int32_t channels, mot_output_as *as)
{
    const unsigned kept = sizeof cache->kept / sizeof cache->kept[0];
    for (unsigned i = 0; i < kept; i++) {
        const struct mot_kept_lines *const k = &cache->kept[i];
        if (k->channels == channels && memcmp(&k->as, as, offsetof(mot_output_as, by_lines)) == 0) {
            *as = k->as;
            return;
        }
    }
    as->by_lines = channels <= 3;
    for (int c = 0; c < channels && as->by_lines; c++)
        as->by_lines = mot_find_output_line(as->convention, as->dtype, as->mean[c], as->std[c], &as->line[c]);
    cache->kept[cache->next++ % kept] = (struct mot_kept_lines){ channels, *as };
}
