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
    return check_offsets(objects->offsets, count, error);
}

static motley_status check_boxes(const motley_objects *objects, size_t count, motley_error *error)
{
    const size_t all = objects->offsets[count] - objects->offsets[0];
    MOT_REQUIRE(objects->boxes || all == 0, error, "objects.boxes is NULL, want %zu boxes", all);
    MOT_REQUIRE(all <= UINT32_MAX, error, "there are %zu objects, want up to %u", all, UINT32_MAX);
    return MOTLEY_OK;
}

/* Draws `most` objects of the `all` that can be pasted, and where they go; returns how many have a pixel. */
static int32_t draw_parts(const motley_mix_params *p, const motley_objects *objects, size_t all, int32_t most,
                          const mot_drawn_sample *self, motley_paste *out)
{
    size_t ranks[MOTLEY_MAX_PASTES], sorted[MOTLEY_MAX_PASTES];
    motley_paste found[MOTLEY_MAX_PASTES] = { { 0 } };
    int32_t used = 0;
    draw_ranks(self, all, most, ranks, sorted);
    find_ranks(p, objects, ranks, sorted, most, found);
    for (int32_t k = 0; k < most; k++) {
        const double *const box = objects->boxes + 4 * (objects->offsets[found[k].image] + (size_t)found[k].object);
        const mot_words words = mot_words_of(self, MOT_PASTE_BLOCK + (uint32_t)k);
        if (draw_paste(p, box, words, self->width, self->height, &found[k]))
            out[used++] = found[k];
    }
    return used;
}

/* Draws as many of an image's `all` objects as it has; returns how many those are without repetitions. */
static int32_t draw_instances(int32_t image, int32_t all, const mot_drawn_sample *self, motley_paste *out)
{
    int32_t used = 0;
    for (int32_t k = 0; k < all; k++)
        out[k] = (motley_paste){ .image = image, .object = -1 };
    for (int32_t k = 0; k < all; k++) {
        const uint32_t word = mot_words_of(self, MOT_PASTE_BLOCK + (uint32_t)k).w[0];
        const int32_t object = (int32_t)mot_choose(word, (uint32_t)all);
        out[object].object = object;
    }
    for (int32_t k = 0; k < all; k++)
        if (out[k].object == k)
            out[used++] = out[k];
    return used;
}

motley_status mot_mix_draw_pastes(const motley_mix *mix, const motley_samples *samples, const motley_objects *objects,
                                  size_t count, int32_t width, int32_t height, motley_mixed *drawn,
                                  motley_paste *pastes, motley_error *error)
{
    const motley_mix_params *const p = &mix->params;
    MOT_TRY(check_objects(objects, count, error));
    if (p->pastes > 0)
        MOT_TRY(check_boxes(objects, count, error));
    size_t all = 0;
    for (size_t k = objects->offsets[0]; p->pastes > 0 && k < objects->offsets[count]; k++)
        all += can_be_pasted(p, objects, k);
    const int32_t most = (size_t)p->pastes < all ? p->pastes : (int32_t)all;
    int32_t first = 0;
    for (size_t i = 0; i < count; i++) {
        motley_mixed *const m = &drawn[i];
        if (m->kind != MOTLEY_MIX_PASTE && m->kind != MOTLEY_MIX_INSTANCES)
            continue;
        MOT_REQUIRE(pastes, error, "pastes is NULL, want an array for what is pasted into %zu images", count);
        const mot_drawn_sample self = mot_sample_of(samples, i, width, height, 1);
        const size_t other = (size_t)m->partner, theirs = objects->offsets[other + 1] - objects->offsets[other];
        m->paste = first;
        if (m->kind == MOTLEY_MIX_PASTE) {
            m->pastes = draw_parts(p, objects, all, most, &self, pastes + first);
        } else {
            MOT_REQUIRE(theirs <= MOTLEY_MAX_INSTANCES, error, "image %zu has %zu objects, want up to %d", other,
                        theirs, MOTLEY_MAX_INSTANCES);
            m->pastes = draw_instances(m->partner, (int32_t)theirs, &self, pastes + first);
        }
        first += m->pastes;
        if (m->pastes == 0) {
            m->kind = MOTLEY_MIX_NONE;
            m->lambda = 1;
        }
    }
    return MOTLEY_OK;
}

/* What is being listed: objects that have no room are only counted. */
typedef struct list {
    motley_mixed_object *objects;
    size_t room, listed;
} list;

static void add(list *l, motley_mixed_object object)
{
    if (l->listed < l->room)
        l->objects[l->listed] = object;
    l->listed++;
}

static void add_all(list *l, int32_t image, size_t count, float share)
{
    for (size_t k = 0; k < count; k++)
        add(l, (motley_mixed_object){ .image = image, .object = (int32_t)k, .share = share, .plane = -1 });
}

/* Adds the objects of image i: first its own, `own` of them, then the pasted ones. extents: of their masks, in turn. */
static void add_instances(list *l, int32_t i, int32_t own, const motley_mixed *m, const motley_paste *pastes,
                          const motley_objects *given, const motley_extent *extents)
{
    for (int32_t k = 0; k < own + m->pastes; k++) {
        const motley_extent *const e = &extents[k];
        motley_mixed_object o = { .image = i, .object = k, .share = 1, .plane = k, .boxed = k < own };
        if (k < own) {
            if (e->pixels == 0 || e->right == e->left || e->bottom == e->top)
                continue;
            o.box = (motley_erased_box){ e->left, e->top, e->right - e->left, e->bottom - e->top };
        } else {
            o.image = pastes[m->paste + k - own].image;
            o.object = pastes[m->paste + k - own].object;
            const double *const box = given->boxes + 4 * (given->offsets[o.image] + (size_t)o.object);
            if (box[2] <= box[0] || box[3] <= box[1])
                continue;
        }
        add(l, o);
    }
}

static motley_status check_listed(const motley_mixed *drawn, const motley_paste *pastes, size_t count,
                                  const motley_objects *given, const motley_extent *extents, motley_error *error)
{
    MOT_TRY(check_objects(given, count, error));
    for (size_t i = 0; i < count; i++) {
        const motley_mixed *const m = &drawn[i];
        const bool instances = m->kind == MOTLEY_MIX_INSTANCES;
        MOT_REQUIRE(m->partner >= 0 && (size_t)m->partner < count, error,
                    "image %zu: its partner is image %d, there are %zu", i, (int)m->partner, count);
        MOT_REQUIRE(
            m->kind != MOTLEY_MIX_CUTMIX, error,
            "image %zu is mixed by CutMix, want MixUp or nothing, as what its box leaves of objects is not known", i);
        MOT_REQUIRE(pastes || !(m->kind == MOTLEY_MIX_PASTE || instances), error,
                    "image %zu has objects that were pasted, want pastes, which is NULL", i);
        MOT_REQUIRE(extents || !instances, error,
                    "image %zu has instances that were pasted, want extents, which is NULL", i);
        if (instances)
            MOT_TRY(check_boxes(given, count, error));
        for (int32_t k = 0; (instances || m->kind == MOTLEY_MIX_PASTE) && k < m->pastes; k++) {
            const motley_paste *const paste = &pastes[m->paste + k];
            MOT_REQUIRE(paste->image >= 0 && (size_t)paste->image < count && paste->object >= 0 &&
                            (size_t)paste->object < given->offsets[paste->image + 1] - given->offsets[paste->image],
                        error, "paste %d is object %d of image %d, which is none of the objects", (int)(m->paste + k),
                        (int)paste->object, (int)paste->image);
        }
    }
    return MOTLEY_OK;
}

motley_status motley_mix_objects(const motley_mixed *drawn, const motley_paste *pastes, size_t count,
                                 const motley_objects *given, const motley_extent *extents,
                                 motley_mixed_object *objects, size_t room, size_t *mixed_offsets, motley_error *error)
{
    MOT_REQUIRE(mixed_offsets, error, "mixed_offsets is NULL, want an array of %zu", count + 1);
    MOT_REQUIRE(drawn || count == 0, error, "drawn is NULL, want how %zu images are mixed", count);
    MOT_REQUIRE(objects || room == 0, error, "objects is NULL, want room for %zu", room);
    MOT_TRY(check_listed(drawn, pastes, count, given, extents, error));
    const size_t *const offsets = given->offsets;
    list l = { objects, room, 0 };
    mixed_offsets[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const motley_mixed *const m = &drawn[i];
        const size_t own = offsets[i + 1] - offsets[i];
        if (m->kind == MOTLEY_MIX_INSTANCES) {
            add_instances(&l, (int32_t)i, (int32_t)own, m, pastes, given, extents);
            extents += own + (size_t)m->pastes;
        } else {
            add_all(&l, (int32_t)i, own, m->kind == MOTLEY_MIX_MIXUP ? (float)m->lambda : 1);
        }
        if (m->kind == MOTLEY_MIX_MIXUP)
            add_all(&l, m->partner, offsets[m->partner + 1] - offsets[m->partner], (float)(1.0 - m->lambda));
        for (int32_t k = 0; m->kind == MOTLEY_MIX_PASTE && k < m->pastes; k++) {
            const motley_paste *const paste = &pastes[m->paste + k];
            const float share = (float)(1.0 - m->lambda);
            add(&l, (motley_mixed_object){ paste->image, paste->object, share, -1, 1, paste->box });
        }
        mixed_offsets[i + 1] = l.listed;
    }
    MOT_REQUIRE(l.listed <= room, error, "there is room for %zu objects, the mixed images have %zu", room, l.listed);
    return MOTLEY_OK;
}
