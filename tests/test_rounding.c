/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles that are rounded to floats stay rounded, also next to others: GCC 12 makes a vector of two such neighbours
 * and then leaves the rounding out. Compiled with the library's flags (`exact` in meson.build), which prevent that. */
#include <stdio.h>

static void round_two(double *restrict out, const double *restrict in)
{
    out[0] = (double)(float)in[0];
    out[1] = (double)(float)in[1];
}

int main(void)
{
    void (*volatile const round)(double *, const double *) = round_two; /* so that it is not computed when compiled */
    const double in[2] = { 0.1, 0.7 }, want[2] = { 0.1f, 0.7f };
    double out[2];
    round(out, in);
    for (int k = 0; k < 2; k++)
        if (out[k] != want[k]) {
            printf("%.17g as a float is %.17g, got %.17g\n", in[k], want[k], out[k]);
            return 1;
        }
    return 0;
}
