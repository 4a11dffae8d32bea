/* SPDX-License-Identifier: Apache-2.0 */
/* What callers get wrong: each mistake gives its status and a sentence that names the thing, and nothing is written. */
#include "motley.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, CHANNELS = 3, COUNT = 3, EACH = SIDE * SIDE * CHANNELS };

static motley_context *context;
static uint8_t pixels[4 * COUNT * EACH], before[sizeof pixels];

static void begin(void)
{
    const motley_context_params params = { .backend = MOTLEY_BACKEND_CPU, .threads = 1 };
    cr_assert_eq(motley_context_create(&params, &context, NULL), MOTLEY_OK);
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 7);
    memcpy(before, pixels, sizeof pixels);
}

static void end(void)
{
    motley_context_destroy(context);
}

static motley_batch good(void)
{
    return (motley_batch){ .count = COUNT, .channels = CHANNELS, .data = pixels, .width = SIDE, .height = SIDE };
}

static void wants(motley_status got, motley_status wanted, const motley_error *error, const char *piece)
{
    cr_expect_eq(got, wanted, "%s for \"%s\": %s", motley_status_name(got), piece, error->message);
    cr_expect_eq(error->status, wanted);
    cr_expect(strstr(error->message, piece), "\"%s\" is not in \"%s\"", piece, error->message);
    cr_expect_eq(memcmp(before, pixels, sizeof pixels), 0, "pixels changed: %s", piece);
}

/* One op on src and dst. */
static void refuses(const motley_batch *src, const motley_batch *dst, const char *piece)
{
    static const double values[COUNT] = { 3, 3, 3 };
    motley_error error = { 0 };
    const int op = motley_op_find("posterize");
    wants(motley_op_apply(context, op, values, 1, src, dst, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, piece);
    cr_expect_eq(motley_op_apply(context, op, values, 1, src, dst, NULL, NULL),
                 MOTLEY_ERR_ARGUMENT); /* no error wanted */
}

Test(validate, batches)
{
    begin();
    static const struct {
        size_t offset;
        int64_t value;
        size_t size;
        const char *piece;
    } mistakes[] = {
#define MISTAKE(field, value, piece) { offsetof(motley_batch, field), value, sizeof(((motley_batch *)0)->field), piece }
        MISTAKE(channels, 0, "channels is 0, want 1 to 1024"),
        MISTAKE(channels, 1025, "channels is 1025, want 1 to 1024"),
        MISTAKE(dtype, 9, "dtype is 9"),
        MISTAKE(dtype, MOTLEY_F16, "want MOTLEY_U8, MOTLEY_U16 or MOTLEY_F32"),
        MISTAKE(layout, 7, "layout is 7"),
        MISTAKE(width, 0, "image 0: width is 0, want 1 to 1048576"),
        MISTAKE(height, -3, "image 0: height is -3"),
        MISTAKE(width, 2000000, "width is 2000000"),
        MISTAKE(data, 0, "data is NULL"),
        MISTAKE(pixel_stride, 1, "overlap"),
        MISTAKE(row_stride, 5, "overlap"),
        MISTAKE(row_stride, (int64_t)1 << 41, "over 2^40"),
        MISTAKE(row_stride, INT64_MIN, "over 2^40"),
        MISTAKE(pixel_stride, INT64_MIN, "over 2^40"),
        MISTAKE(channel_stride, INT64_MIN, "over 2^40"),
        MISTAKE(channel_stride, 0, "stride is 0, as grey's, want that of 3 channels, or a transform that begins with"),
        MISTAKE(image_stride, INT64_MIN, "under 2^40"),
        MISTAKE(image_stride, 10, "overlap"),
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        motley_batch b = good();
        if (strstr(mistakes[i].piece, "overlap") || strstr(mistakes[i].piece, "2^40") ||
            strstr(mistakes[i].piece, "stride is 0")) {
            b.pixel_stride = CHANNELS;
            b.row_stride = CHANNELS * SIDE;
            b.channel_stride = 1;
            b.image_stride = EACH;
        }
        memcpy((char *)&b + mistakes[i].offset, &mistakes[i].value, mistakes[i].size); /* little endian */
        refuses(&b, &b, mistakes[i].piece);
    }
    const motley_batch b = good();
    motley_batch flat = b; /* of which only src could be read as grey */
    flat.pixel_stride = CHANNELS, flat.row_stride = CHANNELS * SIDE, flat.image_stride = EACH;
    motley_error error;
    const double values[COUNT] = { 3, 3, 3 };
    cr_expect_eq(motley_op_apply(context, motley_op_find("posterize"), values, 1, &b, &flat, NULL, &error),
                 MOTLEY_ERR_ARGUMENT);
    cr_expect_str_eq(error.message, "dst image 0: its channel stride is 0, as grey's, want that of 3 channels");
    refuses(NULL, &b, "src is NULL");
    refuses(&b, NULL, "dst is NULL");
    end();
}

Test(validate, pairs_of_batches)
{
    begin();
    const motley_batch src = good();
    motley_batch dst = src;
    dst.count = COUNT - 1;
    refuses(&src, &dst, "count is 2, want src's 3");
    dst = src;
    dst.channels = 1;
    refuses(&src, &dst, "channels is 1, want src's 3");
    dst = src;
    dst.width = SIDE / 2;
    refuses(&src, &dst, "size is 4x8, want src's 8x8");
    dst = src;
    dst.data = pixels + 5;
    refuses(&src, &dst, "overlaps src image 0 in part");
    dst.data = pixels + EACH + 5; /* image 0 overlaps src's images 1 and 2 */
    refuses(&src, &dst, "images of one overlap others of src");
    dst.data = pixels + EACH;
    refuses(&src, &dst, "images of one overlap others of src");
    motley_batch back = src;
    back.row_stride = CHANNELS * SIDE, back.pixel_stride = CHANNELS, back.channel_stride = 1, back.image_stride = -EACH;
    for (int first = 1; first <= 2 * COUNT - 3; first++) {
        back.data = pixels + first * EACH;
        refuses(&src, &back, "images of one overlap others of src");
    }
    back.data = pixels + (2 * COUNT - 2) * EACH + 5; /* the last image is src's in part */
    refuses(&src, &back, "images of one overlap others of src");
    static const double values[COUNT] = { 8, 8, 8 };
    back.data = pixels + (2 * COUNT - 2) * EACH; /* only the last image is of both, in one place */
    cr_expect_eq(motley_op_apply(context, motley_op_find("posterize"), values, 1, &src, &back, NULL, NULL), MOTLEY_OK);
    dst.data = pixels + COUNT * EACH; /* after src */
    cr_expect_eq(motley_op_apply(context, motley_op_find("posterize"), values, 1, &src, &dst, NULL, NULL), MOTLEY_OK);

    const motley_image images[2] = { { pixels, SIDE, SIDE, 24, 3, 1 }, { NULL, SIDE, SIDE, 24, 3, 1 } };
    const motley_batch many = { .count = 2, .channels = CHANNELS, .images = images };
    memcpy(before, pixels, sizeof pixels);
    refuses(&many, &many, "src image 1: data is NULL");

    motley_image three[3] = { images[0], images[0], images[0] };
    three[1].data = pixels + EACH, three[2].data = pixels;
    const motley_batch twice = { .count = 3, .channels = CHANNELS, .images = three };
    refuses(&twice, &twice, "dst image 2: its data is that of image 0, want separate memory");
    three[2].data = pixels + 2 * EACH;
    const motley_image turned[3] = { three[2], three[1], three[0] };
    const motley_batch other = { .count = 3, .channels = CHANNELS, .images = turned };
    refuses(&twice, &other, "dst image 2: its data is that of src image 0, want the same pixels or others");
    /* a source may occur twice */
    motley_image same[3] = { three[0], three[0], three[0] };
    for (int i = 0; i < 3; i++)
        same[i].data = pixels + 3 * EACH;
    motley_batch from = twice;
    const motley_batch to = twice;
    from.images = same;
    cr_expect_eq(motley_op_apply(context, motley_op_find("posterize"), values, 1, &from, &to, NULL, NULL), MOTLEY_OK);
    end();
}

Test(validate, values)
{
    begin();
    const motley_batch b = good();
    motley_error error = { 0 };
    double values[COUNT * 2] = { 3, 9, 3 };
    const int posterize = motley_op_find("posterize"), rotate = motley_op_find("rotate");
    wants(motley_op_apply(context, posterize, values, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
          "image 1: posterize: value is 9, want 0 to 8 (bits kept)");
    values[1] = NAN;
    wants(motley_op_apply(context, posterize, values, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "finite");
    values[1] = 3.5;
    wants(motley_op_apply(context, posterize, values, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
          "image 1: posterize: value is 3.5, want a whole number (bits kept)");
    wants(motley_op_apply(context, posterize, values, 2, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
          "posterize takes 1 value (bits kept), 2 were given");
    wants(motley_op_apply(context, posterize, NULL, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
          "values is NULL");
    wants(motley_op_apply(context, 1000, values, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "op is 1000");
    wants(motley_op_apply(NULL, rotate, values, 1, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
          "context is NULL");
    const motley_op_params odd = { .interpolation = (motley_interpolation)5 };
    values[1] = 3;
    wants(motley_op_apply(context, rotate, values, 1, &b, &b, &odd, &error), MOTLEY_ERR_ARGUMENT, &error,
          "interpolation is 5");
    const motley_op_params streamed = { .stream = pixels };
    wants(motley_op_apply(context, rotate, values, 1, &b, &b, &streamed, &error), MOTLEY_ERR_ARGUMENT, &error,
          "the cpu backend has none");
    end();
}

Test(validate, apply)
{
    begin();
    const motley_batch b = good();
    motley_error error = { 0 };
    motley_policy *policy;
    int32_t counts[COUNT];
    float out[COUNT * EACH];
    cr_assert_eq(motley_policy_builtin("rand_augment", &policy, NULL), MOTLEY_OK);
    wants(motley_apply(context, NULL, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "policy is NULL");
    wants(motley_apply(context, policy, &b, NULL, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "nowhere to write");
    motley_apply_params params = { .samples = { .epoch = 1u << 30 } };
    wants(motley_apply(context, policy, &b, &b, &params, &error), MOTLEY_ERR_ARGUMENT, &error, "want under 2^30");
    params = (motley_apply_params){ .step_counts = counts };
    wants(motley_apply(context, policy, &b, &b, &params, &error), MOTLEY_ERR_ARGUMENT, &error, "want both or neither");
    params = (motley_apply_params){ .counter = (const uint64_t *)pixels };
    wants(motley_apply(context, policy, &b, &b, &params, &error), MOTLEY_ERR_ARGUMENT, &error, "has neither");
    params = (motley_apply_params){ .output = { .batch = b } };
    params.output.batch.data = out;
    params.output.batch.dtype = MOTLEY_F32;
    params.output.batch.count = 1;
    wants(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error, "want src's 3");
    params.output.batch.count = COUNT;
    params.output.batch.height = SIDE + 1;
    wants(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error, "want output's 8x9");
    params.output.batch.height = SIDE;
    params.output.std[1] = -1;
    wants(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error, "std[1] is -1");
    params.output.std[1] = 0;
    params.output.batch.data = (char *)out + 1;
    wants(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error, "not aligned");
    wants(motley_rand_augment(context, 0, 9, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "num_ops is 0");
    wants(motley_rand_augment(context, 2, 99, &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "99");
    wants(motley_auto_augment(context, "cifar", &b, &b, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "'cifar'");
    const motley_batch none = { 0 };
    cr_expect_eq(motley_apply(context, policy, &none, &none, NULL, NULL), MOTLEY_OK, "an empty batch is fine");
    motley_policy_destroy(policy);
    end();
}

/* An output between images of the source is refused only if they overlap. */
Test(validate, output_apart)
{
    begin();
    motley_error error = { 0 };
    motley_policy *policy;
    cr_assert_eq(motley_policy_builtin("rand_augment", &policy, NULL), MOTLEY_OK);
    enum { RECORD = 3 * EACH + 8 }; /* an image, and then room for it with two bytes a component */
    static _Alignas(8) uint8_t records[(2 * COUNT + 1) * RECORD];
    motley_batch b = good();
    b.data = records;
    b.image_stride = RECORD, b.pixel_stride = 3, b.row_stride = 3 * SIDE, b.channel_stride = 1;
    motley_apply_params params = { .output = { .batch = b } };
    motley_batch *const out = &params.output.batch;
    cr_expect_eq(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_OK, "u8, in place: %s",
                 error.message);
    out->dtype = MOTLEY_F16;
    out->pixel_stride = 6, out->row_stride = 6 * SIDE, out->channel_stride = 2;
    out->data = records + EACH;
    cr_expect_eq(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_OK, "taking turns: %s",
                 error.message);
    out->data = records + EACH - 2;
    wants(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error,
          "shares memory with src image 0");
    out->data = records + EACH + 10; /* reaches into the next */
    wants(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error,
          "shares memory with src image 1");
    out->data = records + COUNT * RECORD - RECORD + EACH; /* from the last on, backwards */
    out->image_stride = -RECORD;
    cr_expect_eq(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_OK, "backwards: %s", error.message);
    out->data = (uint8_t *)out->data - 2;
    wants(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error,
          "shares memory with src image 0");
    motley_batch slots = *out; /* the first byte of each of its components */
    slots.dtype = MOTLEY_U8;
    wants(motley_apply(context, policy, &slots, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error,
          "shares memory with src image 0");
    b.data = records + (COUNT - 1) * RECORD; /* only the output's last reaches the first */
    out->data = records + EACH - 2;
    out->image_stride = RECORD;
    wants(motley_apply(context, policy, &b, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error,
          "shares memory with src image 0");
    motley_image each[COUNT];
    motley_batch array = good();
    array.images = each;
    params.output.batch = good();
    out->data = records;
    for (int i = 0; i < COUNT; i++)
        each[i] = (motley_image){ records + i * EACH, SIDE, SIDE, 3 * SIDE, 3, 1 };
    cr_expect_eq(motley_apply(context, policy, &array, NULL, &params, &error), MOTLEY_OK, "u8, in place, an array: %s",
                 error.message);
    each[1].data = records + 2 * EACH;
    wants(motley_apply(context, policy, &array, NULL, &params, &error), MOTLEY_ERR_ARGUMENT, &error,
          "shares memory with src image 1");
    static uint8_t dst[COUNT * EACH];
    motley_batch d = good();
    d.data = dst;
    motley_batch s = good();
    params.output.batch = d;
    out->dtype = MOTLEY_U8;
    cr_expect_eq(motley_apply(context, policy, &s, &d, &params, &error), MOTLEY_OK, "the dst's pixels: %s",
                 error.message);
    out->layout = MOTLEY_CHW;
    wants(motley_apply(context, policy, &s, &d, &params, &error), MOTLEY_ERR_ARGUMENT, &error,
          "shares memory with dst image 0");
    motley_policy_destroy(policy);
    end();
}

/* A resize whose result is between images of its source is refused only if they overlap. */
Test(validate, resize_apart)
{
    begin();
    motley_error error = { 0 };
    enum { RECORD = 2 * EACH }; /* an image, and room for another */
    static uint8_t records[COUNT * RECORD + 1];
    motley_image each[COUNT];
    motley_batch src = good(), dst = good(), array = good();
    src.data = records, src.image_stride = dst.image_stride = RECORD;
    src.pixel_stride = dst.pixel_stride = 3, src.row_stride = dst.row_stride = 3 * SIDE;
    src.channel_stride = dst.channel_stride = 1;
    array.images = each;
    for (int i = 0; i < COUNT; i++)
        each[i] = (motley_image){ records + i * RECORD, SIDE, SIDE, 3 * SIDE, 3, 1 };
    const motley_batch *const sources[] = { &src, &array };
    for (size_t s = 0; s < sizeof sources / sizeof sources[0]; s++) {
        dst.data = records + EACH;
        cr_expect_eq(motley_resize(context, sources[s], &dst, NULL, &error), MOTLEY_OK, "taking turns: %s",
                     error.message);
        dst.data = records + EACH - 1;
        wants(motley_resize(context, sources[s], &dst, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
              "dst image 0: it shares memory with src image 0");
        dst.data = records + EACH + 1;
        wants(motley_resize(context, sources[s], &dst, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
              "dst image 0: it shares memory with src image 1");
        motley_batch apart = good();
        apart.data = records + EACH; /* behind the first source, which is all there is */
        apart.count = 1;
        motley_batch first = *sources[s];
        first.count = 1;
        cr_expect_eq(motley_resize(context, &first, &apart, NULL, &error), MOTLEY_OK, "behind: %s", error.message);
        apart.data = records + EACH - 1;
        wants(motley_resize(context, &first, &apart, NULL, &error), MOTLEY_ERR_ARGUMENT, &error,
              "dst image 0: it shares memory with src image 0");
    }
    end();
}

/* Counts and strides whose products, or sums of them, are more than a number of 64 bits, or than memory, holds. */
Test(validate, more_than_memory)
{
    begin();
    motley_error error = { 0 };
    const int64_t far = ((int64_t)1 << 40) - 4;
    const struct {
        size_t count;
        int64_t image, row;
        int32_t height;
        const char *piece;
    } batches[] = {
        { 1u << 23, far, CHANNELS * SIDE, SIDE, "8388608 images with a stride of 1099511627772 bytes are more than" },
        { INT32_MAX, -far, CHANNELS * SIDE, SIDE, "are more than memory can hold" },
        { 1u << 30, 1 << 20, CHANNELS * SIDE, SIDE, NULL },
        { 2, far, far / 4, 1 << 20, "image stride of 1099511627772 bytes makes its 2 images overlap" },
        { (size_t)INT32_MAX + 1, EACH, CHANNELS * SIDE, SIDE, "count is 2147483648, want at most 2147483647" },
        { SIZE_MAX, EACH, CHANNELS * SIDE, SIDE, "count is 18446744073709551615, want at most 2147483647" },
    };
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        motley_batch b = good();
        b.count = batches[i].count;
        b.image_stride = batches[i].image, b.row_stride = batches[i].row;
        b.pixel_stride = CHANNELS, b.channel_stride = 1;
        b.height = batches[i].height;
        size_t bytes;
        if (batches[i].piece)
            wants(motley_context_workspace(context, NULL, &b, &bytes, &error), MOTLEY_ERR_ARGUMENT, &error,
                  batches[i].piece);
        else
            cr_expect_eq(motley_context_workspace(context, NULL, &b, &bytes, &error), MOTLEY_OK, "%s", error.message);
    }
    const motley_image image = { pixels, SIDE, SIDE, CHANNELS * SIDE, CHANNELS, 1 };
    const motley_batch listed = { .count = SIZE_MAX / sizeof image + 2, .channels = CHANNELS, .images = &image };
    motley_batch made;
    motley_image receives;
    motley_call *call;
    size_t needed;
    wants(motley_context_workspace(context, NULL, &listed, &needed, &error), MOTLEY_ERR_ARGUMENT, &error,
          "batch: count is 461168601842738792, want at most 2147483647");
    wants(motley_call_create(context, &listed, &listed, NULL, &call, &error), MOTLEY_ERR_ARGUMENT, &error,
          "src: count is 461168601842738792, want at most 2147483647");
    wants(motley_images_from_dlpack((const void *[]){ NULL }, SIZE_MAX, NULL, &receives, &made, NULL, &error),
          MOTLEY_ERR_ARGUMENT, &error, "count is 18446744073709551615, want at most 2147483647");
    motley_policy *policy, *boxed;
    motley_mix *mix;
    static const char text[] =
        "motley: 1\nname: b\ntop: 10\nops: {t: {op: translate_y, range: [0, 9], inside: boxes}}\n"
        "branches: [[{op: t, level: 4}]]\n";
    cr_assert_eq(motley_policy_builtin("rand_augment", &policy, NULL), MOTLEY_OK);
    cr_assert_eq(motley_policy_parse(text, sizeof text - 1, NULL, &boxed, NULL), MOTLEY_OK);
    cr_assert_eq(motley_mix_create(&(motley_mix_params){ .mixup = 1 }, &mix, NULL), MOTLEY_OK);
    const int32_t side = SIDE;
    motley_step step = { .op = -1 };
    int32_t count = 0;
    motley_mixed mixed;
    const motley_samples samples = { .seed = 1 };
    wants(motley_draw(policy, &samples, SIZE_MAX, &side, &side, 3, NULL, &step, &count, &error), MOTLEY_ERR_ARGUMENT,
          &error, "count is 18446744073709551615, want at most 2147483647");
    wants(motley_mix_draw(mix, &samples, SIZE_MAX / 2, SIDE, SIDE, NULL, NULL, &mixed, NULL, &error),
          MOTLEY_ERR_ARGUMENT, &error, "count is 9223372036854775807, want at most 2147483647");
    const double box[4] = { 1, 1, 4, 4 };
    for (int k = 0; k < 3; k++) { /* the boxes of one image: their steps, and their bytes, wrap round to few */
        const size_t offsets[2] = { 0, k == 0 ? SIZE_MAX : k == 1 ? SIZE_MAX / 32 + 1 : (size_t)1 << 58 };
        const motley_samples many = { .seed = 1, .boxes = box, .box_offsets = offsets };
        wants(motley_draw(boxed, &many, 1, &side, &side, 3, NULL, &step, &count, &error), MOTLEY_ERR_ARGUMENT, &error,
              "want as many as memory can hold");
    }
    uint64_t id;
    wants(motley_draw_read("{", SIZE_MAX, 3, &id, NULL, &step, 1, &count, &error), MOTLEY_ERR_POLICY, &error,
          "the text has 18446744073709551615 bytes, want at most 1048576");
    const motley_batch one = { .count = 1, .channels = CHANNELS, .data = pixels, .width = SIDE, .height = SIDE };
    wants(motley_apply(
              context, NULL, &one, &one,
              &(motley_apply_params){ .given_steps = &step, .given_step_counts = &count, .given_max_steps = SIZE_MAX },
              &error),
          MOTLEY_ERR_ARGUMENT, &error, "given_max_steps is 18446744073709551615, want as many as memory can hold");
    double points[4][2] = { { 0 } };
    const size_t none[2] = { 0, 0 };
    const motley_followed followed[] = {
        { .boxes_count = SIZE_MAX / 48, .boxes = points, .box_offsets = none },
        { .points_count = SIZE_MAX / 16, .points = points, .point_offsets = none },
        { .planes = &(motley_planes){ .element_size = 8, .src = points, .dst = points, .count = SIZE_MAX / 512 + 2 },
          .planes_count = 1 },
        { .planes = &(motley_planes){ .element_size = 8, .src = points, .dst = points }, .planes_count = SIZE_MAX },
    };
    for (size_t i = 0; i < sizeof followed / sizeof *followed; i++)
        wants(motley_apply(context, policy, &one, &one, &(motley_apply_params){ .followed = &followed[i] }, &error),
              MOTLEY_ERR_ARGUMENT, &error, "want as many as memory can hold");
    for (int k = 0; k < 2; k++) {
        const motley_drawn drawn = { .count = k ? SIZE_MAX / 48 + 1 : 1,
                                     .steps = &step,
                                     .step_counts = &count,
                                     .max_steps = k ? 1 : SIZE_MAX / 8,
                                     .widths = &side,
                                     .heights = &side };
        wants(motley_follow(&drawn, &(motley_followed){ .matrices = points[0] }, &error), MOTLEY_ERR_ARGUMENT, &error,
              k ? "drawn->count is" : "drawn->max_steps is 2305843009213693951, want as many as memory can hold");
    }
    motley_policy_destroy(policy);
    motley_policy_destroy(boxed);
    motley_mix_destroy(mix);
    end();
}

Test(validate, contexts)
{
    begin();
    motley_error error = { 0 };
    motley_context *made = context;
    motley_context_params params = { .backend = (motley_backend)9 };
    wants(motley_context_create(&params, &made, &error), MOTLEY_ERR_ARGUMENT, &error, "backend is 9");
    cr_expect_null(made);
    params = (motley_context_params){ .backend = MOTLEY_BACKEND_CPU, .threads = -1 };
    wants(motley_context_create(&params, &made, &error), MOTLEY_ERR_ARGUMENT, &error, "threads is -1");
    params = (motley_context_params){ .device = -1 };
    wants(motley_context_create(&params, &made, &error), MOTLEY_ERR_ARGUMENT, &error, "device is -1");
    wants(motley_context_create(NULL, NULL, &error), MOTLEY_ERR_ARGUMENT, &error, "context is NULL");
    motley_context_destroy(NULL);
    motley_policy_destroy(NULL);
    end();
}
