/* SPDX-License-Identifier: Apache-2.0 */
/* Custom ops, ops in boxes and AugMix in every stage, mixed with crops, flips, other ops, outputs and erased boxes: new
 * draws, given ones, prepared calls and clips have the bytes of a replay that takes each image's draw (motley_draw) and
 * applies it one by one, by motley_resize, motley_op_apply and the loops below; and what follows is moved as
 * motley_follow moves it by those draws.
 *
 *     test_stops cpu|reference|cuda [--require]
 *
 * cuda: exits with 77, a skip, where no GPU is; with --require that is a failure. Compiled with MOT_EMULATE, the
 * kernels run on the CPU (tests/emulate). */
#include "tests/batches.h"
#include "tests/contexts.h"
#include "tests/followed.h"

#include <math.h>
#include <motley.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 6, FRAMES = 2, MOST = 40, BOXES = 3, ROOM = 400, EACH = MOST * MOST * 4 };

/* ---- policies ---- */

#define HEAD "motley: 1\nname: x\n"
#define OWN \
    "{ops: {wash: {range: [0, 90]}, dots: {}}, bins: 10, level: uniform, repeat: 2, branches: [wash, dots, invert]}"
#define IN_BOXES \
    "{top: 10, fill: [9, 99, 200], ops: {turn: {op: rotate, range: [0, 90], inside: boxes, sign: random}, even: {op: " \
    "equalize, inside: boxes}, hole: {op: cutout, range: [0, 9], inside: boxes}}, branches: [[{op: shear_x, value: " \
    "0.2}, {op: turn, level: 4}, {op: even, p: 0.7}, {op: bbox_cutout, value: 0.5}], [{op: translate_y, value: 3}, " \
    "{op: " \
    "hole, level: 7}, {op: turn, level: 8}]]}"
#define MIXES "{augmix: {width: 2, alpha: 1}, repeat: 2, branches: [invert, {op: rotate, value: 15}, equalize]}"

static const struct {
    const char *stages; /* or, without stages, the whole text */
    int boxes, clips;   /* it takes boxes; it can be applied to clips */
    int follows;        /* something can follow */
} cases[] = {
    { "- random_resized_crop: {size: [24, 20]}\n- flip: {horizontal: 0.5}\n- policy: " OWN "\n", 0, 1, 0 },
    { "- jitter: {brightness: 0.4, contrast: 0.4}\n- policy: " OWN "\n- policy: rand_augment\n- policy: " OWN
      "\n- output: {mean: [0.4, 0.5, 0.6], std: [0.2, 0.3, 0.25]}\n- erase: {value: [1, 0.5, -1]}\n",
      0, 1, 0 },
    { "- resize: {size: 30}\n- center_crop: {size: 26}\n- flip: {vertical: 0.5}\n- grayscale: {p: 0.5}\n- "
      "policy: " IN_BOXES "\n- policy: trivial_augment_wide\n",
      1, 0, 1 },
    { "- random_crop: {size: 28, padding: 4}\n- policy: " IN_BOXES "\n- policy: " OWN "\n- output: {type: f16}\n", 1, 0,
      0 },
    { "- policy: {name: rand_augment, repeat: 1}\n- policy: " MIXES "\n- grayscale: {p: 0.5}\n", 0, 0, 0 },
    { "- random_resized_crop: {size: 22}\n- policy: " MIXES "\n- policy: " OWN "\n- policy: " MIXES
      "\n- output: {mean: 0.5, std: 0.5}\n- erase: {p: 0.7, value: 0}\n",
      0, 0, 0 },
    { "- policy: " IN_BOXES "\n- policy: " MIXES "\n- policy: " OWN "\n- blur: {radius: [0.5, 2]}\n", 1, 0, 0 },
    { "- random_resized_crop: {size: 33, filter: nearest}\n- policy: " IN_BOXES "\n- policy: " IN_BOXES
      "\n- output: {type: bf16, mean: 0.5, std: 0.5}\n- erase: {value: 0.25}\n",
      1, 0, 1 },
    { "- iou_crop: {p: 0.9}\n- flip: {horizontal: 0.5}\n- grayscale: {p: 0.5}\n", 1, 0, 1 },
    { HEAD
      "ops: {wash: {range: [0, 90]}, dots: {}}\nbins: 5\nlevel: uniform\nrepeat: 3\nbranches: [wash, dots, invert, "
      "equalize]\n",
      0, 1, 0 },
    { HEAD "top: 10\nops: {even: {op: equalize, inside: boxes}}\nbranches: [[even, {op: rotate, value: 20}, even]]\n",
      1, 0, 1 },
};
enum { CASES = sizeof cases / sizeof *cases };

/* What the custom ops do to one image, dense HWC or any other strides, by the numbers that they get. */
static void wash(const motley_image *v, int channels, const double values[3], uint64_t id)
{
    for (int32_t y = 0; y < v->height; y++)
        for (int32_t x = 0; x < v->width; x++)
            for (int c = 0; c < channels; c++) {
                uint8_t *const at =
                    (uint8_t *)v->data + y * v->row_stride + x * v->pixel_stride + c * v->channel_stride;
                *at = (uint8_t)(*at + (int)(values[0] + 40 * values[1] + (double)id) + x * c);
            }
}

static void dots(const motley_image *v, int channels, const double values[3], uint64_t id)
{
    const int32_t x = (int32_t)(values[1] * v->width), y = (int32_t)(values[2] * v->height);
    for (int c = 0; c < channels; c++)
        *((uint8_t *)v->data + y * v->row_stride + x * v->pixel_stride + c * v->channel_stride) = (uint8_t)(id * 50);
}

typedef void own_op(const motley_image *, int, const double[3], uint64_t);

static motley_status run(void *user, const motley_custom_batch *batch, motley_error *error)
{
    own_op *const op = *(own_op **)user;
    static uint8_t dense[MOST * MOST * 8];
    for (size_t k = 0; k < batch->count; k++) { /* which may be in another device's memory */
        const motley_image *const image = &batch->images.images[k];
        const int64_t last = (image->height - 1) * image->row_stride + (image->width - 1) * image->pixel_stride +
                             (batch->images.channels - 1) * image->channel_stride + 1;
        uint8_t *const copy = last <= (int64_t)sizeof dense ? dense : malloc((size_t)last);
        motley_image own = *image;
        own.data = copy;
        if (motley_memory_copy(batch->context, copy, image->data, (size_t)last, batch->stream, error) != MOTLEY_OK ||
            motley_context_wait(batch->context, batch->stream, error) != MOTLEY_OK)
            return MOTLEY_ERR_CUDA;
        op(&own, batch->images.channels, batch->values[k], batch->ids[k]);
        if (motley_memory_copy(batch->context, image->data, copy, (size_t)last, batch->stream, error) != MOTLEY_OK ||
            motley_context_wait(batch->context, batch->stream, error) != MOTLEY_OK)
            return MOTLEY_ERR_CUDA;
        if (copy != dense)
            free(copy);
    }
    return MOTLEY_OK;
}

static own_op *own_ops[] = { wash, dots };
static const motley_custom_op ops[] = {
    { .name = "wash", .unit = "steps", .minimum = 0, .maximum = 90, .run = run, .user = &own_ops[0] },
    { .name = "dots", .run = run, .user = &own_ops[1] },
};

static motley_policy *parse(int which)
{
    char text[3000];
    const motley_parse_params params = { .custom_ops = ops, .custom_ops_count = 2 };
    motley_policy *policy;
    motley_error error;
    const int whole = strncmp(cases[which].stages, "motley", 6) == 0;
    snprintf(text, sizeof text, "%s%s", whole ? "" : HEAD "stages:\n", cases[which].stages);
    if (motley_policy_parse(text, strlen(text), &params, &policy, &error) != MOTLEY_OK) {
        fprintf(stderr, "%s", text);
        need(0, error.message);
    }
    return policy;
}

/* ---- a batch ---- */

static motley_context *context, *reference;
static int channels;

typedef struct drawn_batch {
    const motley_policy *policy;
    motley_apply_params params; /* with samples */
    int32_t widths[COUNT], heights[COUNT], counts[COUNT];
    int32_t to_widths[COUNT], to_heights[COUNT];
    uint64_t ids[COUNT];
    double boxes[COUNT * BOXES][4];
    size_t offsets[COUNT + 1];
    size_t row;
    motley_place places[COUNT];
    motley_step steps[COUNT * ROOM];
    uint8_t pixels[COUNT][EACH]; /* dense HWC */
    uint8_t wanted[COUNT][EACH]; /* the same, of the results before the output */
} drawn_batch;

static void make(drawn_batch *b, const motley_policy *policy, int which, size_t frames)
{
    motley_error error;
    b->policy = policy;
    b->params = (motley_apply_params){ .samples = { .seed = 11, .epoch = 2, .ids = b->ids }, .clip_frames = frames };
    for (int i = 0; i < COUNT; i++) {
        const int clip = i / (int)frames;
        b->ids[i] = (uint64_t)(clip * 3 + 1);
        b->widths[i] = frames > 1 ? 36 : 24 + (i * 7) % 13;
        b->heights[i] = frames > 1 ? 31 : 24 + (i * 5) % 14;
        b->offsets[i] = (size_t)(i * BOXES - (i > 2));
        for (int k = 0; k < BOXES; k++) {
            double *const box = b->boxes[i * BOXES + k - (i > 2)];
            box[0] = 1.5 * k, box[1] = 2 + 3 * k;
            box[2] = box[0] + 8.25 + 2 * k, box[3] = box[1] + 9.5;
        }
        input_fill((input_kind)((i + which) % INPUT_KINDS), (uint64_t)(i + 7 * which),
                   (input_size){ b->widths[i], b->heights[i] }, channels, b->pixels[i]);
    }
    b->offsets[COUNT] = COUNT * BOXES - 1;
    if (cases[which].boxes) {
        b->params.samples.boxes = &b->boxes[0][0];
        b->params.samples.box_offsets = b->offsets;
    }
    b->row = motley_policy_describe(policy)->max_steps * (motley_policy_describe(policy)->takes_boxes & 1 ? BOXES : 1);
    need(b->row <= ROOM, "more steps than there is room for");
    need(motley_policy_result_sizes(policy, &b->params.samples, COUNT, b->widths, b->heights, b->to_widths,
                                    b->to_heights, &error) == MOTLEY_OK,
         error.message);
    need(motley_draw(policy, &b->params.samples, COUNT, b->widths, b->heights, channels, b->places, b->steps, b->counts,
                     &error) == MOTLEY_OK,
         error.message);
}

/* ---- the replay ---- */

/* A picture of the replay, dense HWC. */
typedef struct picture {
    int32_t width, height;
    uint8_t data[EACH];
} picture;

static motley_batch batch_of(picture *p)
{
    return (motley_batch){ .count = 1, .channels = channels, .data = p->data, .width = p->width, .height = p->height };
}

/* Where an image is placed: crop and resize, then window and flips. */
static void place(const drawn_batch *b, int i, picture *to)
{
    const motley_place *const at = &b->places[i];
    picture from = { b->widths[i], b->heights[i], { 0 } }, resized = { at->width, at->height, { 0 } };
    motley_error error;
    memcpy(from.data, b->pixels[i], EACH);
    const motley_batch src = batch_of(&from), dst = batch_of(&resized);
    need(motley_resize(reference, &src, &dst, &(motley_resize_params){ .filter = at->filter, .crops = &at->crop },
                       &error) == MOTLEY_OK,
         error.message);
    to->width = b->to_widths[i];
    to->height = b->to_heights[i];
    for (int32_t y = 0; y < to->height; y++)
        for (int32_t x = 0; x < to->width; x++) {
            const int32_t u = at->left + (at->flip_horizontal ? to->width - 1 - x : x);
            const int32_t v = at->top + (at->flip_vertical ? to->height - 1 - y : y);
            const int inside = u >= 0 && u < at->width && v >= 0 && v < at->height;
            for (int c = 0; c < channels; c++)
                to->data[(y * to->width + x) * channels + c] =
                    inside ? resized.data[(v * at->width + u) * channels + c] : 0;
        }
}

static void apply_op(const motley_step *step, picture *p)
{
    const double fill[4] = { step->fill[0], step->fill[1], step->fill[2], step->fill[3] };
    const motley_batch one = batch_of(p);
    motley_error error;
    need(motley_op_apply(reference, step->op, step->values_count ? step->values : NULL, step->values_count, &one, &one,
                         &(motley_op_params){ .interpolation = step->interpolation, .fill = fill },
                         &error) == MOTLEY_OK,
         error.message);
}

/* Applies an op to a part of a picture, which is cut out and put back. */
static void apply_inside(const motley_step *step, picture *p)
{
    const int32_t *const at = step->inside;
    picture part = { at[2] - at[0], at[3] - at[1], { 0 } };
    for (int put = 0; put < 2; put++) {
        for (int32_t y = 0; y < part.height; y++)
            for (int32_t k = 0; k < part.width * channels; k++) {
                uint8_t *const here = &part.data[y * part.width * channels + k];
                uint8_t *const there = &p->data[((y + at[1]) * p->width + at[0]) * channels + k];
                *(put ? there : here) = *(put ? here : there);
            }
        if (!put)
            apply_op(step, &part);
    }
}

static void apply_step(const motley_step *step, uint64_t id, picture *p)
{
    if (step->op >= motley_op_count()) { /* custom: the k-th of all policies */
        const motley_image image = { p->data, p->width, p->height, p->width * channels, channels, 1 };
        own_ops[(step->op - motley_op_count()) % 2](&image, channels, step->values, id);
    } else if (step->inside[2] > step->inside[0]) {
        apply_inside(step, p);
    } else {
        apply_op(step, p);
    }
}

/* Mixes one chain into a result, or adds it to a sum. */
static void mix(const motley_step *step, const picture *chain, float *sum, picture *result)
{
    const float weight = (float)step->values[0];
    for (int k = 0; k < chain->width * chain->height * channels; k++) {
        const float product = weight * (float)chain->data[k];
        if (step->op == MOTLEY_STEP_MIX_ADD) {
            sum[k] = sum[k] + product;
            continue;
        }
        const uint8_t other = step->op == MOTLEY_STEP_MIX_SUM ? (uint8_t)fminf(255, fmaxf(0, sum[k])) : chain->data[k];
        const float step_up = weight * (float)(other - result->data[k]);
        result->data[k] = (uint8_t)((float)result->data[k] + step_up);
    }
}

static int is_mixing(int op)
{
    return op == MOTLEY_STEP_MIX_ADD || op == MOTLEY_STEP_MIX_BLEND || op == MOTLEY_STEP_MIX_SUM;
}

/* Runs the chains that begin with step s; returns the step behind them, s if there are none. */
static int run_chains(const drawn_batch *b, int i, int s, picture *p)
{
    const motley_step *const steps = &b->steps[(size_t)i * b->row];
    static float sum[EACH];
    picture chain = *p, result = *p;
    int end = s;
    for (int k = s; k < b->counts[i] && steps[k].op != MOTLEY_STEP_MIX_BEGIN; k++)
        end = is_mixing(steps[k].op) ? k + 1 : end;
    memset(sum, 0, sizeof sum);
    for (int k = s; k < end; k++) {
        if (!is_mixing(steps[k].op)) {
            apply_step(&steps[k], b->ids[i], &chain);
            continue;
        }
        mix(&steps[k], &chain, sum, &result);
        chain = *p;
    }
    if (end > s)
        *p = result;
    return end;
}

/* The frames of a clip, one below the other, for an op that needs their statistics together. */
static void apply_to_clip(const motley_step *step, size_t frames, picture *p)
{
    static uint8_t all[FRAMES * EACH];
    const size_t each = (size_t)p->width * (size_t)p->height * (size_t)channels;
    for (size_t k = 0; k < frames; k++)
        memcpy(all + k * each, p[k].data, each);
    const motley_batch tall = {
        .count = 1, .channels = channels, .data = all, .width = p->width, .height = p->height * (int32_t)frames
    };
    motley_error error;
    need(motley_op_apply(reference, step->op, step->values_count ? step->values : NULL, step->values_count, &tall,
                         &tall, NULL, &error) == MOTLEY_OK,
         error.message);
    for (size_t k = 0; k < frames; k++)
        memcpy(p[k].data, all + k * each, each);
}

static void replay(drawn_batch *b, size_t frames)
{
    static picture p[FRAMES];
    for (int first = 0; first < COUNT; first += (int)frames) {
        for (int k = 0; k < (int)frames; k++)
            place(b, first + k, &p[k]);
        const motley_step *const steps = &b->steps[(size_t)first * b->row];
        for (int s = frames > 1 ? 0 : run_chains(b, first, 0, &p[0]); s < b->counts[first];) {
            const motley_op_info *const info = motley_op_get(steps[s].op);
            if (steps[s].op == MOTLEY_STEP_MIX_BEGIN) {
                s = run_chains(b, first, s + 1, &p[0]);
                continue;
            }
            if (frames > 1 && info && info->shape == MOTLEY_SHAPE_STATS)
                apply_to_clip(&steps[s], frames, p);
            for (int k = 0; k < (int)frames && !(frames > 1 && info && info->shape == MOTLEY_SHAPE_STATS); k++)
                apply_step(&b->steps[(size_t)(first + k) * b->row + (size_t)s], b->ids[first + k], &p[k]);
            s++;
        }
        for (int k = 0; k < (int)frames; k++)
            memcpy(b->wanted[first + k], p[k].data, EACH);
    }
}

/* ---- calls ---- */

/* A buffer on the context's device, and its images. */
typedef struct buffer {
    uint8_t *memory;
    motley_image images[COUNT];
    motley_batch batch;
} buffer;

enum { SPAN = EACH * 4 };

static buffer create(const int32_t *widths, const int32_t *heights, motley_dtype dtype, motley_layout layout)
{
    const int64_t element = dtype == MOTLEY_U8 ? 1 : dtype == MOTLEY_F32 ? 4 : 2;
    void *memory;
    buffer b;
    need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, COUNT * SPAN, &memory, NULL) == MOTLEY_OK, "no memory");
    b.memory = memory;
    for (int i = 0; i < COUNT; i++) {
        const int64_t pixel = layout == MOTLEY_CHW ? element : element * channels;
        b.images[i] =
            (motley_image){ .data = b.memory + i * SPAN,
                            .width = widths[i],
                            .height = heights[i],
                            .row_stride = pixel * widths[i],
                            .pixel_stride = pixel,
                            .channel_stride = layout == MOTLEY_CHW ? element * widths[i] * heights[i] : element };
    }
    b.batch = (motley_batch){ .count = COUNT, .channels = channels, .dtype = dtype };
    return b;
}

/* One size, and one distance in memory: as one batch. */
static motley_batch batch_in(buffer *b)
{
    motley_batch batch = b->batch;
    batch.images = b->images;
    int same = 1;
    for (int i = 1; i < COUNT; i++)
        same &= b->images[i].width == b->images->width && b->images[i].height == b->images->height;
    if (!same)
        return batch;
    batch.images = NULL;
    batch.data = b->memory;
    batch.width = b->images->width, batch.height = b->images->height;
    batch.row_stride = b->images->row_stride, batch.pixel_stride = b->images->pixel_stride;
    batch.channel_stride = b->images->channel_stride;
    batch.image_stride = batch.row_stride * batch.height * (batch.channel_stride > batch.pixel_stride ? channels : 1);
    for (int i = 0; i < COUNT; i++)
        b->images[i].data = b->memory + i * batch.image_stride;
    return batch;
}

static float from_half(uint16_t h, int bf16)
{
    float value;
    uint32_t bits = (uint32_t)h << 16;
    memcpy(&value, &bits, sizeof value);
    if (bf16)
        return value;
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    value = exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
    return h >> 15 ? -value : value;
}

/* How far a value may be from one that is computed in binary32: half a step of the type. */
static float spacing(motley_dtype dtype, float value)
{
    return dtype == MOTLEY_F32 ? 0 : fmaxf(fabsf(value), 0x1p-14f) * (dtype == MOTLEY_F16 ? 0x1p-11f : 0x1p-8f);
}

/* The mean and std of a case, and the value of its erased boxes. */
static void numbers_of(int which, int c, float *mean, float *std, float *erased)
{
    static const float means[] = { 0.4f, 0.5f, 0.6f }, stds[] = { 0.2f, 0.3f, 0.25f }, values[] = { 1, 0.5f, -1 };
    *mean = which == 1 ? means[c] : which == 5 || which == 7 ? 0.5f : 0;
    *std = which == 1 ? stds[c] : which == 5 || which == 7 ? 0.5f : 1;
    *erased = which == 1 ? values[c] : which == 7 ? 0.25f : 0;
}

static int is_erased(const motley_place *at, int32_t x, int32_t y)
{
    for (int b = 0; b < at->boxes_count; b++) {
        const motley_erased_box *const box = &at->boxes[b];
        if (x >= box->left && x < box->left + box->width && y >= box->top && y < box->top + box->height)
            return 1;
    }
    return 0;
}

/* Compares results with the replay's. */
static void compare(const drawn_batch *b, buffer *to, int which, const char *how)
{
    static uint8_t got[COUNT * SPAN];
    const motley_dtype dtype = to->batch.dtype;
    need(motley_context_wait(context, NULL, NULL) == MOTLEY_OK &&
             motley_memory_copy(context, got, to->memory, sizeof got, NULL, NULL) == MOTLEY_OK &&
             motley_context_wait(context, NULL, NULL) == MOTLEY_OK,
         "copying back failed");
    for (int i = 0; i < COUNT; i++)
        for (int32_t k = 0; k < b->to_widths[i] * b->to_heights[i] * channels; k++) {
            const int c = k % channels;
            const int32_t x = k / channels % b->to_widths[i], y = k / channels / b->to_widths[i];
            const motley_image *const v = &to->images[i];
            const uint8_t *const at = got + ((uint8_t *)v->data - to->memory) + y * v->row_stride +
                                      x * v->pixel_stride + c * v->channel_stride;
            const uint8_t byte = b->wanted[i][k];
            float mean, std, erased, value;
            uint16_t half;
            int same = *at == byte;
            if (dtype != MOTLEY_U8) {
                numbers_of(which, c, &mean, &std, &erased);
                const float scaled = (float)byte / 255.0f, centred = scaled - mean;
                const float want = is_erased(&b->places[i], x, y) ? erased : centred / std;
                memcpy(&half, at, sizeof half);
                memcpy(&value, at, dtype == MOTLEY_F32 ? sizeof value : 0);
                value = dtype == MOTLEY_F32 ? value : from_half(half, dtype == MOTLEY_BF16);
                same = fabsf(value - want) <= spacing(dtype, want);
            }
            if (!same) {
                fprintf(stderr, "case %d, %d channels, %s: image %d differs at (%d, %d), channel %d\n", which, channels,
                        how, i, (int)x, (int)y, c);
                failures++;
                return;
            }
        }
}

static void send(const drawn_batch *b, buffer *from)
{
    for (int i = 0; i < COUNT; i++)
        need(motley_memory_copy(context, from->images[i].data, b->pixels[i],
                                (size_t)(b->widths[i] * b->heights[i] * channels), NULL, NULL) == MOTLEY_OK,
             "copying failed");
}

/* What follows must be what motley_follow makes of the draws: boxes and matrices. */
static void compare_followed(const drawn_batch *b, const motley_batch *src, const motley_batch *dst, int which)
{
    double boxes[2][COUNT * BOXES][4], matrices[2][COUNT][6];
    const size_t all = COUNT * BOXES - 1;
    void *device[3];
    motley_error error;
    const motley_drawn drawn = { .count = COUNT,
                                 .steps = b->steps,
                                 .step_counts = b->counts,
                                 .max_steps = b->row,
                                 .widths = b->widths,
                                 .heights = b->heights,
                                 .places = motley_policy_describe(b->policy)->stages ? b->places : NULL };
    memcpy(boxes[0], b->boxes, sizeof boxes[0]);
    const motley_followed wanted = {
        .boxes_count = all, .boxes = boxes[0], .box_offsets = b->offsets, .matrices = matrices[0][0]
    };
    need(motley_follow(&drawn, &wanted, &error) == MOTLEY_OK, error.message);
    const void *const sent[] = { b->boxes, b->offsets, NULL };
    const size_t bytes[] = { sizeof b->boxes, sizeof b->offsets, sizeof matrices[1] };
    for (int k = 0; k < 3; k++) {
        need(motley_memory_create(context, MOTLEY_MEMORY_DEVICE, bytes[k], &device[k], NULL) == MOTLEY_OK, "no memory");
        if (sent[k])
            need(motley_memory_copy(context, device[k], sent[k], bytes[k], NULL, NULL) == MOTLEY_OK, "copying failed");
    }
    motley_apply_params params = b->params;
    const motley_followed moved = {
        .boxes_count = all, .boxes = device[0], .box_offsets = device[1], .matrices = device[2]
    };
    params.followed = &moved;
    need(motley_apply(context, b->policy, src, dst, &params, &error) == MOTLEY_OK, error.message);
    need(motley_memory_copy(context, boxes[1], device[0], sizeof boxes[1], NULL, NULL) == MOTLEY_OK &&
             motley_memory_copy(context, matrices[1], device[2], sizeof matrices[1], NULL, NULL) == MOTLEY_OK &&
             motley_context_wait(context, NULL, NULL) == MOTLEY_OK,
         "copying back failed");
    if (memcmp(boxes[0], boxes[1], all * sizeof *boxes[0]) != 0 || memcmp(matrices[0], matrices[1], sizeof *matrices)) {
        fprintf(stderr, "case %d: what follows differs\n", which);
        failures++;
    }
    for (int k = 0; k < 3; k++)
        motley_memory_destroy(context, device[k]);
}

/* All ways to apply one case to one batch. */
static void check_case(int which, size_t frames)
{
    static drawn_batch b;
    motley_error error = { .message = "" };
    motley_policy *const policy = parse(which);
    const motley_policy_info *const info = motley_policy_describe(policy);
    make(&b, policy, which, frames);
    replay(&b, frames);
    const motley_dtype dtype = info->has_output ? info->dtype : MOTLEY_U8;
    buffer from = create(b.widths, b.heights, MOTLEY_U8, MOTLEY_HWC);
    const motley_batch src = batch_in(&from);
    send(&b, &from);
    for (int layout = 0; layout < 2; layout++) {
        const int floats = layout && dtype == MOTLEY_U8 && !info->stages; /* of a policy alone: v / 255 */
        buffer to = create(b.to_widths, b.to_heights, floats ? MOTLEY_F32 : dtype, layout ? MOTLEY_CHW : MOTLEY_HWC);
        const motley_batch dst = batch_in(&to);
        check(motley_apply(context, policy, &src, &dst, &b.params, &error) == MOTLEY_OK, error.message);
        compare(&b, &to, which, layout ? "planes" : "pixels");
        motley_apply_params given = { .samples = b.params.samples,
                                      .clip_frames = b.params.clip_frames,
                                      .given = b.places,
                                      .given_steps = b.steps,
                                      .given_step_counts = b.counts,
                                      .given_max_steps = b.row,
                                      .given_widths = b.widths,
                                      .given_heights = b.heights };
        given.samples.seed++;
        check(motley_apply(context, policy, &src, &dst, &given, &error) == MOTLEY_OK, error.message);
        compare(&b, &to, which, "given");
        motley_call *call;
        void *froms[COUNT], *tos[COUNT];
        for (int i = 0; i < COUNT; i++)
            froms[i] = from.images[i].data, tos[i] = to.images[i].data;
        need(motley_call_create(context, &src, &dst, &(motley_call_params){ .policy = policy }, &call, &error) ==
                 MOTLEY_OK,
             error.message);
        for (int turn = 0; turn < 2; turn++)
            check(motley_call_run(call, src.images ? (void *)froms : src.data, dst.images ? (void *)tos : dst.data,
                                  NULL, turn ? &given : &b.params, &error) == MOTLEY_OK,
                  error.message);
        compare(&b, &to, which, "prepared");
        motley_call_destroy(call);
        if (cases[which].follows && cases[which].boxes && frames == 1)
            compare_followed(&b, &src, &dst, which);
        motley_memory_destroy(context, to.memory);
    }
    motley_memory_destroy(context, from.memory);
    motley_policy_destroy(policy);
}

/* What has no meaning stays refused. */
static void check_refused(void)
{
    static const char *const wrong[][2] = {
        { "- policy: " OWN "\n- policy: " IN_BOXES "\n", "before it has custom ops, which may move them" },
        { "- policy: " MIXES "\n- policy: " IN_BOXES "\n",
          "before it mixes chains of ops, each of which may move them" },
    };
    const motley_parse_params params = { .custom_ops = ops, .custom_ops_count = 2 };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char text[3000];
        motley_policy *policy;
        motley_error error = { .message = "" };
        snprintf(text, sizeof text, HEAD "stages:\n%s", wrong[k][0]);
        wants_error(motley_policy_parse(text, strlen(text), &params, &policy, &error), MOTLEY_ERR_POLICY, &error,
                    wrong[k][1]);
    }
}

/* A crop by boxes has no counter on a device, and what is to be done instead can be done. */
static void check_remedy(void)
{
    static const char text[] = HEAD "stages:\n- iou_crop: {}\n- resize: {size: [20, 20]}\n";
    static const double boxes[COUNT][4] = { { 3, 4, 20, 18 }, { 9, 9, 19, 29 }, { 0, 0, 24, 24 } };
    static const size_t offsets[COUNT + 1] = { 0, 1, 2, 3, 3, 3, 3 };
    static const int32_t from_sides[COUNT] = { 30, 30, 30, 30, 30, 30 }, to_sides[COUNT] = { 20, 20, 20, 20, 20, 20 };
    static const uint64_t counter[2] = { 0 };
    int32_t counts[COUNT];
    motley_place places[COUNT];
    motley_step steps[COUNT];
    motley_policy *policy;
    motley_error error = { .message = "" };
    need(motley_policy_parse(text, strlen(text), NULL, &policy, &error) == MOTLEY_OK, error.message);
    channels = 3;
    buffer from = create(from_sides, from_sides, MOTLEY_U8, MOTLEY_HWC);
    buffer to = create(to_sides, to_sides, MOTLEY_U8, MOTLEY_HWC);
    const motley_batch src = batch_in(&from), dst = batch_in(&to);
    const motley_samples samples = { .seed = 11, .boxes = &boxes[0][0], .box_offsets = offsets };
    const motley_apply_params counted = { .samples = samples, .counter = counter };
    wants_error(
        motley_apply(context, policy, &src, &dst, &counted, &error), MOTLEY_ERR_UNSUPPORTED, &error,
        "counter is set, but policy 'x' crops by boxes, and so is drawn on the host: draw with motley_draw, ids, "
        "levels and boxes in host memory, and give the draws");
    check(motley_draw(policy, &samples, COUNT, from_sides, from_sides, channels, places, steps, counts, &error) ==
              MOTLEY_OK,
          error.message);
    const motley_apply_params given = { .given = places, .given_steps = steps, .given_step_counts = counts };
    check(motley_apply(context, policy, &src, &dst, &given, &error) == MOTLEY_OK, error.message);
    motley_memory_destroy(context, from.memory);
    motley_memory_destroy(context, to.memory);
    motley_policy_destroy(policy);
}

int main(int argc, char **argv)
{
    const motley_backend backend = backend_of(argc, argv);
    context = open_on(backend, 2, argc > 2);
    reference = open_on(MOTLEY_BACKEND_REFERENCE, 1, 1);
    for (channels = 3; channels <= 4; channels++) /* four: bands, which are worked on one by one on CUDA */
        for (int which = 0; which < CASES; which++) {
            if (channels == 4 && (which == 1 || cases[which].boxes)) /* three means; more images of the same */
                continue;
            check_case(which, 1);
            if (cases[which].clips)
                check_case(which, FRAMES);
        }
    check_refused();
    if (backend == MOTLEY_BACKEND_CUDA)
        check_remedy();
    motley_context_destroy(reference);
    close_on(backend, context);
    printf("%d cases, %d failures\n", CASES, (int)failures);
    return failures > 0;
}
