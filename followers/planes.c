/* SPDX-License-Identifier: Apache-2.0 */
/* Planes on the host: what each image drew becomes a trace, by which the kernels move its elements. */
#include "augmentations/table.h"
#include "base/error.h"
#include "base/values.h"
#include "followers/matrix.h"

#include <inttypes.h>

/* The size of image i's result. */
static void result_size(const motley_drawn *drawn, size_t i, int32_t *width, int32_t *height)
{
    const motley_place *const place = drawn->places ? &drawn->places[i] : NULL;
    *width = place ? place->result_width : drawn->widths[i];
    *height = place ? place->result_height : drawn->heights[i];
}

/* What image i drew. */
static motley_status trace_of(const mot_planes_call *call, size_t i, mot_trace_step *out, int *count,
                              motley_error *error)
{
    const motley_drawn *const drawn = call->drawn;
    int32_t width, height;
    mot_geometry geometry[MOT_GEOMETRIES_OF_RESIZES]; /* which is checked */
    result_size(drawn, i, &width, &height);
    *count = 0;
    if (drawn->places) {
        const motley_place *const d = &drawn->places[i];
        int32_t moves;
        MOT_TRY(mot_geometry_of_place(drawn, i, geometry, &moves, &width, &height, error));
        const motley_place first = mot_first_place(d, drawn->widths[i], drawn->heights[i]), last = mot_last_place(d);
        mot_trace_place(out, &first, drawn->widths[i], drawn->heights[i]);
        *count += out->kind != MOT_TRACE_STAYS;
        mot_trace_place(out + *count, &last, first.result_width, first.result_height);
        *count += out[*count].kind != MOT_TRACE_STAYS;
    }
    const int first_op = *count;
    for (int32_t s = 0; s < drawn->step_counts[i]; s++) {
        const motley_step *const step = &drawn->steps[i * drawn->max_steps + (size_t)s];
        MOT_TRY(
            mot_fail_in(error, mot_geometry_of(step, width, height, geometry, error), "image %zu, step %d: ", i, s));
        if (geometry->kind == MOT_STAYS || (geometry->kind == MOT_ERASES && !call->planes->erase))
            continue;
        const int32_t *const in = step->inside;
        const mot_rect whole = { 0, 0, width, height }, part = { in[0], in[1], in[2], in[3] };
        mot_arg arg = { 0 };
        mot_op_prepare(step->op, step->values, step->values_count, &arg);
        mot_trace_op(&out[(*count)++], step->op, &arg, in[2] > in[0] ? part : whole);
    }
    for (int32_t b = 0; call->planes->erase && drawn->places && b < drawn->places[i].boxes_count; b++)
        mot_trace_box(&out[(*count)++], &drawn->places[i].boxes[b]);
    int axes = 0;
    for (int s = 0; s < *count; s++)
        axes += out[s].kind == MOT_TRACE_AXES;
    for (int s = first_op; s < *count && (*count == 1 || axes < *count); s++) /* several axes have their own loop */
        mot_trace_as_fixed(&out[s]);
    return MOTLEY_OK;
}

/* Where image i's planes are. */
static motley_plane plane_of(const motley_planes *planes, const motley_drawn *drawn, size_t i)
{
    if (planes->images)
        return planes->images[i];
    int32_t width, height;
    result_size(drawn, i, &width, &height);
    const size_t bytes = i * planes->count * (size_t)planes->element_size;
    return (motley_plane){ (const uint8_t *)planes->src + bytes * (size_t)drawn->widths[i] * (size_t)drawn->heights[i],
                           (uint8_t *)planes->dst + bytes * (size_t)width * (size_t)height, planes->count };
}

static motley_status check_plane(const mot_planes_call *call, size_t i, motley_error *error)
{
    const motley_plane plane = plane_of(call->planes, call->drawn, i);
    const size_t size = (size_t)call->planes->element_size;
    const int32_t w = call->drawn->widths[i], h = call->drawn->heights[i];
    int32_t width, height;
    if (plane.count == 0)
        return MOTLEY_OK;
    MOT_REQUIRE((int64_t)w * h <= INT32_MAX, error,
                "planes of image %zu have %" PRId32 "x%" PRId32 " elements, want at most %d of them", i, w, h,
                INT32_MAX);
    MOT_REQUIRE(plane.src && plane.dst, error, "planes of image %zu: %s is NULL", i, plane.src ? "dst" : "src");
    MOT_REQUIRE(((uintptr_t)plane.src | (uintptr_t)plane.dst) % size == 0, error,
                "planes of image %zu: src or dst is not aligned to the %zu bytes of an element", i, size);
    MOT_REQUIRE(call->planes->images || (w == call->drawn->widths[0] && h == call->drawn->heights[0]), error,
                "planes: images is NULL, but image %zu has %" PRId32 "x%" PRId32 " pixels and image 0 has %" PRId32
                "x%" PRId32 ", want one size",
                i, w, h, call->drawn->widths[0], call->drawn->heights[0]);
    result_size(call->drawn, i, &width, &height);
    const size_t most = (size_t)((int64_t)w * h > (int64_t)width * height ? (int64_t)w * h : (int64_t)width * height);
    const size_t alike = call->planes->images ? 1 : call->drawn->count;
    MOT_TRY(mot_fail_in(error, mot_check_array("count", plane.count, mot_times(mot_times(size, most), alike), error),
                        "planes of image %zu: ", i));
    const uintptr_t src = (uintptr_t)plane.src, dst = (uintptr_t)plane.dst;
    MOT_REQUIRE(dst + plane.count * size * (size_t)width * (size_t)height <= src ||
                    src + plane.count * size * (size_t)w * (size_t)h <= dst,
                error, "planes of image %zu: dst overlaps src", i);
    return MOTLEY_OK;
}

motley_status mot_planes_begin(const motley_drawn *drawn, const motley_planes *planes, mot_planes_call *call,
                               mot_kept *traces, motley_error *error)
{
    *call = (mot_planes_call){ .drawn = drawn, .planes = planes, .most = drawn->max_steps + MOT_TRACE_PLACES };
    MOT_TRY(mot_drawn_check(drawn, NULL, planes, "planes", error));
    const size_t steps = mot_times(drawn->count, call->most);
    MOT_TRY(mot_keep(traces, mot_plus(mot_times(steps, sizeof *call->steps), drawn->count * sizeof *call->counts),
                     drawn->count, error));
    call->steps = traces->memory;
    call->counts = (int *)(void *)(call->steps + steps);
    for (size_t i = 0; i < drawn->count; i++) {
        MOT_TRY(check_plane(call, i, error));
        MOT_TRY(trace_of(call, i, &call->steps[i * call->most], &call->counts[i], error));
        const size_t tables = mot_cpu_trace_tables(&call->steps[i * call->most], call->counts[i]) * sizeof(int32_t);
        call->scratch_bytes = tables > call->scratch_bytes ? tables : call->scratch_bytes;
    }
    return MOTLEY_OK;
}

void mot_planes_image(void *opaque, size_t image, const mot_cpu_rows *rows, void *scratch)
{
    const mot_planes_call *const call = opaque;
    const motley_plane plane = plane_of(call->planes, call->drawn, image);
    mot_planes p = { .src = plane.src,
                     .dst = plane.dst,
                     .count = plane.count,
                     .size = call->planes->element_size,
                     .src_width = call->drawn->widths[image],
                     .src_height = call->drawn->heights[image],
                     .fill = call->planes->fill };
    result_size(call->drawn, image, &p.width, &p.height);
    if (p.count > 0)
        rows->trace(&p, &call->steps[image * call->most], call->counts[image], scratch);
}
