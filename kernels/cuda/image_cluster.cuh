/* SPDX-License-Identifier: Apache-2.0 */
/* The route `cluster`: a cluster of CTAs holds an image, each CTA a slab: some rows of the whole width.
 *
 * Whatever does not move pixels is done to the slab as in image_resident.cuh. A warp gathers from device memory, where
 * the image is still unchanged, and leaves its result in shared memory; it is written back after all CTAs have read.
 * Gathering from the other CTAs' shared memory would be ten times slower, and a box of everything that a slab may read
 * would be too large. */
#ifndef MOT_IMAGE_CLUSTER_CUH
#define MOT_IMAGE_CLUSTER_CUH

#include "kernels/cuda/image_resident.cuh"
#include "kernels/cuda/memory.cuh"

#ifdef MOT_CLUSTERS

/* Rows of each CTA, except perhaps the last. */
DEVICE int slab_rows(int height)
{
    return (height + group_size() - 1) / group_size();
}

/* What a CTA knows about its slab; equal in all threads. */
struct slab_state {
    int first, rows;     /* of the image's rows */
    chain_state chain;   /* what is still to be done to the slab, or to the result of the spatial op */
    int spatial, before; /* deferred steps, -1: none; `before` is the first of two warps */
    int first_items;     /* items of the chain that come before the warp */
    bool here, dirty;    /* the slab is in shared memory; it differs from the image in memory */
    bool loaded;         /* the bands' barriers have been used */
    bool others;         /* this CTA has read other CTAs' rows since group_sync() */
    bool flushed;        /* the image has been written to */
};

/* The rows from `first` on, as an image. */
template <int FORMAT> DEVICE mot_view rows_of(const mot_view &image, int first, int rows)
{
    mot_view v = image;
    v.data += first * v.row;
    v.height = rows;
    return v;
}

/* Starts to load `rows` rows, which later loops treat as the image. */
template <int FORMAT> DEVICE void load_rows(slab_state &s, int first, int rows)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        cta().height = rows;
        cta().phase ^= s.loaded;
        cta().all_here = false;
    }
    bulk_fence();
    __syncthreads();
    load_bands<FORMAT>(rows_of<FORMAT>(cta().src, first, rows), 0, MOT_BANDS);
    const int bands = bands_of(cta().width / 4 * rows), made = bands_of(cta().width / 4 * (s.rows + 2));
    MOT_FOR_BANDS(band)
    {
        if (band >= bands && band < made) /* not loaded: their barriers must reach the same phase as the others */
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&cta().band[band]))
                         : "memory");
    }
    s.loaded = true;
}

template <int FORMAT> static __device__ __noinline__ void bring(slab_state &s)
{
    if (!s.here)
        load_rows<FORMAT>(s, s.first, s.rows);
    s.here = true;
}

/* Call before writing rows that other CTAs may still read. */
DEVICE void let_others_read(slab_state &s)
{
    if (s.others)
        group_sync();
    s.others = false;
}

/* ---- warps ---- */

/* The position that output (x, y) reads. False: it lies outside the image. */
DEVICE bool reads(const fixed_warp &f, int width, int height, uint32_t x, uint32_t y, uint32_t *in_x, uint32_t *in_y)
{
    *in_x = (uint32_t)((int32_t)(f.x_of_0 + x * f.x_of_x + y * f.x_of_y) >> 16);
    *in_y = (uint32_t)((int32_t)(f.y_of_0 + x * f.y_of_x + y * f.y_of_y) >> 16);
    return (*in_x < (uint32_t)width) & (*in_y < (uint32_t)height);
}

/* Where pixel `i` of the four from (x, y) on reads, in bytes of the image's first plane: for one warp, or, with TWICE,
 * for two, of which `before` is the first (the nearest pixel of a nearest pixel is a pixel of the image). Sets bits of
 * `holes` for pixels that read outside the image: 0 to 3 in the warp, 4 to 7 in the one before it. There are no
 * branches, so that all loads are in flight together. */
template <int FORMAT, bool TWICE>
DEVICE uint32_t place_read(int i, int width, int height, const fixed_warp &warp, const fixed_warp &before, int x, int y,
                           uint32_t *holes)
{
    uint32_t in_x, in_y;
    bool inside = reads(warp, width, height, x + i, y, &in_x, &in_y);
    *holes |= inside ? 0 : 1u << i;
    if (TWICE) {
        const bool still = reads(before, width, height, in_x, in_y, &in_x, &in_y);
        *holes |= still ? 0 : 16u << i;
        inside &= still;
    }
    return inside ? (in_y * width + in_x) * pixel_bytes(FORMAT) : 0;
}

/* Reads four pixels from (x, y) on from the image in device memory; returns the holes. */
template <int FORMAT, bool TWICE>
DEVICE uint32_t gather_far(const uint8_t *image, int64_t plane, int width, int height, const fixed_warp &warp,
                           const fixed_warp &before, int x, int y, uint32_t px[4])
{
    uint32_t holes = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t at = place_read<FORMAT, TWICE>(i, width, height, warp, before, x, y, &holes);
        if (FORMAT == MOT_FORMAT_RGB) { /* nothing past the last word */
            const uint8_t *const word = image + (at & ~3u);
            px[i] = __funnelshift_r(load_word(word), load_word(word + ((at & 3) > 1 ? 4 : 0)), at * 8);
        } else if (FORMAT == MOT_FORMAT_PLANES) {
            const uint8_t *const first = image + at;
            px[i] = load_byte(first) | load_byte(first + plane) << 8 | load_byte(first + 2 * plane) << 16;
        } else {
            px[i] = load_byte(image + at);
        }
    }
    return holes;
}

template <bool TWICE>
DEVICE void fill_holes(uint32_t holes, const fixed_warp &warp, const fixed_warp &before, uint32_t px[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (TWICE)
            px[i] = holes & 16u << i ? before.fill : px[i];
        px[i] = holes & 1u << i ? warp.fill : px[i];
    }
}

/* Runs one warp, or two, from the image to the slab in shared memory, with the chain. 32 threads take 32 quads in a row
 * where the warp keeps rows as rows, else blocks of 8 quads in 4 rows or 4 in 8, so that they read few cache lines. */
template <int FORMAT, bool TWICE>
static __device__ __noinline__ void gather_slab(int first_row, int image_height, int items, int at, int before,
                                                int first_items)
{
    const int lane = threadIdx.x & 31, width = cta().width, rows = cta().height, across = width / 4,
              quads = across * rows;
    const int down_by_x = abs((int32_t)cta().plans[at].fixed[3]); /* in 2^-16 */
    const bool blocks = down_by_x != 0 && (rows & 7) == 0;
    const int wide = down_by_x < 32768 && (width & 31) == 0 ? 3 : 2, blocks_across = across >> wide;
    const uint8_t *const image = cta().src.data;
    const int64_t plane = cta().src.channel;
    fixed_warp warp = fixed_warp_of(at);
    warp.x_of_0 += first_row * warp.x_of_y;
    warp.y_of_0 += first_row * warp.y_of_y;
    const fixed_warp first_warp = TWICE ? fixed_warp_of(before) : fixed_warp{};
    for (int first = threadIdx.x & ~31; first < quads; first += blockDim.x) {
        int y = (first + lane) / across, column = first + lane - y * across;
        if (blocks) {
            const int down = first / 32 / blocks_across;
            y = (down << (5 - wide)) + (lane >> wide);
            column = ((first / 32 - down * blocks_across) << wide) + (lane & ((1 << wide) - 1));
        }
        if (y >= rows)
            continue;
        uint32_t px[4], words[3];
        const uint32_t holes =
            gather_far<FORMAT, TWICE>(image, plane, width, image_height, warp, first_warp, 4 * column, y, px);
        for (int k = 0;; k++) {
            if (k == first_items)
                fill_holes<TWICE>(holes, warp, first_warp, px);
            if (k == items)
                break;
            apply_item<FORMAT>(cta().work, k, 3, 4 * column, y, px);
        }
        pack<FORMAT>(px, words);
#pragma unroll
        for (int i = 0; i < MOT_WORDS(FORMAT); i++)
            *quad_word<FORMAT>(quads, y * across + column, i) = words[i];
    }
}

/* ---- the stencil ---- */

/* The slab is in shared memory with the row above it, if there is one, and the row below it. */
template <int FORMAT, int SINK>
static __device__ __noinline__ void stencil_slab(int first_row, int rows, int image_height, int items, int at)
{
    const int lane = threadIdx.x & 31, width = cta().width, held = cta().height, across = width / 4,
              quads = across * rows;
    const int above = first_row > 0;
    const mot_step &step = cta().step[at];
    const chain_form form = form_of(items);
    uint32_t *const stage = stages() + (threadIdx.x / 32) * (MOT_STAGE_BYTES / 4);
    for (int first = threadIdx.x & ~31; first < quads; first += blockDim.x) {
        const int q = first + lane, y = q / across, column = q - y * across, row = first_row + y;
        const int at_byte = lane < 24 ? 12 * first + 16 * lane : MOT_NOWHERE;
        uint32_t words[3] = { 0, 0, 0 };
        if (q < quads) {
            if (row == 0 || row == image_height - 1)
#pragma unroll
                for (int i = 0; i < MOT_WORDS(FORMAT); i++)
                    words[i] = *quad_word<FORMAT>(across * held, q + above * across, i);
            else
                stencil_quad_words<FORMAT>(width, held, step.op, &step.arg, column, y + above, words);
        }
        chain_words<FORMAT>(form, items, 4 * column, y, words);
        if (SINK == TO_IMAGE) {
            write_quads<FORMAT>(cta().to, cta().to_plane, q, quads, at_byte, words, stage);
        } else {
            write_output<FORMAT>(q, quads, at_byte, 4 * column, y, words, stage);
        }
    }
}

/* ---- a pass ---- */

/* Applies the chain to the slab in place. */
template <int FORMAT> static __device__ __noinline__ void flush_chain(slab_state &s)
{
    if (s.chain.items > 0) {
        bring<FORMAT>(s);
        __syncthreads();
        walk<FORMAT, QUAD_ITSELF, TO_BOX, true>(s.chain.items, 0, 0, 0);
        loop_ended();
        s.chain = chain_state{};
        s.dirty = true;
    }
}

/* Runs the deferred warp. */
template <int FORMAT> static __device__ __noinline__ void do_warp(slab_state &s, int image_height)
{
    if (s.loaded) { /* other threads may still be reading the slab, or loading it */
        arriving a = arriving_of(cta().width / 4 * cta().height);
        wait_quads(a, INT_MAX);
    }
    __syncthreads();
    if (s.before >= 0)
        gather_slab<FORMAT, true>(s.first, image_height, s.chain.items, s.spatial, s.before, s.first_items);
    else
        gather_slab<FORMAT, false>(s.first, image_height, s.chain.items, s.spatial, 0, s.first_items);
    loop_ended();
    s.chain = chain_state{};
    s.spatial = s.before = -1;
    s.first_items = 0;
    s.here = s.dirty = s.others = true;
}

/* Writes the slab from shared memory to the image by bulk copies: the last thing that is done to it. */
template <int FORMAT> static __device__ __noinline__ void store_slab(slab_state &s)
{
    let_others_read(s);
    bulk_fence();
    __syncthreads();
    if (threadIdx.x < planes_of(FORMAT)) {
        const int bytes = cta().width * s.rows * pixel_bytes(FORMAT);
        uint8_t *const to =
            cta().work_view.data + s.first * cta().work_view.row + threadIdx.x * cta().work_view.channel;
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
                     "r"(shared_address(box_memory() + threadIdx.x * bytes)), "r"(bytes)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        box_stored(false);
    }
}

/* After the whole slab was written: from here on every CTA reads the image from `work`. */
DEVICE void read_from_work(slab_state &s)
{
    image_fence();
    group_sync();
    if (threadIdx.x == 0) {
        cta().src = cta().work_view;
        cta().height = s.rows;
    }
    __syncthreads();
    s.dirty = s.others = false;
    s.flushed = true;
}

/* Flushes the slab: writes the result of the steps so far to memory, so that a spatial op can read it. (With another
 * name of this function, or of bring(), ptxas allocates other registers: renaming them needs a measurement.) */
template <int FORMAT> static __device__ __noinline__ void spill(slab_state &s, int image_height)
{
    if (s.spatial >= 0)
        do_warp<FORMAT>(s, image_height);
    if (!s.dirty && s.chain.items == 0)
        return;
    bring<FORMAT>(s);
    __syncthreads();
    let_others_read(s);
    walk<FORMAT, QUAD_ITSELF, TO_IMAGE, true>(s.chain.items, 0, 0, 0);
    s.here = s.chain.items == 0;
    s.chain = chain_state{};
    read_from_work(s);
}

/* Runs the deferred stencil and the chain after it, into the image's destination. */
template <int FORMAT, int SINK>
static __device__ __noinline__ void do_stencil(slab_state &s, int image_height, bool last)
{
    const int above = s.first > 0, below = s.first + s.rows < image_height;
    load_rows<FORMAT>(s, s.first - above, s.rows + above + below);
    arriving a = arriving_of(cta().width / 4 * cta().height);
    wait_quads(a, INT_MAX);
    group_sync();
    stencil_slab<FORMAT, SINK>(s.first, s.rows, image_height, s.chain.items, s.spatial);
    s.chain = chain_state{};
    s.spatial = -1;
    s.here = false;
    if (!last)
        read_from_work(s);
}

/* Statistics of the whole image, into cta().stats. */
template <int FORMAT> static __device__ __noinline__ void find_group_stats(int needs, int pixels)
{
    count_image<FORMAT, true>(needs);
    if (threadIdx.x == 0)
        cta().sum = cta().total_sum;
    count_group(needs);
    finish_stats(needs, pixels, totals());
}

/* Whether the deferred op is the stencil. */
DEVICE bool is_stencil(const slab_state &s)
{
    return s.spatial >= 0 && mot_shape_of(cta().step[s.spatial].op) == MOTLEY_SHAPE_STENCIL;
}

/* Runs all steps of a sample. cta().height is still the image's. */
template <int FORMAT, bool OUTPUT> static __device__ __noinline__ void run_slab()
{
    const int height = cta().height, steps = cta().steps;
    slab_state s = {};
    s.first = group_rank() * slab_rows(height);
    s.rows = min(slab_rows(height), height - s.first);
    s.spatial = s.before = -1;
    __syncthreads();
    if (threadIdx.x == 0) {
        cta().height = s.rows;
        cta().all_here = true; /* nothing is being loaded yet */
        cta().to = cta().work_view.data + s.first * cta().work_view.row;
        cta().to_plane = cta().work_view.channel;
        if (OUTPUT)
            cta().output.data += s.first * cta().output.row;
    }
    __syncthreads();
    for (int at = 0; at < steps; at++) {
        const mot_step &step = cta().step[at];
        const int shape = mot_shape_of(step.op);
        if (step.arg.flags & MOT_ARG_IDENTITY)
            continue;
        if (shape == MOTLEY_SHAPE_POINT) {
            chain_point(cta().work, s.chain, step.op, &step.arg);
        } else if (shape == MOTLEY_SHAPE_COLOR) {
            chain_append(cta().work, s.chain, CHAIN_COLOR, &step, mot_rect{ 0, 0, 0, 0 }, 0);
        } else if (shape == MOTLEY_SHAPE_ERASE) {
            mot_rect rect = mot_erase_rect(step.op, cta().width, height, &step.arg);
            rect.y0 -= s.first, rect.y1 -= s.first;
            chain_append(cta().work, s.chain, CHAIN_ERASE, &step, rect, fill_word(step));
        } else if (shape == MOTLEY_SHAPE_STATS) {
            if (is_stencil(s))
                do_stencil<FORMAT, TO_IMAGE>(s, height, false);
            else if (s.spatial >= 0)
                do_warp<FORMAT>(s, height);
            flush_chain<FORMAT>(s);
            bring<FORMAT>(s);
            find_group_stats<FORMAT>(needs_of(step.op), cta().width * height);
            chain_stats(cta().work, s.chain, step.op, cta().stats, FORMAT == MOT_FORMAT_GREY ? 1 : 3, &step.arg);
        } else { /* it reads the image in memory */
            const bool warp = shape == MOTLEY_SHAPE_WARP;
            const bool second =
                warp && s.spatial >= 0 && s.before < 0 && s.chain.items == s.first_items && !is_stencil(s);
            if (second) {
                s.before = s.spatial;
            } else {
                if (is_stencil(s))
                    do_stencil<FORMAT, TO_IMAGE>(s, height, false);
                else if (!warp || s.dirty || s.spatial >= 0 || s.chain.erases)
                    spill<FORMAT>(s, height);
                s.first_items = s.chain.items;
                s.chain.open = false;
            }
            s.spatial = at;
        }
    }
    if (OUTPUT && s.flushed) /* the output may overlap rows that other CTAs still read */
        s.others = true;
    if (is_stencil(s)) {
        do_stencil<FORMAT, OUTPUT ? TO_OUTPUT : TO_IMAGE>(s, height, true);
        return;
    }
    if (s.spatial >= 0)
        do_warp<FORMAT>(s, height);
    if (!OUTPUT && s.dirty && s.chain.items == 0) {
        store_slab<FORMAT>(s);
        return;
    }
    bring<FORMAT>(s);
    __syncthreads();
    if (s.others && !s.dirty) { /* the slab is still being loaded */
        arriving a = arriving_of(cta().width / 4 * cta().height);
        wait_quads(a, INT_MAX);
    }
    let_others_read(s);
    walk<FORMAT, QUAD_ITSELF, OUTPUT ? TO_OUTPUT : TO_IMAGE, true>(s.chain.items, 0, 0, 0);
}

#endif
#endif
