/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a batch that is mixed: which are pasted, and where, and which each image has then. */
#include "policies/mix.h"

#include "base/error.h"
#include "base/values.h"
#include "policies/policy.h"

#include <stdlib.h>
#include <string.h>

/* Whether an object is large enough to be pasted. */
static bool can_be_pasted(const motley_mix_params *p, const motley_objects *objects, size_t k)
{
    const double *const box = objects->boxes + 4 * k;
    return (objects->areas ? objects->areas[k] : (box[2] - box[0]) * (box[3] - box[1])) >= p->paste_area;
}

/* Draws distinct ranks of `all`, in the order in which they are drawn; `sorted` receives them in rising order. */
static void draw_ranks(const mot_drawn_sample *self, size_t all, int32_t count, size_t *ranks, size_t *sorted)
{
    for (int32_t k = 0; k < count; k++) {
        const uint32_t word = mot_words_of(self, MOT_PASTE_BLOCK + (uint32_t)k).w[0];
        size_t rank = mot_choose(word, (uint32_t)(all - (size_t)k));
        int32_t place = 0;
        for (; place < k && sorted[place] <= rank; place++)
            rank++; /* past one that was drawn before */
        memmove(sorted + place + 1, sorted + place, (size_t)(k - place) * sizeof *sorted);
        ranks[k] = sorted[place] = rank;
    }
}

/* Finds the objects of the batch that have these ranks among those that can be pasted, in one pass: out[k] has
 * ranks[k], its image and its number there. */
static void find_ranks(const motley_mix_params *p, const motley_objects *objects, const size_t *ranks,
                       const size_t *sorted, int32_t count, motley_paste *out)
{
    size_t rank = 0, image = 0;
    int32_t next = 0;
    for (size_t k = objects->offsets[0]; next < count; k++) {
        while (objects->offsets[image + 1] <= k)
            image++;
        if (!can_be_pasted(p, objects, k) || rank++ != sorted[next])
            continue;
        int32_t place = 0;
        while (ranks[place] != sorted[next])
            place++;
        out[place].image = (int32_t)image;
        out[place].object = (int32_t)(k - objects->offsets[image]);
        next++;
    }
}

/* A coordinate without its fraction, within 0..most. */
static int32_t whole_pixel(double v, int32_t most)
{
    return v >= most ? most : v > 0 ? (int32_t)v : 0;
}

static int32_t least_of(int32_t a, int32_t b, int32_t c)
{
    const int32_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Draws where an object goes. False: it has no pixel. */
static bool draw_paste(const motley_mix_params *p, const double box[4], mot_words words, int32_t width, int32_t height,
                       motley_paste *out)
{
    const int32_t x = whole_pixel(box[0], width), y = whole_pixel(box[1], height);
    const int32_t w = whole_pixel(box[2], width) - x, h = whole_pixel(box[3], height) - y;
    if (w <= 0 || h <= 0)
        return false;
    const int32_t to_x = (int32_t)mot_choose(words.w[1], (uint32_t)(width - w) + 1);
    const int32_t to_y = (int32_t)mot_choose(words.w[2], (uint32_t)(height - h) + 1);
    const double more = mot_millionths(words.w[3], p->context[0], p->context[1]);
    const int32_t more_w = whole_pixel(w * more, width), more_h = whole_pixel(h * more, height);
    const int32_t left = least_of(more_w, x, to_x), top = least_of(more_h, y, to_y);
    const int32_t right = least_of(more_w, width - x - w, width - to_x - w);
    const int32_t bottom = least_of(more_h, height - y - h, height - to_y - h);
    out->left = x - left;
    out->top = y - top;
    out->part = (motley_erased_box){ to_x - left, to_y - top, left + w + right, top + h + bottom };
    out->box = (motley_erased_box){ to_x, to_y, w, h };
    return true;
}

static motley_status check_offsets(const size_t *offsets, size_t count, motley_error *error)
{
    for (size_t i = 0; i < count; i++)
        MOT_REQUIRE(offsets[i] <= offsets[i + 1] && offsets[i + 1] - offsets[i] <= INT32_MAX, error,
                    "offsets goes from %zu to %zu at image %zu, want it to rise", offsets[i], offsets[i + 1], i);
    return MOTLEY_OK;
}

static motley_status check_objects(const motley_objects *objects, size_t count, motley_error *error)
{
    MOT_REQUIRE(objects && objects->offsets, error, "objects or its offsets is NULL, want the objects of %zu images",
                count);
    MOT_TRY(check_offsets(objects->offsets, count, error));
    const size_t all = objects->offsets[count] - objects->offsets[0];
    MOT_REQUIRE(objects->boxes || all == 0, error, "objects.boxes is NULL, want %zu boxes", all);
    MOT_REQUIRE(all <= UINT32_MAX, error, "there are %zu objects, want up to %u", all, UINT32_MAX);
    return MOTLEY_OK;
}

motley_status motley_mix_draw_pastes(const motley_mix *mix, const motley_samples *samples,
                                     const motley_objects *objects, size_t count, int32_t width, int32_t height,
                                     motley_mixed *drawn, motley_paste *pastes, motley_error *error)
{
    MOT_REQUIRE(mix, error, "mix is NULL, want one that was created");
    MOT_REQUIRE(samples, error, "samples is NULL, want a seed and sample ids");
    MOT_TRY(mot_samples_check(samples, count, error));
    MOT_REQUIRE(drawn || count == 0, error, "drawn is NULL, want how %zu images are mixed", count);
    MOT_TRY(mot_check_size(width, height, error));
    const motley_mix_params *const p = &mix->params;
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= drawn[i].kind == MOTLEY_MIX_PASTE;
    if (!any)
        return MOTLEY_OK;
    MOT_REQUIRE(p->pastes > 0, error, "objects are pasted into an image, but mix pastes none");
    MOT_REQUIRE(pastes, error, "pastes is NULL, want an array of %zu", count * (size_t)p->pastes);
    MOT_TRY(check_objects(objects, count, error));
    size_t all = 0, first = 0;
    for (size_t k = objects->offsets[0]; k < objects->offsets[count]; k++)
        all += can_be_pasted(p, objects, k);
    const int32_t most = (size_t)p->pastes < all ? p->pastes : (int32_t)all;
    motley_samples drawers = *samples;
    drawers.levels = NULL; /* perhaps in the device's memory */
    for (size_t i = 0; i < count; i++) {
        size_t ranks[MOTLEY_MAX_PASTES], sorted[MOTLEY_MAX_PASTES];
        motley_paste found[MOTLEY_MAX_PASTES];
        if (drawn[i].kind != MOTLEY_MIX_PASTE)
            continue;
        const mot_drawn_sample self = mot_sample_of(&drawers, i, width, height, 1);
        drawn[i].paste = (int32_t)first;
        draw_ranks(&self, all, most, ranks, sorted);
        find_ranks(p, objects, ranks, sorted, most, found);
        for (int32_t k = 0; k < most; k++) {
            const size_t object = objects->offsets[found[k].image] + (size_t)found[k].object;
            const double *const box = objects->boxes + 4 * object;
            if (draw_paste(p, box, mot_words_of(&self, MOT_PASTE_BLOCK + (uint32_t)k), width, height, &found[k]))
                pastes[first++] = found[k];
        }
        drawn[i].pastes = (int32_t)first - drawn[i].paste;
        if (drawn[i].pastes == 0) {
            drawn[i].kind = MOTLEY_MIX_NONE;
            drawn[i].lambda = 1;
        }
    }
    return MOTLEY_OK;
}

/* Lists `count` objects of an image. Those that have no room are only counted. */
static size_t list_objects(int32_t image, size_t count, float share, motley_mixed_object *objects, size_t room,
                           size_t listed)
{
    for (size_t k = 0; k < count; k++, listed++)
        if (listed < room)
            objects[listed] = (motley_mixed_object){ image, (int32_t)k, share, -1 };
    return listed;
}

motley_status motley_mix_objects(const motley_mixed *drawn, const motley_paste *pastes, size_t count,
                                 const size_t *offsets, motley_mixed_object *objects, size_t room,
                                 size_t *mixed_offsets, motley_error *error)
{
    MOT_REQUIRE(offsets && mixed_offsets, error, "%s is NULL, want an array of %zu",
                offsets ? "mixed_offsets" : "offsets", count + 1);
    MOT_REQUIRE(drawn || count == 0, error, "drawn is NULL, want how %zu images are mixed", count);
    MOT_REQUIRE(objects || room == 0, error, "objects is NULL, want room for %zu", room);
    MOT_TRY(check_offsets(offsets, count, error));
    for (size_t i = 0; i < count; i++) {
        MOT_REQUIRE(drawn[i].partner >= 0 && (size_t)drawn[i].partner < count, error,
                    "image %zu: its partner is image %d, there are %zu", i, (int)drawn[i].partner, count);
        MOT_REQUIRE(
            drawn[i].kind != MOTLEY_MIX_CUTMIX, error,
            "image %zu is mixed by CutMix, want MixUp or nothing, as what its box leaves of objects is not known", i);
        MOT_REQUIRE(pastes || drawn[i].kind != MOTLEY_MIX_PASTE, error,
                    "image %zu has objects that were pasted, want pastes, which is NULL", i);
    }
    size_t listed = mixed_offsets[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const motley_mixed *const m = &drawn[i];
        const size_t other = (size_t)m->partner;
        const int mixes = m->kind == MOTLEY_MIX_MIXUP;
        listed =
            list_objects((int32_t)i, offsets[i + 1] - offsets[i], mixes ? (float)m->lambda : 1, objects, room, listed);
        if (mixes)
            listed = list_objects(m->partner, offsets[other + 1] - offsets[other], (float)(1.0 - m->lambda), objects,
                                  room, listed);
        for (int32_t k = 0; m->kind == MOTLEY_MIX_PASTE && k < m->pastes; k++, listed++)
            if (listed < room) {
                const motley_paste *const paste = &pastes[m->paste + k];
                objects[listed] =
                    (motley_mixed_object){ paste->image, paste->object, (float)(1.0 - m->lambda), m->paste + k };
            }
        mixed_offsets[i + 1] = listed;
    }
    MOT_REQUIRE(listed <= room, error, "there is room for %zu objects, the mixed images have %zu", room, listed);
    return MOTLEY_OK;
}
