/* SPDX-License-Identifier: Apache-2.0 */
/* Chi-square tests of the distribution of draws. */
#ifndef MOT_CHI_SQUARE_H
#define MOT_CHI_SQUARE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#define MAX_Z 4.0

/* The normal score of chi-square over `cells`; those that expect fewer than 5 are pooled. */
static inline double chi_square_z(const double *probability, const uint32_t *count, size_t cells, double total)
{
    double sum = 0, rest_expected = 0, rest_count = 0, freedom = -1;
    for (size_t i = 0; i <= cells; i++) {
        double expected = i < cells ? probability[i] * total : rest_expected;
        double seen = i < cells ? count[i] : rest_count;
        if (i < cells && expected < 5) {
            rest_expected += expected;
            rest_count += seen;
            continue;
        }
        if (i == cells && expected == 0) {
            cr_assert_eq(seen, 0, "%g draws of something that cannot be drawn", seen);
            continue;
        }
        sum += (seen - expected) * (seen - expected) / expected;
        freedom++;
    }
    if (freedom < 1)
        return 0;
    const double v = 2 / (9 * freedom);
    return (cbrt(sum / freedom) - (1 - v)) / sqrt(v);
}

/* chi_square_z over cells of equal probability. */
static inline double uniform_z(const uint32_t *count, size_t cells)
{
    double probability[64], total = 0;
    cr_assert_leq(cells, sizeof probability / sizeof *probability);
    for (size_t i = 0; i < cells; i++) {
        probability[i] = 1.0 / (double)cells;
        total += count[i];
    }
    return chi_square_z(probability, count, cells, total);
}

#define EXPECT_UNIFORM(count, cells) \
    cr_expect(fabs(uniform_z(count, cells)) < MAX_Z, #count ": z is %.2f, want within %g", uniform_z(count, cells), \
              MAX_Z)

#endif
