/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes DLPack: any tensor is refused with a sentence, or is a batch whose every component lies in the tensor's
 * memory. The tensor's own extent is computed here in 128 bits. */
#include "motley.h"
#include "tests/fuzz/fuzz.h"

/* DLPack's ABI, https://dmlc.github.io/dlpack: DLTensor, and what stands before it in the two kinds that manage one. */
typedef struct tensor {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides;
    uint64_t byte_offset;
} tensor;

typedef struct managed {
    tensor tensor;
    void *manager, *deleter;
} managed;

typedef struct versioned {
    uint32_t major, minor;
    void *manager, *deleter;
    uint64_t flags;
    tensor tensor;
} versioned;

enum { MOST_AXES = 5, MEMORY = 1 << 12 };
static uint8_t memory[MEMORY];

/* Mostly small numbers: of all 64 bit ones nearly none makes an image. */
static int64_t take_size(fuzz_input *in)
{
    int64_t value;
    if (fuzz_number(in, 16) == 0) {
        fuzz_take(in, &value, sizeof value);
        return value;
    }
    return (int64_t)fuzz_number(in, 80) - 8;
}

/* The lowest and highest byte of the tensor's, from its data pointer on. */
static void extent(const tensor *t, __int128 *low, __int128 *high)
{
    const int bytes = t->bits / 8;
    __int128 dense = 1;
    *low = *high = 0;
    for (int i = t->ndim - 1; i >= 0; i--) {
        const __int128 step = (t->strides ? (__int128)t->strides[i] : dense) * (t->shape[i] - 1) * bytes;
        *(step < 0 ? low : high) += step;
        dense *= t->shape[i];
    }
    *high += bytes;
}

/* Whether a batch's components are within `low` .. `high` of the data. */
static void check(const motley_batch *batch, const uint8_t *data, __int128 low, __int128 high, int bytes)
{
    __int128 first = (intptr_t)batch->data - (intptr_t)data, last = first + bytes;
    const __int128 steps[] = { (__int128)batch->image_stride * ((__int128)batch->count - 1),
                               (__int128)batch->row_stride * (batch->height - 1),
                               (__int128)batch->pixel_stride * (batch->width - 1),
                               (__int128)batch->channel_stride * (batch->channels - 1) };
    for (int i = 0; i < 4; i++)
        *(steps[i] < 0 ? &first : &last) += steps[i];
    MUST(first >= low && last <= high);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static motley_context *context;
    if (!context)
        MUST(motley_context_create(&(motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = 1 }, &context,
                                   NULL) == MOTLEY_OK);
    fuzz_input in = { data, size };
    const uint32_t form = fuzz_number(&in, 256);
    int64_t shape[MOST_AXES], strides[MOST_AXES];
    tensor t = { .data = form & 1 ? memory + MEMORY / 2 : memory, .device_type = 1, .code = 1, .bits = 8, .lanes = 1 };
    t.ndim = (int32_t)fuzz_number(&in, MOST_AXES + 1);
    for (int i = 0; i < t.ndim; i++) {
        shape[i] = take_size(&in);
        strides[i] = take_size(&in);
    }
    t.shape = shape;
    t.strides = form & 2 ? strides : NULL;
    if (form & 4) { /* a type, a device or an offset that is not the usual one */
        fuzz_take(&in, &t.code, 1), fuzz_take(&in, &t.bits, 1), fuzz_take(&in, &t.lanes, 2);
        t.code %= 8, t.lanes %= 3;
        t.device_type = (int32_t)fuzz_number(&in, 16);
        t.byte_offset = fuzz_number(&in, 64);
    }
    managed legacy = { .tensor = t };
    versioned new = { .major = form & 8 ? fuzz_number(&in, 3) : 1, .flags = form >> 4 & 3, .tensor = t };
    const motley_dlpack_params params = { .kind = form & 64 ? MOTLEY_DLPACK_VERSIONED : MOTLEY_DLPACK_LEGACY,
                                          .axes = (motley_dlpack_axes)fuzz_number(&in, 3),
                                          .writes = (int)(form >> 7) };
    const void *tensor_of_kind = form & 64 ? (const void *)&new : (const void *)&legacy;
    motley_batch batch;
    motley_image image;
    motley_dlpack_place place;
    motley_error error = { 0 };
    __int128 low, high;
    motley_status status = motley_batch_from_dlpack(tensor_of_kind, &params, &batch, &place, &error);
    MUST(status == MOTLEY_OK || (error.status == status && *error.message));
    if (status == MOTLEY_OK && batch.count > 0 && batch.width > 0 && batch.height > 0) { /* others are refused later */
        extent(&t, &low, &high);
        check(&batch, (const uint8_t *)t.data + t.byte_offset, low, high, t.bits / 8);
        const __int128 begin = (const uint8_t *)t.data - memory + (__int128)t.byte_offset;
        if (t.bits == 8 && place.backend == MOTLEY_BACKEND_CPU && begin + low >= 0 && begin + high <= MEMORY) {
            status = motley_op_apply(context, motley_op_find("flip_lr"), NULL, 0, &batch, &batch, NULL, &error);
            MUST(status == MOTLEY_OK || (error.status == status && *error.message));
        }
    }
    status = motley_images_from_dlpack(&tensor_of_kind, 1, &params, &image, &batch, &place, &error);
    MUST(status == MOTLEY_OK || (error.status == status && *error.message));
    return 0;
}
