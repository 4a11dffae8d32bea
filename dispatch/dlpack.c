/* SPDX-License-Identifier: Apache-2.0 */
/* Reads DLPack tensors as batches. The structs restate the layout of DLPack's ABI. */
#include "motley/dlpack.h"
#include "base/error.h"
#include "base/params.h"
#include "base/values.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    const int64_t *shape;
    const int64_t *strides; /* in elements; NULL: dense, the last axis innermost */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_managed_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager;
    void (*deleter)(struct dl_managed_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_managed_versioned;

enum { DEVICE_CPU = 1, DEVICE_CUDA = 2, DEVICE_CUDA_HOST = 3, DEVICE_CUDA_MANAGED = 13 };
enum { CODE_UINT = 1, CODE_FLOAT = 2, CODE_BFLOAT = 4 };
#define FLAG_READ_ONLY 1u
#define MAJOR_VERSION 1u

/* For each order of axes, the index of each axis in the tensor's shape; -1: the tensor lacks it. */
static const struct {
    const char *name;
    int count, channel, height, width;
} axes_of[] = {
    [MOTLEY_AXES_HWC] = { "hwc", 3, 2, 0, 1 },
    [MOTLEY_AXES_CHW] = { "chw", 3, 0, 1, 2 },
    [MOTLEY_AXES_HW] = { "hw", 2, -1, 0, 1 },
};

static motley_status tensor_of(const void *managed, const motley_dlpack_params *params, const dl_tensor **tensor,
                               motley_error *error)
{
    MOT_REQUIRE(managed, error, "the tensor is NULL");
    if (params->kind == MOTLEY_DLPACK_LEGACY) {
        *tensor = &((const dl_managed *)managed)->tensor;
        return MOTLEY_OK;
    }
    const dl_managed_versioned *const versioned = managed;
    if (versioned->version.major != MAJOR_VERSION) /* nothing after the version may then be read */
        return mot_fail(error, MOTLEY_ERR_UNSUPPORTED, "the tensor is of DLPack %" PRIu32 ".%" PRIu32 ", want %u.x",
                        versioned->version.major, versioned->version.minor, MAJOR_VERSION);
    MOT_REQUIRE(!params->writes || !(versioned->flags & FLAG_READ_ONLY), error,
                "the tensor is read-only, want one to write to");
    *tensor = &versioned->tensor;
    return MOTLEY_OK;
}

static motley_status dtype_of(const dl_tensor *t, motley_dtype *dtype, int64_t *bytes, motley_error *error)
{
    static const struct {
        uint8_t code, bits;
        motley_dtype dtype;
    } known[] = { { CODE_UINT, 8, MOTLEY_U8 },
                  { CODE_UINT, 16, MOTLEY_U16 },
                  { CODE_FLOAT, 32, MOTLEY_F32 },
                  { CODE_FLOAT, 16, MOTLEY_F16 },
                  { CODE_BFLOAT, 16, MOTLEY_BF16 } };
    MOT_REQUIRE(t->dtype.lanes == 1, error, "the tensor's dtype has %d lanes, want 1", t->dtype.lanes);
    *bytes = t->dtype.bits / 8;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (t->dtype.code == known[i].code && t->dtype.bits == known[i].bits) {
            *dtype = known[i].dtype;
            return MOTLEY_OK;
        }
    return mot_fail(
        error, MOTLEY_ERR_ARGUMENT,
        "the tensor's dtype is DLPack code %d with %d bits, want uint8, uint16, float32, float16 or bfloat16",
        t->dtype.code, t->dtype.bits);
}

static motley_status place_of(const dl_tensor *t, motley_dlpack_place *place, motley_error *error)
{
    const int32_t type = t->device.type;
    const bool cuda = type == DEVICE_CUDA || type == DEVICE_CUDA_MANAGED;
    *place = (motley_dlpack_place){ cuda ? MOTLEY_BACKEND_CUDA : MOTLEY_BACKEND_CPU, cuda ? t->device.id : 0 };
    if (cuda || type == DEVICE_CPU || type == DEVICE_CUDA_HOST)
        return MOTLEY_OK;
    return mot_fail(error, MOTLEY_ERR_UNSUPPORTED,
                    "the tensor is on DLPack device type %" PRId32
                    ", want the CPU (1), CUDA (2), CUDA's host memory (3) or "
                    "its managed memory (13)",
                    type);
}

/* Strides in bytes of every axis. */
static motley_status strides_of(const dl_tensor *t, int64_t bytes, int64_t *strides, motley_error *error)
{
    int64_t dense = bytes;
    for (int i = t->ndim - 1; i >= 0; i--) {
        MOT_REQUIRE(t->shape[i] >= 0 && t->shape[i] <= INT32_MAX, error,
                    "the tensor's axis %d has %" PRId64 " entries, want 0 to %" PRId32, i, t->shape[i], INT32_MAX);
        if (!t->strides) {
            strides[i] = dense;
            MOT_REQUIRE(!__builtin_mul_overflow(dense, t->shape[i] ? t->shape[i] : 1, &dense), error,
                        "the tensor has more bytes than memory");
        } else {
            MOT_REQUIRE(!__builtin_mul_overflow(t->strides[i], bytes, &strides[i]), error,
                        "the tensor's axis %d has a stride of %" PRId64 " elements, want less", i, t->strides[i]);
        }
    }
    return MOTLEY_OK;
}

motley_status motley_batch_from_dlpack(const void *managed, const motley_dlpack_params *params, motley_batch *batch,
                                       motley_dlpack_place *place, motley_error *error)
{
    const dl_tensor *t = NULL;
    motley_batch made = { 0 };
    motley_dlpack_place at;
    int64_t bytes = 1, stride[4];
    MOT_READ_PARAMS(motley_dlpack_params, params, error);
    MOT_REQUIRE(batch, error, "batch is NULL, want a place to store it");
    MOT_REQUIRE((unsigned)params->kind <= MOTLEY_DLPACK_VERSIONED, error,
                "kind is %d, want 0 (legacy) or 1 (versioned)", (int)params->kind);
    MOT_REQUIRE((unsigned)params->axes <= MOTLEY_AXES_HW, error, "axes is %d, want 0 (hwc), 1 (chw) or 2 (hw)",
                (int)params->axes);
    MOT_TRY(tensor_of(managed, params, &t, error));
    MOT_TRY(dtype_of(t, &made.dtype, &bytes, error));
    MOT_TRY(place_of(t, &at, error));
    const int own = axes_of[params->axes].count, lead = t->ndim - own;
    MOT_REQUIRE(lead == 0 || lead == 1, error, "the tensor has %" PRId32 " axes, want %d (%s), or %d for a batch",
                t->ndim, own, axes_of[params->axes].name, own + 1);
    MOT_REQUIRE(t->shape, error, "the tensor's shape is NULL");
    MOT_TRY(strides_of(t, bytes, stride, error));

    const int channel = axes_of[params->axes].channel, height = lead + axes_of[params->axes].height,
              width = lead + axes_of[params->axes].width;
    const int64_t channels = channel < 0 ? 1 : t->shape[lead + channel];
    MOT_REQUIRE(channels >= 1 && channels <= MOTLEY_MAX_BANDS, error,
                "the tensor's axis %d has %" PRId64 " entries, want 1 to %d channels (its axes are taken as %s)",
                lead + channel, channels, MOTLEY_MAX_BANDS, axes_of[params->axes].name);
    made.count = lead ? (size_t)t->shape[0] : 1;
    made.channels = (int32_t)channels;
    made.width = (int32_t)t->shape[width];
    made.height = (int32_t)t->shape[height];
    made.image_stride = lead ? stride[0] : 0;
    made.row_stride = stride[height];
    made.pixel_stride = stride[width];
    made.channel_stride = channel < 0 ? bytes : stride[lead + channel];
    const int strided = made.image_stride || made.row_stride || made.pixel_stride || made.channel_stride;
    const int some = made.count > 0 && made.width > 0 && made.height > 0;
    const int several = made.count > 1 || made.width > 1 || made.height > 1 || made.channels > 1;
    MOT_REQUIRE(strided || !some || !several, error, /* a batch without strides would be taken as dense */
                "the tensor's strides are all 0, so its entries share memory; want memory for each");
    MOT_REQUIRE(t->data || made.count == 0 || made.width == 0 || made.height == 0, error, "the tensor's data is NULL");
    made.data = t->data ? (char *)t->data + t->byte_offset : NULL;
    *batch = made;
    if (place)
        *place = at;
    return MOTLEY_OK;
}

motley_status motley_images_from_dlpack(const void *const *managed, size_t count, const motley_dlpack_params *params,
                                        motley_image *images, motley_batch *batch, motley_dlpack_place *place,
                                        motley_error *error)
{
    MOT_REQUIRE(batch, error, "batch is NULL, want a place to store it");
    MOT_TRY(mot_check_count("count", count, error));
    MOT_REQUIRE((managed && images) || count == 0, error, "%s is NULL", managed ? "images" : "the list of tensors");
    motley_batch made = { .count = count, .channels = 1, .images = images };
    motley_dlpack_place first = { MOTLEY_BACKEND_CPU, 0 };
    for (size_t i = 0; i < count; i++) {
        motley_batch one;
        motley_dlpack_place at;
        MOT_TRY(mot_fail_in(error, motley_batch_from_dlpack(managed[i], params, &one, &at, error), "image %zu: ", i));
        MOT_REQUIRE(one.count == 1, error, "image %zu: the tensor is a batch of %zu, want one image", i, one.count);
        if (i == 0) {
            made.channels = one.channels;
            made.dtype = one.dtype;
            first = at;
        }
        MOT_REQUIRE(one.channels == made.channels, error, "image %zu: channels is %" PRId32 ", want image 0's %" PRId32,
                    i, one.channels, made.channels);
        MOT_REQUIRE(one.dtype == made.dtype, error, "image %zu: dtype is %d, want image 0's %d", i, (int)one.dtype,
                    (int)made.dtype);
        MOT_REQUIRE(at.backend == first.backend && at.device == first.device, error,
                    "image %zu: it is on another device than image 0", i);
        images[i] =
            (motley_image){ one.data, one.width, one.height, one.row_stride, one.pixel_stride, one.channel_stride };
    }
    *batch = made;
    if (place)
        *place = first;
    return MOTLEY_OK;
}
