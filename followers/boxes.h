/* SPDX-License-Identifier: Apache-2.0 */
/* Moving boxes by recorded draws, on the host. */
#ifndef MOT_FOLLOWERS_BOXES_H
#define MOT_FOLLOWERS_BOXES_H

#include "base/kept.h"
#include "motley/follow.h"

/* As motley_follow moves boxes, for doubles; single: the caller keeps the results as floats. visibility and keep may be
 * NULL; so may `scratch` without images. */
motley_status mot_follow_boxes(const motley_drawn *drawn, const motley_box_rules *params, int single,
                               const size_t *offsets, double *boxes, double *visibility, uint8_t *keep,
                               mot_kept *scratch, motley_error *error);

#endif
