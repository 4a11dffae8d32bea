/* SPDX-License-Identifier: Apache-2.0 */
/* What timm's configuration strings know of single ops. */
#ifndef MOT_TIMM_H
#define MOT_TIMM_H

#include <math.h>

/* What timm, or Pillow, cuts a value to where mmax lets levels pass 10: by timm's function for the level. */
static const struct {
    const char *name;
    double minimum, maximum;
} mot_timm_limits[] = { { "posterize", 0, 8 },
                        { "solarize", 0, 256 },
                        { "solarize_add", -HUGE_VAL, 128 },
                        { "desaturate", 0.5, 1 },
                        { "gaussian_blur", 0.1, 2 } };

#define MOT_TIMM_BLUR "gaussian_blur" /* the op of 3a whose range timm draws, too */

#endif
