/* SPDX-License-Identifier: Apache-2.0 */
/* DLPack's tensors as batches: what is read out of the structs, and what is refused. */
#include "motley.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The structs as DLPack 1.1 specifies them, field by field: independent of the library's. */
typedef struct {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct {
    Tensor tensor;
    void *manager_ctx;
    void (*deleter)(void *);
} Legacy;

typedef struct {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(void *);
    uint64_t flags;
    Tensor tensor;
} Versioned;

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, ROCM = 10, CUDA_MANAGED = 13 };
enum { READ_ONLY = 1 };

static uint8_t pixels[4096];
static int64_t shape[4], strides[4];

static Tensor tensor(int ndim, const int64_t *sizes)
{
    memcpy(shape, sizes, (size_t)ndim * sizeof *sizes);
    return (
        Tensor){ .data = pixels, .device_type = CPU, .ndim = ndim, .code = 1, .bits = 8, .lanes = 1, .shape = shape };
}
#define TENSOR(...) tensor(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ })

static motley_batch batch;
static motley_dlpack_place place;
static motley_error error;

static motley_status read_as(Tensor t, motley_dlpack_axes axes)
{
    const Legacy legacy = { .tensor = t };
    const motley_dlpack_params params = { .axes = axes };
    memset(&batch, 0xAB, sizeof batch);
    memset(&error, 0, sizeof error);
    return motley_batch_from_dlpack(&legacy, &params, &batch, &place, &error);
}

#define STRIDES(n, r, p, c) \
    do { \
        cr_expect_eq(batch.image_stride, n); \
        cr_expect_eq(batch.row_stride, r); \
        cr_expect_eq(batch.pixel_stride, p); \
        cr_expect_eq(batch.channel_stride, c); \
    } while (0)
#define SIZES(n, c, h, w) \
    do { \
        cr_expect_eq(batch.count, n); \
        cr_expect_eq(batch.channels, c); \
        cr_expect_eq(batch.height, h); \
        cr_expect_eq(batch.width, w); \
        cr_expect(batch.images == NULL); \
    } while (0)

Test(dlpack, axes_become_sizes_and_dense_strides)
{
    cr_assert_eq(read_as(TENSOR(5, 7, 9, 3), MOTLEY_AXES_HWC), MOTLEY_OK);
    SIZES(5, 3, 7, 9);
    STRIDES(189, 27, 3, 1);
    cr_expect(batch.data == pixels && batch.dtype == MOTLEY_U8);
    cr_assert_eq(read_as(TENSOR(5, 3, 7, 9), MOTLEY_AXES_CHW), MOTLEY_OK);
    SIZES(5, 3, 7, 9);
    STRIDES(189, 9, 1, 63);
    cr_assert_eq(read_as(TENSOR(5, 7, 9), MOTLEY_AXES_HW), MOTLEY_OK);
    SIZES(5, 1, 7, 9);
    STRIDES(63, 9, 1, 1);
    cr_assert_eq(read_as(TENSOR(4, 7, 9), MOTLEY_AXES_CHW), MOTLEY_OK); /* one image */
    SIZES(1, 4, 7, 9);
    STRIDES(0, 9, 1, 63);
    cr_assert_eq(read_as(TENSOR(7, 9), MOTLEY_AXES_HW), MOTLEY_OK);
    SIZES(1, 1, 7, 9);
    cr_assert_eq(read_as(TENSOR(0, 7, 9, 3), MOTLEY_AXES_HWC), MOTLEY_OK);
    SIZES(0, 3, 7, 9);
}

Test(dlpack, strides_are_elements_and_the_offset_bytes)
{
    Tensor t = TENSOR(2, 3, 7, 9);
    memcpy(strides, (int64_t[]){ 300, 1, -30, 3 }, sizeof strides); /* hwc in memory, upside down */
    t.strides = strides;
    t.byte_offset = 210;
    cr_assert_eq(read_as(t, MOTLEY_AXES_CHW), MOTLEY_OK);
    STRIDES(300, -30, 3, 1);
    cr_expect(batch.data == pixels + 210);
    t.code = 2;
    t.bits = 32;
    cr_assert_eq(read_as(t, MOTLEY_AXES_CHW), MOTLEY_OK);
    STRIDES(1200, -120, 12, 4);
    cr_expect_eq(batch.dtype, MOTLEY_F32);
}

Test(dlpack, every_type_there_is)
{
    static const struct {
        uint8_t code, bits;
        motley_dtype dtype;
        int64_t bytes;
    } types[] = { { 1, 8, MOTLEY_U8, 1 },
                  { 2, 32, MOTLEY_F32, 4 },
                  { 2, 16, MOTLEY_F16, 2 },
                  { 4, 16, MOTLEY_BF16, 2 },
                  { 1, 16, MOTLEY_U16, 2 } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        Tensor t = TENSOR(7, 9, 3);
        t.code = types[i].code;
        t.bits = types[i].bits;
        cr_assert_eq(read_as(t, MOTLEY_AXES_HWC), MOTLEY_OK, "%s", error.message);
        cr_expect_eq(batch.dtype, types[i].dtype);
        STRIDES(0, 27 * types[i].bytes, 3 * types[i].bytes, types[i].bytes);
    }
}

Test(dlpack, every_device_there_is)
{
    static const struct {
        int32_t type;
        motley_backend backend;
        int device;
    } devices[] = { { CPU, MOTLEY_BACKEND_CPU, 0 },
                    { CUDA_HOST, MOTLEY_BACKEND_CPU, 0 },
                    { CUDA, MOTLEY_BACKEND_CUDA, 3 },
                    { CUDA_MANAGED, MOTLEY_BACKEND_CUDA, 3 } };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        Tensor t = TENSOR(7, 9, 3);
        t.device_type = devices[i].type;
        t.device_id = 3;
        cr_assert_eq(read_as(t, MOTLEY_AXES_HWC), MOTLEY_OK, "%s", error.message);
        cr_expect_eq(place.backend, devices[i].backend);
        cr_expect_eq(place.device, devices[i].device);
    }
}

Test(dlpack, versioned_and_read_only)
{
    Versioned v = { .major = 1, .minor = 9, .tensor = TENSOR(7, 9, 3) };
    motley_dlpack_params params = { .kind = MOTLEY_DLPACK_VERSIONED };
    cr_assert_eq(motley_batch_from_dlpack(&v, &params, &batch, NULL, &error), MOTLEY_OK, "%s", error.message);
    SIZES(1, 3, 7, 9);
    params.writes = 1;
    cr_expect_eq(motley_batch_from_dlpack(&v, &params, &batch, NULL, &error), MOTLEY_OK);
    v.flags = READ_ONLY;
    cr_expect_eq(motley_batch_from_dlpack(&v, &params, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "the tensor is read-only, want one to write to");
    params.writes = 0;
    cr_expect_eq(motley_batch_from_dlpack(&v, &params, &batch, NULL, &error), MOTLEY_OK);
    v.major = 2;
    cr_expect_eq(motley_batch_from_dlpack(&v, &params, &batch, NULL, &error), MOTLEY_ERR_UNSUPPORTED);
    cr_expect_str_eq(error.message, "the tensor is of DLPack 2.9, want 1.x");
}

static void refused(Tensor t, motley_dlpack_axes axes, motley_status status, const char *message)
{
    motley_batch before;
    memset(&before, 0xAB, sizeof before);
    cr_expect_eq(read_as(t, axes), (int)status, "%s", message);
    cr_expect(strstr(error.message, message) != NULL, "'%s' is not in '%s'", message, error.message);
    cr_expect(memcmp(&batch, &before, sizeof batch) == 0, "the batch was touched: %s", message);
}

Test(dlpack, what_no_batch_can_be)
{
    Tensor t = TENSOR(7, 9, 3);
    t.lanes = 4;
    refused(t, MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "dtype has 4 lanes, want 1");
    t = TENSOR(7, 9, 3);
    t.code = 0;
    refused(t, MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "code 0 with 8 bits, want uint8, uint16, float32");
    t.code = 2;
    t.bits = 64;
    refused(t, MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "code 2 with 64 bits");
    t = TENSOR(7, 9, 3);
    t.device_type = ROCM;
    refused(t, MOTLEY_AXES_HWC, MOTLEY_ERR_UNSUPPORTED, "device type 10, want the CPU (1)");
    refused(TENSOR(7, 9), MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "has 2 axes, want 3 (hwc), or 4 for a batch");
    refused(TENSOR(7, 9), MOTLEY_AXES_CHW, MOTLEY_ERR_ARGUMENT, "want 3 (chw)");
    refused(TENSOR(2, 2, 7, 9), MOTLEY_AXES_HW, MOTLEY_ERR_ARGUMENT, "has 4 axes, want 2 (hw), or 3 for a batch");
    refused(TENSOR(2, 1030, 20, 3), MOTLEY_AXES_CHW, MOTLEY_ERR_ARGUMENT,
            "axis 1 has 1030 entries, want 1 to 1024 channels (its axes are taken as chw)");
    refused(TENSOR(2, 30, 20, 0), MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "axis 3 has 0 entries");
    refused(TENSOR(-2, 30, 20, 3), MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "axis 0 has -2 entries");
    refused(TENSOR(2, 30, (int64_t)1 << 40, 3), MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT,
            "axis 2 has 1099511627776 entries");
    refused(TENSOR(INT32_MAX, INT32_MAX, INT32_MAX, 3), MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "more bytes than memory");
    t = TENSOR(7, 9, 3);
    t.data = NULL;
    refused(t, MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "data is NULL");
    t = TENSOR(7, 9, 3);
    t.shape = NULL;
    refused(t, MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "shape is NULL");
    t = TENSOR(7, 9, 3);
    t.bits = 32;
    t.code = 2;
    memcpy(strides, (int64_t[]){ INT64_MAX / 2, 3, 1 }, 3 * sizeof *strides);
    t.strides = strides;
    refused(t, MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "axis 0 has a stride of 4611686018427387903 elements");
    t = TENSOR(2, 7, 9, 3); /* one component, expanded: a batch whose strides are all 0 is dense */
    memset(strides, 0, sizeof strides);
    t.strides = strides;
    refused(t, MOTLEY_AXES_HWC, MOTLEY_ERR_ARGUMENT, "strides are all 0, so its entries share memory");
    t = TENSOR(1, 1, 1, 1);
    t.strides = strides;
    cr_expect_eq(read_as(t, MOTLEY_AXES_HWC), MOTLEY_OK);
    refused(TENSOR(7, 9, 3), (motley_dlpack_axes)7, MOTLEY_ERR_ARGUMENT, "axes is 7, want 0 (hwc)");
    const motley_dlpack_params params = { .kind = (motley_dlpack_kind)5 };
    cr_expect_eq(motley_batch_from_dlpack(&t, &params, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_eq(motley_batch_from_dlpack(NULL, NULL, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "the tensor is NULL");
    cr_expect_eq(motley_batch_from_dlpack(&t, NULL, NULL, NULL, NULL), MOTLEY_ERR_ARGUMENT);
}

Test(dlpack, images_of_many_sizes)
{
    int64_t sizes[3][3] = { { 3, 7, 9 }, { 3, 1, 40 }, { 3, 20, 20 } };
    Legacy legacy[3];
    const void *managed[3];
    motley_image images[3];
    const motley_dlpack_params params = { .axes = MOTLEY_AXES_CHW };
    for (int i = 0; i < 3; i++) {
        legacy[i] = (Legacy){ .tensor = TENSOR(0, 0, 0) };
        legacy[i].tensor.shape = sizes[i];
        legacy[i].tensor.data = pixels + 1024 * i;
        managed[i] = &legacy[i];
    }
    cr_assert_eq(motley_images_from_dlpack(managed, 3, &params, images, &batch, &place, &error), MOTLEY_OK);
    cr_expect(batch.count == 3 && batch.channels == 3 && batch.images == images && place.backend == MOTLEY_BACKEND_CPU);
    for (int i = 0; i < 3; i++) {
        cr_expect(images[i].data == pixels + 1024 * i && images[i].height == sizes[i][1] &&
                  images[i].width == sizes[i][2]);
        cr_expect(images[i].row_stride == sizes[i][2] && images[i].pixel_stride == 1 &&
                  images[i].channel_stride == sizes[i][1] * sizes[i][2]);
    }
    sizes[1][0] = 1;
    cr_expect_eq(motley_images_from_dlpack(managed, 3, &params, images, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 1: channels is 1, want image 0's 3");
    sizes[1][0] = 3;
    legacy[2].tensor.device_type = CUDA;
    cr_expect_eq(motley_images_from_dlpack(managed, 3, &params, images, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 2: it is on another device than image 0");
    legacy[2].tensor.device_type = CPU;
    legacy[2].tensor.code = 2;
    legacy[2].tensor.bits = 16;
    cr_expect_eq(motley_images_from_dlpack(managed, 3, &params, images, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 2: dtype is 2, want image 0's 0");
    legacy[2].tensor.lanes = 2;
    cr_expect_eq(motley_images_from_dlpack(managed, 3, &params, images, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 2: the tensor's dtype has 2 lanes, want 1");
    int64_t two[4] = { 2, 3, 5, 5 };
    legacy[0].tensor.shape = two;
    legacy[0].tensor.ndim = 4;
    cr_expect_eq(motley_images_from_dlpack(managed, 3, &params, images, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "image 0: the tensor is a batch of 2, want one image");
    cr_expect_eq(motley_images_from_dlpack(NULL, 1, &params, images, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_eq(motley_images_from_dlpack(managed, 1, &params, NULL, &batch, NULL, &error), MOTLEY_ERR_ARGUMENT);
    cr_expect_eq(motley_images_from_dlpack(NULL, 0, &params, NULL, &batch, NULL, &error), MOTLEY_OK);
    cr_expect(batch.count == 0);
}

/* The library reads and writes where the tensor says. */
Test(dlpack, an_op_runs_on_tensors)
{
    motley_context *context;
    const motley_context_params one_thread = { .backend = MOTLEY_BACKEND_CPU, .threads = 1 };
    cr_assert_eq(motley_context_create(&one_thread, &context, NULL), MOTLEY_OK);
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37);
    Tensor t = TENSOR(2, 3, 4, 5);
    memcpy(strides, (int64_t[]){ 64, 1, 15, 3 }, sizeof strides);
    t.strides = strides;
    t.byte_offset = 100;
    cr_assert_eq(read_as(t, MOTLEY_AXES_CHW), MOTLEY_OK);
    cr_assert_eq(motley_op_apply(context, motley_op_find("invert"), NULL, 0, &batch, &batch, NULL, &error), MOTLEY_OK,
                 "%s", error.message);
    for (int i = 0; i < (int)sizeof pixels; i++) {
        const int inside = (i >= 100 && i < 160) || (i >= 164 && i < 224);
        const uint8_t was = (uint8_t)(i * 37);
        cr_expect(pixels[i] == (inside ? (uint8_t)(255 - was) : was), "byte %d", i);
    }
    motley_context_destroy(context);
}
