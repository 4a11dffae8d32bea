/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the tile kernel: what it does to one image, as a short list of instructions. The same text makes them on
 * the device (kernels/cuda/tile_planner.cuh) and in tests on the host. Plain C.
 *
 * The CTAs that share an image each own some of its tiles and run the same program. The instructions between two
 * BARRIERs are a phase: first those that run once (TABLE, CURRENT, CUT; a CTA with one tile may load it before them),
 * then the others for each tile. If a CTA has one tile, the tile stays in shared memory from phase to phase; if it has
 * several (`one_tile` == 0), a phase reads its tiles from one place in memory and writes them to another. */
#ifndef MOT_TILE_PROGRAM_H
#define MOT_TILE_PROGRAM_H

#include "augmentations/hue.h"
#include "augmentations/ops.h"
#include "augmentations/permute.h"
#include "augmentations/step.h"
#include "kernels/blur.h"
#include "kernels/erase.h"
#include "kernels/point.h"
#include "kernels/view.h"
#include "kernels/warp.h"
#include "motley/draw.h"

/* Steps of a program; an image with more has several programs, one after the other. */
#define MOT_WINDOW 4
#define MOT_PROGRAM_OPS 80 /* enough for MOT_WINDOW steps of which one is a blur */
#define MOT_NONE 255

/* For functions that several places use, but that run only a few times: inlined, every use would be fetched as separate
 * instructions, which takes longer than the calls. */
#ifdef __CUDACC__
#define MOT_CALLED_FN static __host__ __device__ __noinline__
#else
#define MOT_CALLED_FN MOT_FN
#endif

#ifdef __cplusplus
#define MOT_ALIGN(bytes) alignas(bytes)
#else
#define MOT_ALIGN(bytes) _Alignas(bytes)
#endif

/* Where an image's pixels lie between phases. */
typedef enum mot_place { MOT_PLACE_SRC, MOT_PLACE_WORK, MOT_PLACE_SCRATCH, MOT_PLACE_RESULT } mot_place;

typedef enum mot_opcode {
    /* between phases; b: the op at which a CTA with another tile in this phase goes on */
    MOT_DO_END,     /* a: another program follows */
    MOT_DO_BARRIER, /* a: the CTA has arrived already; waits until the image's other CTAs have arrived as well */
    MOT_DO_CURRENT, /* a: the place that is read from now on */
    MOT_DO_CUT,     /* a: the tiles are strips of columns from now on, or tiles again */
    /* loads the tile's pixels from memory; `halo`: with a row and a column of neighbours on each side */
    MOT_DO_FETCH,       /* a: halo */
    MOT_DO_GATHER,      /* a: halo, b: the warp, c: the one after it or MOT_NONE, d: mark what is filled */
    MOT_DO_INTERPOLATE, /* a: halo, b: the warp */
    MOT_DO_POSITIONS,   /* a: halo, b: a warp whose positions are sums, d: mark what is filled */
    MOT_DO_BLUR,        /* b: the step; a: 0 along rows, 1 along columns: one box pass */
    /* the tile, in place */
    MOT_DO_CHAIN,   /* a, b: items from a to before b, d: not to what later warps filled */
    MOT_DO_STENCIL, /* b: the step; needs a tile with a halo, and leaves one without */
    MOT_DO_LINES, /* b: the step, a blur; a: 0 along rows, 1 along columns, which the tile holds whole: three passes */
    /* statistics of the image for step b; c: the table to apply first or MOT_NONE */
    MOT_DO_COUNT_TILE,   /* of the tile */
    MOT_DO_COUNT_MEMORY, /* of the tile's pixels in memory */
    MOT_DO_TABLE, /* a: the table made from them, b: the step, c: the table before, d: the one after, or MOT_NONE */
    /* writes */
    MOT_DO_STORE, /* a: the place */
    MOT_DO_DIRECT /* a: the table or MOT_NONE: copies from memory to the result, without a tile */
} mot_opcode;

typedef struct mot_program_op {
    MOT_ALIGN(8) uint8_t code;
    uint8_t a, b, c, d;
    uint8_t count;   /* COUNT, TABLE: the number of the statistics in the program */
    uint8_t arrives; /* before it the CTA arrives at the next BARRIER, and goes on before it waits there */
    uint8_t unused;
} mot_program_op;

typedef enum mot_item_kind {
    MOT_ITEM_TABLE,
    MOT_ITEM_COLOR,
    MOT_ITEM_ERASE,
    MOT_ITEM_HUE,
    MOT_ITEM_PERMUTE
} mot_item_kind;

/* What is done to a pixel besides moving it: an item. */
typedef struct mot_item {
    uint8_t kind, table, step;
    uint8_t level; /* the warps before it: it does not change what a later one fills */
    mot_rect rect; /* ERASE */
} mot_item;

typedef struct mot_program {
    mot_program_op op[MOT_PROGRAM_OPS];
    mot_item item[MOT_WINDOW];
    mot_arg arg[MOT_WINDOW]; /* of the steps */
    double m[MOT_WINDOW][6]; /* of the warps ... */
    uint32_t fixed[MOT_WINDOW][6];
    uint32_t fill[MOT_WINDOW];
    uint8_t id[MOT_WINDOW];   /* the steps' ops */
    uint8_t path[MOT_WINDOW]; /* the warps' mot_warp_path */
    uint8_t
        point_steps[MOT_WINDOW]; /* for tables that do not depend on the image: the point ops in them, one bit a step */
    uint16_t first_count;        /* statistics of the image's programs before this one */
    uint8_t tables;
} mot_program;

/* What a program depends on besides its steps. */
typedef struct mot_program_facts {
    int width, height, channels;
    uint8_t one_tile;   /* each CTA has one tile, which stays in shared memory */
    uint8_t whole_rows; /* tiles are whole rows */
    uint8_t lines;      /* `one_tile`, `whole_rows`, and strips of whole columns are possible */
    uint8_t in_place;   /* SRC and WORK are the same pixels */
    uint8_t output;     /* RESULT is of another type or layout than WORK, ... */
    uint8_t overlaps;   /* ... and shares memory with it, ... */
    uint8_t on_src;     /* ... or with SRC: exactly its pixels */
    uint8_t direct;     /* RESULT is WORK, and has SRC's format */
    uint8_t marks;      /* a pixel's word has a spare byte, which says which warp filled it */
    uint8_t band;       /* the grey image is this one of a sample's, and is filled accordingly */
} mot_program_facts;

/* The state while a program is being made.
 *
 *   Pixels  What the steps so far make of the image is the pixels in memory, at `place`, then the pending warps
 *           (`first`, then `second`; `warps` counts them), then the items from `base` on. The tile, unless it is
 *           NOTHING, has the warps and the items before `applied`; base <= applied <= items. After mot_commit nothing
 *           is pending, and base == items.
 *   Levels  An item's level is the number of warps before it. Where it is below `warps`, the item must not change what
 *           later warps filled, and tiles need marks.
 *   Phases  op[phase] is the first op behind the last BARRIER, op[turn] the first one that a CTA with several tiles
 *           runs for each of them; phase <= turn <= ops.
 *   Memory  Between two barriers no CTA writes pixels in memory that another one may still read. A MOVED tile is made
 *           of others' pixels, so storing it over `place` needs a barrier first, unless may_overwrite
 *           (mot_is_in_the_way). Every barrier sets may_overwrite; loading a tile sets it anew.
 *   Arrive  Ops behind `shared` work in the tile alone, so a CTA with one tile arrives before them and waits after
 *           them (mot_emit_barrier). mot_load_before_barrier alone moves ops, and keeps all of this. */
typedef struct mot_program_state {
    mot_program *p;
    const mot_program_facts *facts;
    int ops, items, tables, counts;
    int base, applied;        /* the first items that are not in the pixels in memory, and not in the tile */
    int warps, first, second; /* nearest warps that have not been read through yet */
    int erases;
    int tile;          /* NOTHING: there is none */
    int may_overwrite; /* no other CTA needs this one's pixels in memory: all have loaded their tiles, or none reads
                          another's */
    int place;
    int phase, turn;          /* its first op, and the first one that is for each tile */
    int shared;               /* the last op that was more than work in the tile: other CTAs may wait for it */
    int table_op[MOT_WINDOW]; /* for tables made from statistics: their TABLE, else -1 */
} mot_program_state;

/* OWN: the pixels that memory has in the tile's place. MOVED: others, while other CTAs may still read that place.
 * STRIP: a strip of columns, which only its CTA uses until the next MEET. */
enum { MOT_TILE_NOTHING, MOT_TILE_OWN, MOT_TILE_MOVED, MOT_TILE_STRIP };

/* The state is read before the program is written, whose bytes could be the state's for all the compiler knows. */
MOT_CALLED_FN int mot_emit(mot_program_state *s, int code, int a, int b, int c, int d)
{
    const int at = s->ops++, count = s->counts;
    mot_program_op *const op = &s->p->op[at];
    if (code != MOT_DO_CHAIN && code != MOT_DO_STENCIL && code != MOT_DO_LINES)
        s->shared = at;
    if (code == MOT_DO_BARRIER || code == MOT_DO_TABLE || code == MOT_DO_CURRENT || code == MOT_DO_CUT)
        s->turn = at + 1;
    op->code = (uint8_t)code, op->a = (uint8_t)a, op->b = (uint8_t)b, op->c = (uint8_t)c, op->d = (uint8_t)d;
    op->count = (uint8_t)count;
    op->arrives = 0;
    return at;
}

/* A barrier of the image's CTAs. A CTA with one tile arrives as soon as it has done what others wait for, and works on
 * in its tile before it waits. */
MOT_CALLED_FN void mot_emit_barrier(mot_program_state *s)
{
    const int shared = s->shared, turn = s->turn;
    const int early = s->facts->one_tile && s->tile != MOT_TILE_STRIP && shared >= s->phase && shared + 1 < s->ops &&
                      s->p->op[shared].code != MOT_DO_TABLE;
    s->phase = mot_emit(s, MOT_DO_BARRIER, early, turn, 0, 0) + 1;
    if (early)
        s->p->op[shared + 1].arrives = 1;
    s->may_overwrite = 1;
}

MOT_FN void mot_add_item(mot_program_state *s, int kind, int table, int step)
{
    const int level = s->warps;
    mot_item *const item = &s->p->item[s->items++];
    item->kind = (uint8_t)kind;
    item->table = (uint8_t)table;
    item->step = (uint8_t)step;
    item->level = (uint8_t)level;
}

/* Whether a pending item, from `begin` on, must not change what a pending warp fills. */
MOT_FN int mot_needs_marks(const mot_program_state *s, int begin)
{
    for (int k = begin; k < s->items; k++)
        if (s->p->item[k].level < s->warps)
            return 1;
    return 0;
}

MOT_FN int mot_shares_work(const mot_program_state *s, int place)
{
    return place == MOT_PLACE_WORK || (place == MOT_PLACE_SRC && s->facts->in_place);
}

/* If the last barrier was for statistics, moves the last instruction, which loads the tile, to before it. Where the
 * instruction reads other CTAs' pixels, and these are to be written over later, that then needs no other barrier. */
MOT_FN void mot_load_before_barrier(mot_program_state *s)
{
    const int load = s->ops - 1;
    mot_program_op *const op = s->p->op;
    if (!s->facts->one_tile || load < 3 || op[load].a || op[load - 1].code != MOT_DO_TABLE ||
        op[load - 2].code != MOT_DO_BARRIER || op[load - 3].code != MOT_DO_COUNT_MEMORY)
        return;
    const mot_program_op moved = op[load];
    op[load] = op[load - 1];
    op[load - 1] = op[load - 2];
    op[load - 2] = moved;
    s->table_op[op[load].a] = load;
    s->phase = s->shared = load;
    s->turn = load + 1;
    if (s->tile == MOT_TILE_MOVED && mot_shares_work(s, s->place) && !s->may_overwrite) {
        s->may_overwrite = 1;
    } else {
        op[load - 2].arrives = 1;
        op[load - 1].a = 1;
    }
}

/* Whether a warp moves pixels only along their rows: a horizontal shear, translation or flip. */
MOT_FN int mot_stays_in_rows(const mot_program *p, int step)
{
    const uint32_t *const f = p->fixed[step];
    return p->path[step] == MOT_WARP_FIXED && f[3] == 0 && f[4] == 65536 && f[5] < 65536;
}

/* Loads the tile, unless it is there already. */
MOT_CALLED_FN void mot_ensure_tile(mot_program_state *s, int halo)
{
    if (s->tile != MOT_TILE_NOTHING)
        return;
    const int marks = mot_needs_marks(s, s->base);
    if (s->warps == 0)
        mot_emit(s, MOT_DO_FETCH, halo, 0, 0, 0);
    else if (s->p->path[s->first] == MOT_WARP_FIXED)
        mot_emit(s, MOT_DO_GATHER, halo, s->first, s->warps == 2 ? s->second : MOT_NONE, marks);
    else if (s->p->path[s->first] == MOT_WARP_SCALE || s->p->path[s->first] == MOT_WARP_DOUBLE)
        mot_emit(s, MOT_DO_POSITIONS, halo, s->first, 0, marks);
    else
        mot_emit(s, MOT_DO_INTERPOLATE, halo, s->first, 0, 0);
    s->tile = s->warps == 0 ? MOT_TILE_OWN : MOT_TILE_MOVED;
    s->applied = s->base;
    s->may_overwrite = s->warps > 0 && s->facts->whole_rows && !halo && mot_stays_in_rows(s->p, s->first) &&
                       (s->warps < 2 || mot_stays_in_rows(s->p, s->second));
    mot_load_before_barrier(s);
}

/* Whether other CTAs may still read the pixels that the tile is to be written over. */
MOT_FN int mot_is_in_the_way(const mot_program_state *s)
{
    return s->tile == MOT_TILE_MOVED && mot_shares_work(s, s->place) && !s->may_overwrite;
}

/* Applies the pending items to the tile. */
MOT_FN void mot_settle(mot_program_state *s)
{
    if (s->applied < s->items)
        mot_emit(s, MOT_DO_CHAIN, s->applied, s->items, 0, mot_needs_marks(s, s->applied));
    s->applied = s->items;
}

/* From here on the pixels as they are so far lie in memory, in `place`, and nothing is pending. */
MOT_FN void mot_committed(mot_program_state *s, int place)
{
    s->place = place;
    s->base = s->applied = s->items;
    s->warps = s->erases = 0;
    s->tile = MOT_TILE_NOTHING;
}

/* Writes the pixels to memory, so that the next instruction can read any of them. */
MOT_CALLED_FN void mot_commit(mot_program_state *s)
{
    mot_ensure_tile(s, 0);
    mot_settle(s);
    int place = MOT_PLACE_WORK;
    if (mot_is_in_the_way(s)) {
        if (s->facts->one_tile)
            mot_emit_barrier(s);
        else
            place = MOT_PLACE_SCRATCH;
    }
    mot_emit(s, MOT_DO_STORE, place, 0, 0, 0);
    mot_emit_barrier(s);
    mot_emit(s, MOT_DO_CURRENT, place, 0, 0, 0);
    if (s->tile == MOT_TILE_STRIP)
        mot_emit(s, MOT_DO_CUT, 0, 0, 0, 0);
    mot_committed(s, place);
}

MOT_FN int mot_new_table(mot_program_state *s)
{
    const int table = s->tables++;
    s->table_op[table] = -1;
    s->p->point_steps[table] = 0;
    return table;
}

/* Merges step `step`, a point op, into table `t`. */
MOT_FN void mot_extend_table(mot_program_state *s, int t, int step)
{
    if (s->table_op[t] >= 0) { /* known only after the image was counted: the step goes into a table behind it */
        mot_program_op *const op = &s->p->op[s->table_op[t]];
        if (op->d == MOT_NONE)
            op->d = (uint8_t)mot_new_table(s);
        t = op->d;
    }
    s->p->point_steps[t] |= (uint8_t)(1 << step);
}

/* Whether the pending items are only a table applied to what is read. */
MOT_FN int mot_only_table(const mot_program_state *s)
{
    return s->items == s->base ||
           (s->items == s->base + 1 && s->p->item[s->base].kind == MOT_ITEM_TABLE && s->p->item[s->base].level == 0);
}

MOT_FN void mot_program_point(mot_program_state *s, int step, const mot_step *what)
{
    const int colors = s->facts->channels == 2 ? 1 : s->facts->channels == 4 ? 3 : s->facts->channels;
    const int nearest = s->warps == 1 && s->p->path[s->first] == MOT_WARP_FIXED;
    const int last = s->items - 1;
    if (s->tile == MOT_TILE_NOTHING && nearest && s->facts->marks && mot_only_table(s)) {
        /* into the table of what the warp reads, and into its fill colour */
        if (s->items == s->base) {
            mot_add_item(s, MOT_ITEM_TABLE, mot_new_table(s), step);
            s->p->item[s->base].level = 0;
        }
        mot_extend_table(s, s->p->item[s->base].table, step);
        for (int c = 0; c < colors; c++) {
            const uint32_t old = s->p->fill[s->first] >> (8 * c) & 0xFF;
            s->p->fill[s->first] ^= (old ^ mot_point_value(what->op, (uint8_t)old, &what->arg)) << (8 * c);
        }
        return;
    }
    const int follows = s->items > s->applied && s->items > s->base && s->p->item[last].kind == MOT_ITEM_TABLE &&
                        s->p->item[last].level == s->warps;
    if (!follows)
        mot_add_item(s, MOT_ITEM_TABLE, mot_new_table(s), step);
    mot_extend_table(s, s->p->item[s->items - 1].table, step);
}

MOT_FN void mot_program_stats(mot_program_state *s, int step)
{
    int before = MOT_NONE, code = MOT_DO_COUNT_MEMORY;
    if (s->tile != MOT_TILE_NOTHING || s->warps > 0 || !mot_only_table(s)) {
        if (s->facts->one_tile && s->tile != MOT_TILE_STRIP) {
            mot_ensure_tile(s, 0);
            mot_settle(s);
            code = MOT_DO_COUNT_TILE;
        } else {
            mot_commit(s);
        }
    }
    if (code == MOT_DO_COUNT_MEMORY && s->items > s->base)
        before = s->p->item[s->base].table;
    mot_emit(s, code, 0, step, before, 0);
    mot_emit_barrier(s);
    const int table = mot_new_table(s);
    s->table_op[table] = mot_emit(s, MOT_DO_TABLE, table, step, before, MOT_NONE);
    s->counts++;
    if (before == MOT_NONE)
        mot_add_item(s, MOT_ITEM_TABLE, table, step);
    else
        s->p->item[s->base].table = (uint8_t)table;
}

/* What mot_warp_make_plan() makes of a warp; and FIXED for a SCALE that reads the same pixels: its positions add 1 or
 * -1 each time, so no sum can round across a whole number. */
MOT_FN int mot_unit_scale(double step, double first, int length, uint32_t *by, uint32_t *from)
{
    const double rest = fabs(first - rint(first));
    *by = (uint32_t)((int32_t)(step > 0 ? 1 : -1) * 65536);
    *from = fabs(first) < 16000.0 ? (uint32_t)((int32_t)floor(first) * 65536) : 0;
    return fabs(step) == 1.0 && fabs(first) < 16000.0 && (rest == 0 || rest >= 1e-6) && length <= 16000;
}

MOT_FN void mot_program_warp_path(mot_program *p, int step, const mot_warp *warp, int width, int height,
                                  int interpolation)
{
    const double *const m = warp->m;
    uint32_t *const fixed = p->fixed[step];
    if (!warp->whole && interpolation != MOTLEY_NEAREST) {
        p->path[step] = interpolation == MOTLEY_BILINEAR ? MOT_WARP_BILINEAR : MOT_WARP_BICUBIC;
        return;
    }
    p->path[step] = MOT_WARP_FIXED;
    if (m[1] == 0 && m[3] == 0) {
        fixed[1] = fixed[3] = 0;
        const int across = mot_unit_scale(m[0], m[2] + m[0] * 0.5, width, &fixed[0], &fixed[2]);
        const int down = mot_unit_scale(m[4], m[5] + m[4] * 0.5, height, &fixed[4], &fixed[5]);
        if (!across || !down)
            p->path[step] = MOT_WARP_SCALE;
        return;
    }
    if (!mot_warp_corner_fits(m, 0, 0) || !mot_warp_corner_fits(m, width, height) ||
        !mot_warp_corner_fits(m, 0, height) || !mot_warp_corner_fits(m, width, 0)) {
        p->path[step] = MOT_WARP_DOUBLE;
        return;
    }
    for (int i = 0; i < 6; i++)
        fixed[i] = mot_warp_fixed_number(m, i);
}

MOT_FN void mot_program_warp(mot_program_state *s, int step)
{
    const int path = s->p->path[step], alone = path != MOT_WARP_FIXED;
    const int interpolates = path == MOT_WARP_BILINEAR || path == MOT_WARP_BICUBIC;
    const int first_alone = s->warps > 0 && s->p->path[s->first] != MOT_WARP_FIXED;
    const int pending = s->items > s->base;
    if (s->tile >= MOT_TILE_MOVED || s->warps == 2 || s->erases || first_alone || (alone && s->warps > 0) ||
        (interpolates && pending) || (pending && !s->facts->marks))
        mot_commit(s);
    s->tile = MOT_TILE_NOTHING;
    s->applied = s->base;
    if (s->warps++ == 0)
        s->first = step;
    else
        s->second = step;
}

MOT_FN void mot_program_stencil(mot_program_state *s, int step)
{
    const int sums =
        s->warps > 0 && (s->p->path[s->first] == MOT_WARP_SCALE || s->p->path[s->first] == MOT_WARP_DOUBLE);
    if (s->tile >= MOT_TILE_MOVED || sums)
        mot_commit(s);
    s->tile = MOT_TILE_NOTHING;
    s->applied = s->base;
    mot_ensure_tile(s, 1);
    mot_settle(s);
    mot_emit(s, MOT_DO_STENCIL, 0, step, 0, 0);
    s->tile = MOT_TILE_MOVED;
    s->warps = 0; /* what they filled counts as what they read */
    s->base = s->applied = s->items;
}

#define MOT_LINES_RADIUS 2 /* widest box, of blurs with a standard deviation up to 3.4 */

/* Three box passes along rows and three along columns: in tiles of whole rows and then in strips of columns, or else
 * each one from memory to memory. */
MOT_FN void mot_program_blur(mot_program_state *s, int step, const mot_step *what)
{
    const int64_t radius = mot_blur_radius(&what->arg), fewest = MOT_BLUR_PASSES * (radius + 1); /* pixels of a line */
    if (s->facts->lines && radius <= MOT_LINES_RADIUS && s->facts->width >= fewest && s->facts->height >= fewest) {
        if (s->tile == MOT_TILE_STRIP)
            mot_commit(s);
        mot_ensure_tile(s, 0);
        mot_settle(s);
        mot_emit(s, MOT_DO_LINES, 0, step, 0, 0);
        mot_commit(s);
        mot_emit(s, MOT_DO_CUT, 1, 0, 0, 0);
        mot_emit(s, MOT_DO_FETCH, 0, 0, 0, 0);
        mot_emit(s, MOT_DO_LINES, 1, step, 0, 0);
        s->tile = MOT_TILE_STRIP;
        return;
    }
    if (s->tile != MOT_TILE_NOTHING || s->warps > 0 || s->items > s->base)
        mot_commit(s);
    for (int pass = 0; pass < 6; pass++) {
        mot_emit(s, MOT_DO_BLUR, pass / 3, step, 0, 0);
        s->tile = MOT_TILE_MOVED;
        s->may_overwrite = 0;
        mot_commit(s);
    }
}

/* Adds the instructions for what is still pending, and the write of the result. */
MOT_FN void mot_program_finish(mot_program_state *s)
{
    const mot_program_facts *const facts = s->facts;
    const int nothing = s->tile == MOT_TILE_NOTHING && s->warps == 0 && s->items == s->base;
    if (!facts->output && nothing && mot_shares_work(s, s->place))
        return;
    if (facts->direct && s->tile == MOT_TILE_NOTHING && s->warps == 0 && mot_only_table(s)) {
        mot_emit(s, MOT_DO_DIRECT, s->items > s->base ? s->p->item[s->base].table : MOT_NONE, 0, 0, 0);
        return;
    }
    if (s->tile == MOT_TILE_STRIP && facts->output && facts->overlaps)
        mot_commit(s);
    mot_ensure_tile(s, 0);
    mot_settle(s);
    const int on_src = facts->on_src && s->place == MOT_PLACE_SRC && s->tile == MOT_TILE_MOVED;
    const int in_the_way =
        facts->output ? on_src || (facts->overlaps && s->place == MOT_PLACE_WORK) : mot_is_in_the_way(s);
    if (in_the_way && facts->one_tile) {
        mot_emit_barrier(s);
    } else if (in_the_way) {
        mot_emit(s, MOT_DO_STORE, MOT_PLACE_SCRATCH, 0, 0, 0);
        mot_emit_barrier(s);
        mot_emit(s, MOT_DO_CURRENT, MOT_PLACE_SCRATCH, 0, 0, 0);
        if (facts->direct) {
            mot_emit(s, MOT_DO_DIRECT, MOT_NONE, 0, 0, 0);
            return;
        }
        mot_emit(s, MOT_DO_FETCH, 0, 0, 0, 0);
    }
    mot_emit(s, MOT_DO_STORE, MOT_PLACE_RESULT, 0, 0, 0);
}

/* Writes into the program what its step number `step` is. */
MOT_FN void mot_program_describe(mot_program *p, const mot_program_facts *facts, int step, const mot_step *what)
{
    p->id[step] = (uint8_t)what->op;
    p->arg[step] = what->arg;
    p->fill[step] =
        what->fill[0] | (uint32_t)what->fill[1] << 8 | (uint32_t)what->fill[2] << 16 | (uint32_t)what->fill[3] << 24;
    p->fill[step] >>= 8 * mot_fill_at(facts->band);
    p->path[step] = 0;
    if (what->op == MOTLEY_STEP_HUE)
        p->arg[step].u[0] = mot_hue_value(what->value);
    if (what->op == MOTLEY_STEP_PERMUTE)
        p->arg[step].u[0] = mot_permuting_bytes((int)what->value);
    if (mot_shape_of(what->op) != MOTLEY_SHAPE_WARP)
        return;
    mot_warp warp;
    mot_warp_matrix(what->op, facts->width, facts->height, &what->arg, &warp);
    for (int i = 0; i < 6; i++)
        p->m[step][i] = warp.m[i];
    mot_program_warp_path(p, step, &warp, facts->width, facts->height, what->interpolation);
}

/* Adds a step that changes something. `step` is its number in the program, which already describes it. */
MOT_FN void mot_program_step(mot_program_state *s, int step, const mot_step *what)
{
    if (what->op == MOTLEY_STEP_HUE) {
        if (s->facts->channels >= 3)
            mot_add_item(s, MOT_ITEM_HUE, mot_new_table(s), step);
        return;
    }
    if (what->op == MOTLEY_STEP_PERMUTE) {
        if (s->facts->channels >= 3)
            mot_add_item(s, MOT_ITEM_PERMUTE, 0, step);
        return;
    }
    switch (mot_shape_of(what->op)) {
    case MOTLEY_SHAPE_POINT:
        mot_program_point(s, step, what);
        break;
    case MOTLEY_SHAPE_COLOR:
        mot_add_item(s, MOT_ITEM_COLOR, 0, step);
        break;
    case MOTLEY_SHAPE_ERASE:
        mot_add_item(s, MOT_ITEM_ERASE, 0, step);
        s->p->item[s->items - 1].rect = mot_erase_rect(what->op, s->facts->width, s->facts->height, &what->arg);
        s->erases = 1;
        break;
    case MOTLEY_SHAPE_STATS:
        mot_program_stats(s, step);
        break;
    case MOTLEY_SHAPE_WARP:
        mot_program_warp(s, step);
        break;
    case MOTLEY_SHAPE_STENCIL:
        mot_program_stencil(s, step);
        break;
    case MOTLEY_SHAPE_BLUR:
        mot_program_blur(s, step, what);
        break;
    default:
        break;
    }
}

/* Whether a program keeps nothing in a tile: it counts and copies what lies in memory. */
MOT_FN int mot_is_light(int code)
{
    return code == MOT_DO_COUNT_MEMORY || code == MOT_DO_TABLE || code == MOT_DO_DIRECT || code == MOT_DO_BARRIER ||
           code == MOT_DO_END;
}

/* Begins a program whose image lies in `place`. */
MOT_FN void mot_program_begin(mot_program_state *s, mot_program *p, const mot_program_facts *facts, int place)
{
    s->p = p;
    s->facts = facts;
    s->ops = s->phase = s->turn = s->shared = s->may_overwrite = s->items = s->tables = s->counts = 0;
    s->base = s->applied = s->warps = s->first = s->second = s->erases = 0;
    s->tile = MOT_TILE_NOTHING;
    s->place = place;
    if (place != MOT_PLACE_SRC)
        mot_emit(s, MOT_DO_CURRENT, place, 0, 0, 0);
}

/* Ends it. With `more`, another program follows, and the image is left in memory, in s->place. */
MOT_FN void mot_program_end(mot_program_state *s, int more)
{
    if (!more)
        mot_program_finish(s);
    else if (s->tile != MOT_TILE_NOTHING || s->warps > 0 || s->items > s->base)
        mot_commit(s);
    if (s->ops == 0) /* END is not the first op */
        mot_emit(s, MOT_DO_CURRENT, s->place, 0, 0, 0);
    mot_emit(s, MOT_DO_END, more, s->turn, 0, 0);
    s->p->tables = (uint8_t)s->tables;
}

#endif
