/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the schedules of a text, and replaces them by their numbers in an epoch. */
#include "policies/schedule.h"

#include <stdlib.h>

#define MOST_EPOCHS ((1u << 30) - 1)

typedef enum schedule_kind { STEPS, RAMP, COSINE, KINDS } schedule_kind;
static const char *const kind_keys[KINDS] = { "from", "ramp", "cosine" };

/* The points of a node that is a schedule, or NULL. `from` alone is also a key of phases, where it is a number. */
static const mot_yaml *points_of(const reader *r, const mot_yaml *node, schedule_kind *kind)
{
    if (node->kind != MOT_YAML_MAP || node->children != 2)
        return NULL;
    const mot_yaml *const key = mot_yaml_child(&r->tree, node), *const points = mot_yaml_next(&r->tree, key);
    for (int k = 0; k < KINDS; k++)
        if (key->kind == MOT_YAML_SCALAR && strcmp(text_of(r, key), kind_keys[k]) == 0) {
            *kind = (schedule_kind)k;
            return k == STEPS && points->kind != MOT_YAML_LIST ? NULL : points;
        }
    return NULL;
}

/* The list under `phases` if it has stages: a policy's phases have branches. */
static const mot_yaml *stage_phases(const reader *r)
{
    const mot_yaml *const root = &r->tree.node[0];
    const mot_yaml *const list = root->kind == MOT_YAML_MAP ? get(r, root, "phases") : NULL;
    const mot_yaml *const first = list && list->kind == MOT_YAML_LIST ? mot_yaml_child(&r->tree, list) : NULL;
    return first && first->kind == MOT_YAML_MAP && get(r, first, "stages") ? list : NULL;
}

const mot_yaml *mot_schedule_in(const reader *r)
{
    schedule_kind kind;
    for (uint32_t i = 0; i < r->tree.nodes; i++)
        if (points_of(r, &r->tree.node[i], &kind))
            return &r->tree.node[i];
    const mot_yaml *const root = r->tree.node, *const list = stage_phases(r);
    return list || root->kind != MOT_YAML_MAP ? list : get(r, root, "epochs");
}

/* Whether a node is written as this epoch. */
static bool is_epoch(const reader *r, const mot_yaml *node, uint32_t epoch)
{
    double value;
    return mot_number_parse(text_of(r, node), &value) && value == epoch;
}

const mot_yaml *mot_schedule_place(const reader *r, uint32_t epoch)
{
    const mot_yaml *const list = stage_phases(r), *points;
    schedule_kind kind;
    for (const mot_yaml *p = list ? mot_yaml_child(&r->tree, list) : NULL; p; p = mot_yaml_next(&r->tree, p))
        if (is_epoch(r, get(r, p, "from"), epoch))
            return p;
    for (uint32_t i = 0; i < r->tree.nodes; i++)
        for (const mot_yaml *p = (points = points_of(r, &r->tree.node[i], &kind)) ? mot_yaml_child(&r->tree, points)
                                                                                  : NULL;
             p; p = mot_yaml_next(&r->tree, p))
            if (is_epoch(r, mot_yaml_child(&r->tree, p), epoch))
                return p;
    return mot_schedule_in(r);
}

/* ---- reading ---- */

/* Adds an epoch at which something begins or ends. */
static void add_epoch(reader *r, const mot_yaml *node, mot_schedule *s, uint32_t epoch)
{
    uint32_t at = s->count;
    while (at > 0 && s->first[at - 1] >= epoch)
        at--;
    if (at < s->count && s->first[at] == epoch)
        return;
    if (s->count == MOT_MAX_POINTS) {
        PROBLEM(r, node, "numbers change at more than %d epochs", MOT_MAX_POINTS);
        return;
    }
    memmove(&s->first[at + 1], &s->first[at], (s->count - at) * sizeof *s->first);
    s->first[at] = epoch;
    s->count++;
}

/* An epoch of the text, above the one before it. */
static bool read_epoch(reader *r, const mot_yaml *node, const mot_schedule *s, int64_t before, uint32_t *epoch)
{
    if (!whole_number(r, node, "an epoch", 0, MOST_EPOCHS, epoch))
        return false;
    if (*epoch <= before)
        PROBLEM(r, node, "epoch %u follows epoch %u, want them to rise", *epoch, (unsigned)before);
    else if (s->epochs && *epoch > s->epochs)
        PROBLEM(r, node, "epoch %u is past the text's %u 'epochs'", *epoch, s->epochs);
    else
        return true;
    return false;
}

static void read_points(reader *r, const mot_yaml *points, schedule_kind kind, mot_schedule *s)
{
    int64_t before = -1;
    double value;
    if (points->kind != MOT_YAML_LIST || points->children < (kind == STEPS ? 1 : 2)) {
        PROBLEM(r, points, "'%s' is %s, want a list of [epoch, number], at least %s", kind_keys[kind],
                points->kind == MOT_YAML_LIST ? "too short" : kind_of(r, points), kind == STEPS ? "one" : "two");
        return;
    }
    for (const mot_yaml *p = mot_yaml_child(&r->tree, points); p; p = mot_yaml_next(&r->tree, p)) {
        uint32_t epoch;
        if (p->kind != MOT_YAML_LIST || p->children != 2) {
            PROBLEM(r, p, "a point of '%s' is %s, want [epoch, number]", kind_keys[kind], kind_of(r, p));
            return;
        }
        const mot_yaml *const first = mot_yaml_child(&r->tree, p), *const second = mot_yaml_next(&r->tree, first);
        const bool good = read_epoch(r, first, s, before, &epoch);
        if (!number(r, second, "a number that changes with the epoch", -1e12, 1e12, &value) || !good)
            return;
        if (kind == STEPS && before < 0 && epoch != 0) {
            PROBLEM(r, first, "'from' begins at epoch %u, want 0", epoch);
            return;
        }
        before = epoch;
        add_epoch(r, p, s, epoch);
    }
}

/* Reads when each phase begins. */
static void read_phases(reader *r, const mot_yaml *list, mot_schedule *s)
{
    static const char *const keys[] = { "from", "stages" };
    int64_t before = -1;
    for (const mot_yaml *phase = mot_yaml_child(&r->tree, list); phase; phase = mot_yaml_next(&r->tree, phase)) {
        uint32_t epoch;
        if (!check_keys(r, phase, "a phase", keys, COUNT(keys)))
            return;
        const mot_yaml *const from = get(r, phase, "from");
        if (!from || !get(r, phase, "stages")) {
            PROBLEM(r, phase, "a phase has no '%s', want {from: EPOCH, stages: [...]}", from ? "stages" : "from");
            return;
        }
        if (!read_epoch(r, from, s, before, &epoch))
            return;
        if (before < 0 && epoch != 0) {
            PROBLEM(r, from, "the first phase begins at epoch %u, want 0", epoch);
            return;
        }
        before = epoch;
        add_epoch(r, phase, s, epoch);
    }
}

/* A schedule's number in an epoch; `left` becomes the node of the point that it begins at. */
static double number_in(const reader *r, const mot_yaml *points, schedule_kind kind, double epoch,
                        const mot_yaml **left)
{
    double e[2] = { 0 }, x[2] = { 0 };
    for (const mot_yaml *p = mot_yaml_child(&r->tree, points); p; p = mot_yaml_next(&r->tree, p)) {
        const mot_yaml *const first = mot_yaml_child(&r->tree, p), *const second = mot_yaml_next(&r->tree, first);
        mot_number_parse(text_of(r, first), &e[1]);
        mot_number_parse(text_of(r, second), &x[1]);
        if (p == mot_yaml_child(&r->tree, points) || e[1] <= epoch) {
            e[0] = e[1], x[0] = x[1], *left = second;
            continue;
        }
        const double share = (epoch - e[0]) / (e[1] - e[0]);
        if (kind == STEPS || epoch <= e[0])
            return x[0];
        if (kind == RAMP) /* the product first: then whole steps give whole numbers */
            return x[0] + (x[1] - x[0]) * (epoch - e[0]) / (e[1] - e[0]);
        /* so that the last bits of a libm do not matter */
        return x[0] + (x[1] - x[0]) * ldexp(rint(ldexp((1 - cos(share * 3.14159265358979323846)) / 2, 36)), -36);
    }
    return x[0];
}

/* Marks the epochs from which a ramp or a cosine moves. */
static void mark_moves(const reader *r, const mot_yaml *points, schedule_kind kind, mot_schedule *s)
{
    const mot_yaml *at;
    for (uint32_t i = 0; kind != STEPS && i + 1 < s->count; i++)
        s->moves[i] |= number_in(r, points, kind, s->first[i], &at) != number_in(r, points, kind, s->first[i + 1], &at);
}

void mot_schedule_read(reader *r, mot_schedule *s)
{
    const mot_yaml *const root = &r->tree.node[0], *const epochs = get(r, root, "epochs"), *list = stage_phases(r);
    schedule_kind kind;
    const mot_yaml *points;
    s->count = 1; /* epoch 0 */
    if (epochs)
        whole_number(r, epochs, "'epochs'", 1, MOST_EPOCHS, &s->epochs);
    if (list && get(r, root, "stages"))
        PROBLEM(r, list, "'phases' stands beside 'stages', want one of them");
    else if (list)
        read_phases(r, list, s);
    for (uint32_t i = 0; i < r->tree.nodes; i++)
        if ((points = points_of(r, &r->tree.node[i], &kind)))
            read_points(r, points, kind, s);
    for (uint32_t i = 0; i < r->tree.nodes && r->tree.problems == 0; i++)
        if ((points = points_of(r, &r->tree.node[i], &kind)))
            mark_moves(r, points, kind, s);
}

uint32_t mot_schedule_begin(const mot_schedule *s, uint32_t epoch)
{
    uint32_t i = s->count - 1;
    while (s->first[i] > epoch)
        i--;
    return s->moves[i] ? epoch : s->first[i];
}

/* ---- changing the text ---- */

/* The key of a value of the whole text; *before: the value before it, or NULL. */
static mot_yaml *key_of(reader *r, const mot_yaml *value, mot_yaml **before)
{
    const mot_yaml *key = mot_yaml_child(&r->tree, r->tree.node), *last = NULL;
    while (mot_yaml_next(&r->tree, key) != value) {
        last = mot_yaml_next(&r->tree, key);
        key = mot_yaml_next(&r->tree, last);
    }
    *before = last ? &r->tree.node[last - r->tree.node] : NULL;
    return &r->tree.node[key - r->tree.node];
}

/* Takes out the length of the schedules, which no plain text has. */
static void drop_epochs(reader *r)
{
    const mot_yaml *const value = get(r, r->tree.node, "epochs");
    mot_yaml *before;
    if (!value)
        return;
    key_of(r, value, &before);
    if (before)
        before->next = value->next;
    else
        r->tree.node[0].first = value->next;
    r->tree.node[0].children -= 2;
}

/* Takes the stages of the phase that has begun last in place of all phases. */
static motley_status choose_phase(reader *r, const mot_yaml *list, uint32_t epoch)
{
    const mot_yaml *chosen = NULL;
    mot_yaml *before, *const key = key_of(r, list, &before), *const place = &r->tree.node[list - r->tree.node];
    for (const mot_yaml *phase = mot_yaml_child(&r->tree, list); phase; phase = mot_yaml_next(&r->tree, phase)) {
        double from = 0;
        mot_number_parse(text_of(r, get(r, phase, "from")), &from);
        chosen = from <= epoch ? get(r, phase, "stages") : chosen;
    }
    const uint32_t next = list->next;
    *place = *chosen;
    place->next = next;
    return mot_yaml_set(&r->tree, key, "stages");
}

/* Replaces a node by a number. */
static motley_status put_number(reader *r, uint32_t node, double value)
{
    mot_text text = { 0 };
    mot_say_number(&text, "", value);
    const motley_status status =
        text.failed ? MOTLEY_ERR_MEMORY : mot_yaml_set(&r->tree, &r->tree.node[node], text.text);
    free(text.text);
    return status;
}

motley_status mot_schedule_resolve(reader *r, uint32_t epoch)
{
    const mot_yaml *const list = stage_phases(r), *points, *left;
    schedule_kind kind;
    for (uint32_t i = 0; i < r->tree.nodes; i++)
        if ((points = points_of(r, &r->tree.node[i], &kind))) {
            const double value = number_in(r, points, kind, epoch, &left);
            r->tree.node[i].offset = left->offset; /* where a problem with it stands */
            MOT_TRY(put_number(r, i, value));
        }
    if (list)
        MOT_TRY(choose_phase(r, list, epoch));
    drop_epochs(r);
    return MOTLEY_OK;
}

motley_status mot_schedule_scale(reader *r, uint32_t epochs)
{
    const mot_yaml *const length = get(r, &r->tree.node[0], "epochs"), *const list = stage_phases(r), *points;
    schedule_kind kind;
    double old = 1, epoch = 0;
    mot_number_parse(text_of(r, length), &old);
    for (uint32_t i = 0; i < r->tree.nodes; i++)
        for (const mot_yaml *p = (points = points_of(r, &r->tree.node[i], &kind)) ? mot_yaml_child(&r->tree, points)
                                                                                  : NULL;
             p; p = mot_yaml_next(&r->tree, p)) {
            const mot_yaml *const first = mot_yaml_child(&r->tree, p);
            mot_number_parse(text_of(r, first), &epoch);
            MOT_TRY(put_number(r, (uint32_t)(first - r->tree.node), rint(epoch * epochs / old)));
        }
    for (const mot_yaml *phase = list ? mot_yaml_child(&r->tree, list) : NULL; phase;
         phase = mot_yaml_next(&r->tree, phase)) {
        const mot_yaml *const from = get(r, phase, "from");
        mot_number_parse(text_of(r, from), &epoch);
        MOT_TRY(put_number(r, (uint32_t)(from - r->tree.node), rint(epoch * epochs / old)));
    }
    return put_number(r, (uint32_t)(length - r->tree.node), epochs);
}
