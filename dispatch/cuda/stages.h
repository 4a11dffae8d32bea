/* SPDX-License-Identifier: Apache-2.0 */
/* A transform's stages on the device. */
#ifndef MOT_CUDA_STAGES_H
#define MOT_CUDA_STAGES_H

#include "dispatch/cuda/state.h"
#include "policies/transform.h"

/* A transform's stages, and what they point to, as they are uploaded. */
typedef struct mot_stage_tables {
    mot_stage *stages;
    mot_tables *policies; /* [stages] */
    double *ratios[MOT_MAX_STAGES];
    float *normals[MOT_MAX_STAGES];
    uint8_t *compiled[MOT_MAX_STAGES];
} mot_stage_tables;

/* They are uploaded when this context first sees the transform. */
motley_status mot_stage_tables_send(const mot_cuda_call *call, const mot_transform *transform, mot_stage_tables *device,
                                    motley_error *error);

#endif
