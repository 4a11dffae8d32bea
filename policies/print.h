/* SPDX-License-Identifier: Apache-2.0 */
/* Policies as text: print.c, and the words that parse.c reads and print.c writes. */
#ifndef MOT_PRINT_H
#define MOT_PRINT_H

#include "policies/keys.h"

/* The words that policy texts use for the enumerations, in their order. */
extern const char *const mot_arithmetic_names[2];
extern const char *const mot_choice_names[3];
extern const char *const mot_augmix_form_names[3];
extern const char *const mot_sign_names[3];
extern const char *const mot_side_names[2]; /* from MOT_SIDE_WIDTH on */
extern const char *const mot_rounding_names[3];
extern const char *const mot_interpolation_names[3];
extern const char *const mot_profile_names[5];

/* The keys of a policy that are not texts or lists of steps; and of an entry under `ops`, but for its range. */
extern const mot_keys mot_policy_keys, mot_space_keys;

/* The formats of motley_policy_print, but JSON, which is made of the text. */
motley_status mot_policy_print_text(const motley_policy *policy, char **text, motley_error *error);
motley_status mot_policy_print_values(const motley_policy *policy, char **json, motley_error *error);

#endif
