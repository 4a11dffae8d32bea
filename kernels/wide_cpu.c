/* SPDX-License-Identifier: Apache-2.0 */
/* The fast loops for images of U16 and F32. Compiled once for each instruction set: MOT_SET is its name.
 *
 * Steps run in passes. A pass makes a run of up to RUN components from what it reads: as it is, or by one step that
 * looks at other pixels. Steps that see one pixel then change the run while it is in the first cache, and it is stored.
 * Steps that need statistics begin a pass, which reads its image twice. */
#include "kernels/wide_resize_cpu.h"
#include "kernels/wide_taps_cpu.h"

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE(a, b)
extern const mot_cpu_rows NAMED(mot_rows_, MOT_SET);

/* ---- passes ---- */

/* Steps from `first` up to `end`, of which the first looks at other pixels, needs statistics, or neither. */
typedef struct pass {
    const mot_step *source, *counts; /* or NULL */
    int first, end;                  /* the steps that see one pixel */
} pass;

static int shape_of(const mot_step *step)
{
    return step->op < 0 ? MOTLEY_SHAPE_BLUR : mot_shape_of(step->op);
}

/* Whether a step changes these bands. */
static int has_work(const mot_wide *wide, const mot_step *step)
{
    return step->op == MOTLEY_STEP_KERNEL_BLUR ||
           (step->op >= 0 && (wide->colors || mot_shape_of(step->op) != MOTLEY_SHAPE_COLOR));
}

static int sees_one(const mot_step *step)
{
    const int shape = shape_of(step);
    return shape == MOTLEY_SHAPE_POINT || shape == MOTLEY_SHAPE_COLOR || shape == MOTLEY_SHAPE_ERASE;
}

static pass next_pass(const mot_wide *wide, int s)
{
    pass p = { NULL, NULL, s, s };
    while (s < wide->count && !has_work(wide, &wide->steps[s]))
        s++;
    if (s < wide->count && !sees_one(&wide->steps[s])) {
        if (shape_of(&wide->steps[s]) == MOTLEY_SHAPE_STATS)
            p.counts = &wide->steps[s];
        else
            p.source = &wide->steps[s];
        s++;
    }
    p.first = s;
    while (s < wide->count && (sees_one(&wide->steps[s]) || !has_work(wide, &wide->steps[s])))
        s++;
    p.end = s;
    return p;
}

static int is_dense(const image *im)
{
    const mot_view *const v = &im->view;
    return v->pixel == element_of(im->dtype) && v->row == v->pixel * v->width &&
           (v->channels == 1 || v->channel == v->row * v->height) &&
           (uintptr_t)v->data % mot_dtype_bytes(im->dtype) == 0;
}

static image dense_image(const mot_view *like, int dtype, float *memory)
{
    image im = { *like, dtype };
    im.view.data = (uint8_t *)memory;
    im.view.pixel = element_of(dtype);
    im.view.row = im.view.pixel * like->width;
    im.view.channel = im.view.row * like->height;
    return im;
}

/* Moves all bands by a nearest warp. Both images are dense and of one type. */
static void move_bands(const mot_wide *wide, const mot_step *step, const image *from, const image *to, int32_t *tables)
{
    const mot_view *const v = &from->view;
    mot_trace_step trace = { 0 };
    mot_trace_op(&trace, step->op, &step->arg, (mot_rect){ 0, 0, v->width, v->height });
    if (trace.kind != MOT_TRACE_AXES || trace.axis[0].step >= 0) /* rows are turned faster by a table of columns */
        mot_trace_as_fixed(&trace);
    for (int c = 0; c < v->channels; c++) {
        const float fill = mot_wide_fill(wide, step, c);
        const uint16_t whole = (uint16_t)(int32_t)(from->dtype == MOTLEY_U16 ? fill : 0);
        mot_planes planes = {
            .src = row_of(from, 0, c), .dst = row_of(to, 0, c), .count = 1, .size = (int32_t)v->pixel
        };
        planes.src_width = planes.width = v->width;
        planes.src_height = planes.height = v->height;
        planes.fill = from->dtype == MOTLEY_U16 ? (const uint8_t *)&whole : (const uint8_t *)&fill;
        NAMED(mot_rows_, MOT_SET).trace(&planes, &trace, 1, tables);
    }
}

/* Runs a pass from one image to another, whose rows may be the same if the pass has no source. */
static void run_pass(const mot_wide *wide, const pass *p, const image *from, const image *to, int ends)
{
    const mot_view *const v = &from->view;
    mot_wide_stats stats[COLORS];
    mot_taps taps[COLORS];
    mot_warp_plan plan = { 0 };
    places at;
    runs r;
    const int shape = p->source ? shape_of(p->source) : MOTLEY_SHAPE_POINT;
    if (p->counts)
        take_stats(wide, p->counts, from, stats);
    if (shape == MOTLEY_SHAPE_WARP)
        mot_warp_make_plan(p->source->op, v->width, v->height, &p->source->arg, p->source->interpolation, &plan);
    for (int c = 0; c < v->channels && (shape == MOTLEY_SHAPE_STENCIL || shape == MOTLEY_SHAPE_FILTER); c++)
        mot_wide_taps(p->source->op, &wide->range[c], &taps[c]);
    for (int y = 0; y < v->height; y++)
        for (int x = 0; x < v->width; x += RUN) {
            const int n = v->width - x < RUN ? v->width - x : RUN;
            for (int c = 0; c < v->channels; c++) {
                r.at[c] = floats_at(to, x, y, c);
                r.at[c] = r.at[c] ? r.at[c] : r.own[c];
            }
            if (shape == MOTLEY_SHAPE_WARP) {
                find_places(&plan, x, y, n, &at);
                between_run(wide, p->source, from, &at, r.at, n, plan.path == MOT_WARP_BICUBIC);
            }
            for (int c = 0; c < v->channels; c++) {
                if (!p->source)
                    load(from, x, y, c, r.at[c], n);
                else if (shape != MOTLEY_SHAPE_WARP)
                    sum_run(wide, p->source, &taps[c], from, x, y, c, r.at[c], n);
                if (p->counts)
                    change_run(p->counts->op, r.at[c], NULL, n, &stats[c], &wide->range[c], &p->counts->arg);
            }
            for (int s = p->first; s < p->end; s++) {
                const mot_step *const step = &wide->steps[s];
                if (!has_work(wide, step))
                    continue;
                if (shape_of(step) == MOTLEY_SHAPE_COLOR)
                    luma_of(wide, &r, n);
                for (int c = 0; c < v->channels; c++)
                    if (shape_of(step) == MOTLEY_SHAPE_ERASE)
                        erase_run(wide, step, r.at[c], c, x, y, n);
                    else
                        change_run(step->op, r.at[c], r.luma, n, NULL, &wide->range[c], &step->arg);
            }
            for (int c = 0; c < v->channels; c++) {
                for (int k = 0; k < n && ends && wide->mean; k++)
                    r.at[c][k] = mot_wide_result(wide, r.at[c][k], c);
                store(to, x, y, c, r.at[c], n);
            }
        }
}

/* An image whose rows lie one behind the other, as one row, if no step of a pass asks where a component is. */
static void flatten(const mot_wide *wide, const pass *p, image *from, image *to)
{
    int may = !p->source;
    for (int s = p->first; s < p->end; s++)
        may &= shape_of(&wide->steps[s]) != MOTLEY_SHAPE_ERASE;
    const mot_view *const a = &from->view, *const b = &to->view;
    if (!may || a->row != a->pixel * a->width || b->row != b->pixel * b->width)
        return;
    from->view.width = to->view.width = a->width * a->height;
    from->view.height = to->view.height = 1;
}

/* A step that looks at other pixels: where it reads, it wants rows of binary32, and warps whole planes. */
static int takes(const mot_step *source, const image *from, int moves)
{
    if (shape_of(source) == MOTLEY_SHAPE_BLUR)
        return 1;
    if (moves || shape_of(source) == MOTLEY_SHAPE_WARP)
        return is_dense(from) && (moves || from->dtype == MOTLEY_F32);
    return from->dtype == MOTLEY_F32 && from->view.pixel == 4 && from->view.row % 4 == 0 &&
           (uintptr_t)from->view.data % 4 == 0;
}

/* Copies an image to dense rows of binary32. */
static image copy_of(const mot_wide *wide, const image *from, float *memory)
{
    const pass nothing = { NULL, NULL, 0, 0 };
    const image kept = dense_image(&from->view, MOTLEY_F32, memory);
    image a = *from, b = kept;
    flatten(wide, &nothing, &a, &b);
    run_pass(wide, &nothing, &a, &b, 0);
    return kept;
}

/* Does a blur, as the reference does it. */
static image blurred(const mot_wide *wide, const mot_step *step, const image *from, float *memory, float *rest)
{
    const image to = dense_image(&from->view, MOTLEY_F32, memory);
    mot_wide one = *wide;
    one.src = from->view;
    one.src_dtype = from->dtype;
    one.dst = to.view;
    one.dst_dtype = to.dtype;
    one.steps = step;
    one.count = 1;
    one.mean = NULL;
    mot_wide_reference(&one, rest);
    return to;
}

/* Whether a step is a warp that moves whole components. */
static int moves_components(const mot_step *step, const mot_view *view)
{
    mot_warp_plan plan;
    if (!step || shape_of(step) != MOTLEY_SHAPE_WARP)
        return 0;
    mot_warp_make_plan(step->op, view->width, view->height, &step->arg, step->interpolation, &plan);
    return plan.path != MOT_WARP_BILINEAR && plan.path != MOT_WARP_BICUBIC;
}

void NAMED(mot_wide_, MOT_SET)(const mot_wide *wide, void *scratch)
{
    const size_t all = (size_t)wide->src.width * (size_t)wide->src.height * (size_t)wide->src.channels;
    float *const memory[2] = { scratch, (float *)scratch + all }, *const rest = memory[1] + all;
    const image dst = { wide->dst, wide->dst_dtype };
    const int in_place = wide->src.data == wide->dst.data;
    image from = { wide->src, wide->src_dtype };
    int turn = 0, s = 0, ended = 0;
    while (!ended) {
        pass p = next_pass(wide, s);
        const int moves = moves_components(p.source, &from.view);
        const int blurs = p.source && shape_of(p.source) == MOTLEY_SHAPE_BLUR;
        if (p.source && !takes(p.source, &from, moves)) {
            from = copy_of(wide, &from, memory[turn]);
            turn = !turn;
        }
        if (moves) {
            const int last = p.end == wide->count && p.first == p.end && !wide->mean && !in_place &&
                             from.dtype == dst.dtype && is_dense(&dst);
            const image to = last ? dst : dense_image(&from.view, from.dtype, memory[turn]);
            move_bands(wide, p.source, &from, &to, (int32_t *)(void *)rest);
            if (last)
                return;
            from = to;
        } else if (blurs) {
            from = blurred(wide, p.source, &from, memory[turn], rest);
        }
        if (moves || blurs) { /* the other steps of the pass read what was made */
            turn = !turn;
            p.source = NULL;
        }
        ended = p.end == wide->count && !(p.source && in_place && from.view.data == wide->src.data);
        const image kept = ended ? dst : dense_image(&from.view, MOTLEY_F32, memory[turn]);
        image a = from, b = kept;
        flatten(wide, &p, &a, &b);
        run_pass(wide, &p, &a, &b, ended);
        from = kept;
        turn = !turn;
        s = p.end;
    }
}

/* ---- resize ---- */

void NAMED(mot_wide_resize_, MOT_SET)(const mot_view *src, motley_dtype dtype, const mot_view *dst,
                                      const mot_resize *how, void *scratch)
{
    const mot_resize_plan plan = mot_resize_plan_of(how, 0);
    const int whole = dtype == MOTLEY_U16, both = plan.columns && plan.rows;
    if (plan.crop || how->filter == MOTLEY_FILTER_NEAREST) {
        mot_wide_resize_reference(src, dtype, dst, how, scratch);
        return;
    }
    double *memory = scratch;
    windows across = { .taps = 0 }, down = { .taps = 0 };
    if (plan.columns)
        across = windows_of(how, 0, src->width, dst->width, &memory);
    if (plan.rows)
        down = windows_of(how, 1, src->height, dst->height, &memory);
    float *const block = (float *)(void *)memory;
    for (int c = 0; c < src->channels; c++) {
        image from = { *src, (int)dtype }, to = { *dst, MOTLEY_F32 };
        from.view.data += c * src->channel;
        to.view.data += c * dst->channel;
        from.view.channels = to.view.channels = 1;
        image between = to;
        if (both) {
            mot_view like = to.view;
            like.width = plan.rows_first ? src->width : dst->width;
            like.height = plan.rows_first ? dst->height : src->height;
            between = dense_image(&like, MOTLEY_F32, block + (size_t)src->width * BESIDE);
        }
        if (both && plan.rows_first) {
            resize_columns(&from, &between, &down, whole);
            resize_rows(&between, &to, &across, whole, block);
        } else if (plan.columns) {
            resize_rows(&from, both ? &between : &to, &across, whole, block);
            if (both)
                resize_columns(&between, &to, &down, whole);
        } else {
            resize_columns(&from, &to, &down, whole);
        }
    }
}
