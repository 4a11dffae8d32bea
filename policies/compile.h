/* SPDX-License-Identifier: Apache-2.0 */
/* From levels to op arguments, on the host: compile.c and levels.c. */
#ifndef MOT_COMPILE_H
#define MOT_COMPILE_H

#include "policies/policy.h"

struct reader;

/* Checks what needs the whole policy (limits, values in the op's range) and fills `tables`. Problems go to the reader
 * of its text, or NULL, and `error` gets the first. */
motley_status mot_policy_compile(motley_policy *policy, struct reader *reader, motley_error *error);

/* The value of `level` in `space`, for the plus or minus sign; in a relative space, for a side of one pixel. */
double mot_space_value(const motley_policy *policy, const mot_space *space, double level, int minus);

/* The standard normal's quantile at p, to 2^-20. */
double mot_normal_quantile(double p);

/* The share of a Beta(a, a) distribution below x <= 1/2. */
double mot_beta_below(double a, double x);

/* The k-th of MOT_QUANTILES values that approximate a Gamma(alpha, 1) or a Beta(alpha, alpha) distribution: its
 * quantile in the middle of a cell, to a relative 2^-20. alpha: MOT_MIN_ALPHA .. MOT_MAX_ALPHA. */
double mot_gamma_quantile(double alpha, int k);
double mot_beta_quantile(double alpha, int k);

/* How many levels a step with this one can take, and the k-th of them. Not for steps that give a value instead. */
uint32_t mot_level_count(const motley_policy *policy, const mot_level *level);
double mot_level_at(const motley_policy *policy, const mot_level *level, uint32_t k);

/* A level's entry in a relative space: its value is only known together with an image's side. */
mot_level_entry mot_space_relative(const motley_policy *policy, const mot_space *space, double level);

/* Replaces the level of every step that has one, and the policy's. A number is the mean of a level that is normal.
 * mot_policy_compile is next. Errors: ARGUMENT, for a number that is not on the scale. */
motley_status mot_policy_set_level(motley_policy *policy, mot_level level, motley_error *error);

#endif
