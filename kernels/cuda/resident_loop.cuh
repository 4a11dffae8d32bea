/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over the quads of an image: from a source, through the chain, to a sink. */
#ifndef MOT_RESIDENT_LOOP_CUH
#define MOT_RESIDENT_LOOP_CUH

#include "kernels/cuda/interpolate.cuh"
#include "kernels/cuda/resident_load.cuh"
#include "kernels/cuda/resident_output.cuh"

/* The source of the loop over quads. */
enum quad_source { QUAD_ITSELF, QUAD_GATHERED, QUAD_GATHERED_TRANSPOSING, QUAD_GATHERED_TWICE, QUAD_INTERPOLATED };

/* Whether all rows begin in the same bank, and the image can be cut into blocks of 8 quads in 4 rows. A transposing
 * warp is then done in these, instead of 32 quads in a row. */
template <int FORMAT> DEVICE bool needs_blocks(int width, int height)
{
    return (width * pixel_bytes(FORMAT) & 127) == 0 && (height & 3) == 0;
}

/* The last row that the warp reads for output rows `first` to `last`. */
DEVICE int last_row_read(const mot_warp_plan &plan, int first, int last)
{
    const int right = max((int32_t)(plan.fixed[3] * (plan.width - 1)), 0);
    const int below = max((int32_t)(plan.fixed[4] * first), (int32_t)(plan.fixed[4] * last));
    return min(max(((int32_t)plan.fixed[5] + right + below) >> 16, 0), plan.height - 1);
}

/* The last row that an interpolating warp may read for them. */
DEVICE int last_row_interpolated(const mot_warp_plan &plan, int first, int last)
{
    const double right = fmax(plan.m[3] * plan.width, 0.0), below = fmax(plan.m[4] * first, plan.m[4] * (last + 1));
    return min((int)fmin(fmax(plan.m[5] + right + below, 0.0), (double)plan.height) + 3, plan.height - 1);
}

/* The whole image in shared memory. */
template <int FORMAT> DEVICE resident_image image_of_cta()
{
    const int width = resident_cta().width, pitch = width * pixel_bytes(FORMAT);
    return resident_image{ image_memory(), width, pitch, pitch * resident_cta().height };
}

/* The words of two neighbouring quads, from the first one on; channel by channel in planes, which lie `plane` pairs of
 * words apart. */
template <int FORMAT> DEVICE void load_pair(const uint2 *at, int plane, uint32_t w[6])
{
#pragma unroll
    for (int i = 0; i < MOT_WORDS(FORMAT); i++) {
        const uint2 v = at[FORMAT == MOT_FORMAT_RGB ? i : i * plane];
        w[2 * i] = v.x, w[2 * i + 1] = v.y;
    }
}

/* The loop over an image that changes by one table at most, two quads a thread. All lanes look up the same channel at
 * the same time: in one table, neighbours' values are close together, and in three they would conflict in the banks.
 * RGB goes back to shared memory, from where each lane writes other words than those that it made. */
template <int FORMAT, int SINK> DEVICE void walk_pairs(chain_form form)
{
    const bool rgb = FORMAT == MOT_FORMAT_RGB;
    const int lane = threadIdx.x & 31, quads = resident_cta().width / 4 * resident_cta().height;
    const int plane = planes_of(FORMAT) == 3 ? quads / 2 : 0; /* in pairs of words */
    uint2 *const pixels = (uint2 *)image_memory();
    uint8_t *const to = resident_cta().work_view.data;
    const int64_t to_plane = resident_cta().work_view.channel;
    arriving a = arriving_of(quads);
    for (int first = (threadIdx.x / 32) * MOT_STRIP; first < quads; first += blockDim.x * (MOT_STRIP / 32)) {
        wait_quads(a, first + MOT_STRIP);
        const int pair = first / 2 + lane;
        if (form == CHAIN_ONE_TABLE && 2 * pair < quads) {
            uint2 *const at = pixels + (rgb ? 3 * pair : pair);
            uint32_t w[6];
            load_pair<FORMAT>(at, plane, w);
#pragma unroll
            for (int i = 0; i < 2 * MOT_WORDS(FORMAT); i++)
                w[i] = rgb ? look_up_word(resident_cta().work.table[0], w[i], i, 3)
                           : look_up_word(resident_cta().work.table[0] + i / 2, w[i], 0, 1);
#pragma unroll
            for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                at[rgb ? i : i * plane] = make_uint2(w[2 * i], w[2 * i + 1]);
        }
        if (SINK == TO_SHARED)
            continue;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < MOT_WORDS(FORMAT); i++) {
            const int at = rgb ? 3 * first / 2 + 32 * i + lane : pair;
            if (at < quads / 2 * (rgb ? 3 : 1))
                *(uint2 *)(to + (rgb ? 0 : i * to_plane) + 8 * at) = pixels[at + (rgb ? 0 : i * plane)];
        }
    }
}

/* The same to an output in planes by lines: for each channel, a lane writes eight components side by side. */
template <int FORMAT> DEVICE void walk_pairs_to_lines(chain_form form)
{
    const bool rgb = FORMAT == MOT_FORMAT_RGB;
    const int lane = threadIdx.x & 31, quads = resident_cta().width / 4 * resident_cta().height;
    const int plane = planes_of(FORMAT) == 3 ? quads / 2 : 0; /* in pairs of words */
    const uint2 *const pixels = (const uint2 *)image_memory();
    const int dtype = resident_cta().output_dtype;
    arriving a = arriving_of(quads);
    for (int first = (threadIdx.x / 32) * MOT_STRIP; first < quads; first += blockDim.x * (MOT_STRIP / 32)) {
        wait_quads(a, first + MOT_STRIP);
        const int pair = first / 2 + lane;
        if (2 * pair >= quads)
            continue;
        const uint2 *const at = pixels + (rgb ? 3 * pair : pair);
        uint8_t *to = resident_cta().output.data + 16 * (int64_t)pair;
        uint32_t w[6];
        load_pair<FORMAT>(at, plane, w);
#pragma unroll
        for (int c = 0; c < (FORMAT == MOT_FORMAT_GREY ? 1 : 3); c++, to += resident_cta().output.channel) {
            float v[8];
            uint32_t out[4];
            make_line<FORMAT, 8, false>(form == CHAIN_ONE_TABLE, c, w, v);
            round_pairs<8>(dtype, v, out);
            store_four_words(to, make_uint4(out[0], out[1], out[2], out[3]));
        }
    }
}

/* Number of quads that must be loaded before the strip of MOT_STRIP quads from `first` on can run: everything that the
 * warp reads, and everything that the strip's output overwrites. */
template <int SOURCE>
DEVICE int quads_read_by(const mot_warp_plan &plan, int first, int across, uint32_t rows_per_quad, bool blocks,
                         uint32_t block_rows_per_block)
{
    const int end = first + MOT_STRIP;
    int top = __umulhi(first, rows_per_quad), bottom = __umulhi(end - 1, rows_per_quad);
    if (blocks)
        top = 4 * __umulhi(first / 32, block_rows_per_block),
        bottom = 4 * __umulhi((end - 1) / 32, block_rows_per_block) + 3;
    if constexpr (SOURCE == QUAD_GATHERED || SOURCE == QUAD_GATHERED_TRANSPOSING)
        return (max(last_row_read(plan, top, bottom), bottom) + 1) * across;
    if constexpr (SOURCE == QUAD_INTERPOLATED)
        return (max(last_row_interpolated(plan, top, bottom), bottom) + 1) * across;
    return SOURCE == QUAD_GATHERED_TWICE ? INT_MAX : end;
}

/* A lane's quad, its row and the byte that the lane writes from, where the loop takes blocks. */
DEVICE void place_in_block(int begin, int width, int across, int quads, uint32_t block_rows_per_block, int at_lane,
                           int &q, int &y, int &at_byte)
{
    const int lane = threadIdx.x & 31, block = begin / 32, down = __umulhi(block, block_rows_per_block);
    const int right = block - down * (across / 8);
    y = 4 * down + lane / 8;
    q = y * across + 8 * right + lane % 8;
    at_byte = begin < quads ? 12 * down * width + 96 * right + at_lane : MOT_NOWHERE;
}

/* The loop over an image's quads: SOURCE, the chain, SINK. Step `at` is the spatial op, if any, and the last one if
 * there are two. The chain's first items come before a warp: they apply to what it reads, and not to what it fills. */
template <int FORMAT, int SOURCE, int SINK>
static __device__ __noinline__ void walk(int items, int at, int before, int first_items)
{
    constexpr bool transposing = SOURCE == QUAD_GATHERED_TRANSPOSING;
    constexpr bool gathers = SOURCE == QUAD_GATHERED || SOURCE == QUAD_GATHERED_TWICE || transposing;
    const int lane = threadIdx.x & 31, width = resident_cta().width, height = resident_cta().height, across = width / 4,
              quads = across * height;
    const bool blocks = transposing && needs_blocks<FORMAT>(width, height);
    const uint32_t rows_per_quad = 0xFFFFFFFFu / across + 1; /* in 2^-32: exact below 2^32 quads x columns */
    const chain_form form = first_items > 0 ? CHAIN_ANY : form_of(items);
    if constexpr (SOURCE == QUAD_ITSELF && SINK <= TO_IMAGE)
        if (form != CHAIN_ANY)
            return walk_pairs<FORMAT, SINK>(form);
    if constexpr (SOURCE == QUAD_ITSELF && SINK == TO_LINE_PLANES)
        if (form != CHAIN_ANY)
            return walk_pairs_to_lines<FORMAT>(form);
    const mot_step &step = resident_cta().step[at];
    const mot_warp_plan &plan = resident_cta().plans[at];
    const fixed_warp last_warp = gathers ? fixed_warp_of(at) : fixed_warp{};
    const resident_warp from = resident_warp_of<FORMAT>(last_warp, width, height);
    const fixed_warp first_warp = SOURCE == QUAD_GATHERED_TWICE ? fixed_warp_of(before) : fixed_warp{};
    uint8_t *const to = resident_cta().work_view.data;
    uint32_t *const stage = stages() + (threadIdx.x / 32) * (MOT_STAGE_BYTES / 4);
    const uint32_t block_rows_per_block = blocks ? 0xFFFFFFFFu / (across / 8) + 1 : 0; /* in 2^-32 as well */
    const int at_lane = lane >= 24 ? MOT_NOWHERE : blocks ? (lane / 6) * 3 * width + 16 * (lane % 6) : 16 * lane;
    arriving a = arriving_of(quads);
    for (int first = (threadIdx.x / 32) * MOT_STRIP; first < quads; first += blockDim.x * (MOT_STRIP / 32)) {
        if (a.next < INT_MAX)
            wait_quads(a, quads_read_by<SOURCE>(plan, first, across, rows_per_quad, blocks, block_rows_per_block));
#pragma unroll 1
        for (int part = 0; part < MOT_STRIP; part += 32) {
            const int begin = first + part;
            int q = begin + lane, y = __umulhi(q, rows_per_quad), at_byte = 12 * begin + at_lane;
            if (blocks)
                place_in_block(begin, width, across, quads, block_rows_per_block, at_lane, q, y, at_byte);
            const int column = q - y * across;
            uint32_t words[3] = { 0, 0, 0 };
            if constexpr (gathers) {
                gathered g;
                gather_quad<FORMAT, SOURCE == QUAD_GATHERED_TWICE, transposing>(from, first_warp, width * height, q, y,
                                                                                g);
                if (form != CHAIN_ANY)
                    fill_outside(g);
                for (int k = 0; form == CHAIN_ANY; k++) {
                    if (k == first_items)
                        fill_outside(g);
                    if (k == items)
                        break;
                    apply_item<FORMAT>(resident_cta().work, k, 3, 4 * column, y, g.px);
                }
                if constexpr (is_lines(SINK)) {
                    write_lines<FORMAT, SINK, true>(form == CHAIN_ONE_TABLE, q, quads, at_byte, g.px, stage);
                    continue;
                }
                pack_words<FORMAT>(g.px, words);
            } else if constexpr (SOURCE == QUAD_INTERPOLATED) {
                uint32_t px[4] = { 0, 0, 0, 0 };
                const resident_image all = image_of_cta<FORMAT>();
                if (q < quads)
                    interpolate_quad(plan, resident_taps<FORMAT>{ all }, colors_of<FORMAT>(3), fill_word(step),
                                     4 * column, y, px);
                pack_words<FORMAT>(px, words);
            } else if (q < quads) {
                load_quad<FORMAT>(quads, q, words);
            }
            if constexpr (is_lines(SINK)) {
                chain_to_lines<FORMAT, SINK>(form, items, q, quads, at_byte, 4 * column, y, words, stage);
                continue;
            }
            chain_words<FORMAT>(gathers && form == CHAIN_ANY ? CHAIN_NONE : form, items, 4 * column, y, words);
            if constexpr (SINK == TO_IMAGE) {
                write_quads<FORMAT>(to, resident_cta().work_view.channel, q, quads, at_byte, words, stage);
            } else if constexpr (SINK == TO_OUTPUT) {
                write_output<FORMAT>(q, quads, 4 * column, y, words, stage);
            } else if (q < quads) {
                store_quad<FORMAT>(quads, q, words);
            }
        }
    }
}

#endif
