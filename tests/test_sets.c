/* SPDX-License-Identifier: Apache-2.0 */
/* Which sets of kernels a processor runs, by its features. Compiled once for each choice of sets that a build can have,
 * with MOT_HAS_SET_* as that build has them. */
#include "augmentations/table.h"
#include "kernels/cpu.h"
#include "tests/test.h"

#include <string.h>

static const char *features; /* of the processor, each between spaces */

static __attribute__((unused)) int processor_has(const char *feature)
{
    char word[32];
    snprintf(word, sizeof word, " %s ", feature);
    return strstr(features, word) != NULL;
}

#undef __builtin_cpu_supports
#define __builtin_cpu_supports(feature) processor_has(feature)
#include "kernels/rows_cpu.c"

const mot_op_row mot_op_table[MOT_OP_COUNT];
const mot_cpu_rows mot_rows_base = { .name = "base" }, mot_rows_reference = { .name = "reference" };
#ifdef MOT_HAS_SET_AVX2
const mot_cpu_rows mot_rows_avx2 = { .name = "avx2" };
#endif
#ifdef MOT_HAS_SET_AVX512
const mot_cpu_rows mot_rows_avx512 = { .name = "avx512" };
#endif
#ifdef MOT_HAS_SET_AVX512VBMI
const mot_cpu_rows mot_rows_avx512vbmi = { .name = "avx512vbmi" };
#endif

static int built(const char *set)
{
#ifdef MOT_HAS_SET_AVX2
    if (strcmp(set, "avx2") == 0)
        return 1;
#endif
#ifdef MOT_HAS_SET_AVX512
    if (strcmp(set, "avx512") == 0)
        return 1;
#endif
#ifdef MOT_HAS_SET_AVX512VBMI
    if (strcmp(set, "avx512vbmi") == 0)
        return 1;
#endif
    return strncmp(set, "avx", 3) != 0;
}

#define HASWELL " avx2 bmi2 fma "
#define SKYLAKE HASWELL " avx512f avx512bw avx512cd avx512dq avx512vl "

static const struct {
    const char *features, *sets[MOT_CPU_SETS]; /* in a build with all, best first */
} processors[] = {
    { SKYLAKE " avx512vbmi avx512vnni ", { "avx512vbmi", "avx512", "avx2", "base", "reference" } },
    { SKYLAKE " avx512vbmi ", { "avx512", "avx2", "base", "reference" } },                   /* Cannon Lake */
    { SKYLAKE " avx512vnni ", { "avx512", "avx2", "base", "reference" } },                   /* Cascade Lake */
    { HASWELL " avx512f avx512cd avx512vbmi avx512vnni ", { "avx2", "base", "reference" } }, /* never made */
    { HASWELL, { "avx2", "base", "reference" } },
    { " avx2 bmi2 ", { "base", "reference" } },
    { " ", { "base", "reference" } },
};

int main(void)
{
    for (size_t p = 0; p < sizeof processors / sizeof *processors; p++) {
        features = processors[p].features;
        const mot_cpu_rows *sets[MOT_CPU_SETS];
        const size_t count = mot_cpu_sets(sets);
        size_t found = 0;
        for (size_t k = 0; k < MOT_CPU_SETS && processors[p].sets[k]; k++)
            if (built(processors[p].sets[k])) {
                if (found >= count || strcmp(sets[found]->name, processors[p].sets[k]) != 0) {
                    fprintf(stderr, "processor with%s: set %zu is %s, want %s\n", features, found,
                            found < count ? sets[found]->name : "none", processors[p].sets[k]);
                    failures++;
                }
                found++;
            }
        check(found == count, "more sets than the processor runs");
    }
    return failures > 0;
}
