/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that make a 16-bit output's values, and the products that make F32's (kernels/output.h): they make those of
 * all bytes, and are found for the numbers that are used most. */
#include "kernels/output.h"

#include <stdio.h>

static int failures;

/* `wanted`: a line must be found; negative: none may be found. */
static void check_line(int convention, int dtype, float mean, float std, int wanted)
{
    float subtrahend, divisor;
    mot_output_line line;
    mot_output_numbers(convention, mean, std, &subtrahend, &divisor);
    const mot_output_as as = { .dtype = dtype, .convention = convention, .mean = { subtrahend }, .std = { divisor } };
    uint32_t value[256];
    for (int v = 0; v < 256; v++)
        value[v] = mot_output_entry(&as, v);
    const int found = mot_find_output_line(&as, 0, value, &line);
    int wrong = found < wanted || (found && wanted < 0);
    for (int v = 0; found && v < 256; v++)
        wrong |= mot_output_cast(mot_output_on_line(&line, (uint8_t)v), dtype) != value[v];
    if (wrong) {
        fprintf(stderr, "test_output: type %d, convention %d, mean %g, std %g: %s\n", dtype, convention, mean, std,
                !found       ? "no line was found"
                : wanted < 0 ? "a line was found, or a value differs"
                             : "a value differs");
        failures++;
    }
}

/* `wanted`: whether products make the values. */
static void check_products(int convention, float mean, float std, int wanted)
{
    mot_output_as as = { .dtype = MOTLEY_F32, .convention = convention };
    uint32_t value[256];
    mot_output_numbers(convention, mean, std, &as.mean[0], &as.std[0]);
    for (int v = 0; v < 256; v++)
        value[v] = mot_output_entry(&as, v);
    if (mot_output_products_of(&as, 0, value).exact != wanted) {
        fprintf(stderr, "test_output: F32, convention %d, mean %g, std %g: products make %s\n", convention, mean, std,
                wanted ? "other values" : "the values");
        failures++;
    }
}

int main(void)
{
    static const float used[][2] = { { 0.485f, 0.229f },   { 0.456f, 0.224f },   { 0.406f, 0.225f },   { 0.5f, 0.5f },
                                     { 0.4914f, 0.2470f }, { 0.4822f, 0.2435f }, { 0.4465f, 0.2616f }, { 0, 1 } };
    static const int types[] = { MOTLEY_F16, MOTLEY_BF16 };
    for (int convention = 0; convention < 3; convention++) {
        for (size_t i = 0; i < sizeof used / sizeof *used; i++)
            check_products(convention, used[i][0], used[i][1], 1);
        check_products(convention, 0.4f, 1e-39f, 0); /* whose reciprocal is infinite */
        for (int type = 0; type < 2; type++) {
            for (size_t i = 0; i < sizeof used / sizeof *used; i++)
                check_line(convention, types[type], used[i][0], used[i][1], 1);
            for (int mean = -3; mean <= 20; mean++) /* some of these have none */
                for (int std = -5; std <= 20; std++)
                    check_line(convention, types[type], 0.0731f * (float)mean, 0.0517f * (float)std, 0);
            check_line(convention, types[type], 0.4f, 1e-3f, -1); /* too steep */
            check_line(convention, types[type], 0.4f, INFINITY, 0);
            check_line(convention, types[type], NAN, 0.2f, 0);
            check_line(convention, types[type], 0.4f, 1e-8f, 0);
        }
    }
    check_line(MOTLEY_NORMALIZATION_TORCHVISION_V2, MOTLEY_F16, 0.4578275f, 0.26130258f, -1);
    check_line(MOTLEY_NORMALIZATION_TORCHVISION_V1, MOTLEY_F32, 0, 1, -1); /* a type of 32 bits */
    printf("%d failures\n", failures);
    return failures > 0;
}
