/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the whole image in shared memory that change or count it in place: statistics and blurs. */
#ifndef MOT_RESIDENT_STATS_CUH
#define MOT_RESIDENT_STATS_CUH

#include "kernels/cuda/blur_runs.cuh"
#include "kernels/cuda/resident_load.cuh"
#include "kernels/cuda/resident_quads.cuh"
#include "kernels/cuda/stats.cuh"

/* ---- statistics ---- */

/* Calls body(words) for each of the thread's quads as they arrive, after the chain. */
template <int FORMAT, class BODY> DEVICE void for_words(chain_form form, BODY body)
{
    const int quads = resident_cta().width / 4 * resident_cta().height;
    arriving a = arriving_of(quads);
    for (int first = (threadIdx.x / 32) * MOT_STRIP; first < quads; first += blockDim.x * (MOT_STRIP / 32)) {
        wait_quads(a, first + MOT_STRIP);
#pragma unroll
        for (int part = 0; part < MOT_STRIP; part += 32) {
            const int q = first + part + (threadIdx.x & 31);
            uint32_t words[3];
            if (q >= quads)
                break;
            load_quad<FORMAT>(quads, q, words);
            if (form == CHAIN_ONE_TABLE)
                chain_words<FORMAT>(CHAIN_ONE_TABLE, 1, 0, 0, words);
            body(words);
        }
    }
}

/* A histogram is counted in as many copies, side by side, as there is room for, because neighbouring lanes' pixels are
 * often equal. */
DEVICE int copies_of_histogram()
{
    const int room = resident_cta().stage_bytes / MOT_HISTOGRAM_BYTES;
    return room >= 16 ? 16 : room >= 4 ? 4 : room >= 2 ? 2 : 1;
}

template <int FORMAT> static __device__ __noinline__ void count_histogram(chain_form form)
{
    const uint32_t copies = copies_of_histogram();
    uint32_t *const own_copy = stages() + (threadIdx.x & (copies - 1));
    for_words<FORMAT>(form, [&](const uint32_t word[3]) {
        uint32_t px[4];
        unpack_words<FORMAT>(word, px);
        count_values<FORMAT, 4>(own_copy, px, copies, 3);
    });
}

/* A range or a mean. */
template <int FORMAT, int NEEDS> static __device__ __noinline__ void count_totals(chain_form form)
{
    counted seen = nothing_counted();
    for_words<FORMAT>(form, [&](const uint32_t word[3]) {
        uint32_t px[4];
        unpack_words<FORMAT>(word, px);
        count_pixels<FORMAT, 4>(seen, px, NEEDS, 3);
    });
    add_counted(seen, NEEDS, resident_cta().counts[0]);
}

/* Makes resident_cta().stats of the image, after one table or as it is. */
template <int FORMAT> DEVICE void count_image(int needs, chain_form form)
{
    const int copies = copies_of_histogram(), c = threadIdx.x;
    const uint32_t pixels = (uint32_t)resident_cta().width * (uint32_t)resident_cta().height;
    uint32_t(*const counts)[256] = resident_cta().counts;
    if (threadIdx.x < 2 * MOT_TOTAL_HIGH)
        counts[0][threadIdx.x] = 0;
    if (needs == MOT_NEEDS_HISTOGRAM)
        for (int i = threadIdx.x; i < 3 * 256 * copies / 4; i += blockDim.x)
            ((uint4 *)stages())[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (needs == MOT_NEEDS_RANGE)
        count_totals<FORMAT, MOT_NEEDS_RANGE>(form);
    else if (needs == MOT_NEEDS_MEAN)
        count_totals<FORMAT, MOT_NEEDS_MEAN>(form);
    else
        count_histogram<FORMAT>(form);
    loop_ended();
    if (needs == MOT_NEEDS_HISTOGRAM) {
        MOT_ROLLED
        for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x) {
            uint32_t sum = 0;
#pragma unroll 4
            for (int copy = 0; copy < copies; copy++)
                sum += stages()[i * copies + ((copy + i) & (copies - 1))]; /* so that lanes read different banks */
            counts[i >> 8][i & 255] = sum;
        }
        __syncthreads();
        static_assert(MOT_LEAST_THREADS >= 3 * 32, "a warp for each channel");
        if (threadIdx.x / 32 < 3)
            finish_histogram(counts[threadIdx.x / 32], pixels, &resident_cta().stats[threadIdx.x / 32]);
    } else if (c < 3) {
        const uint32_t mean = needs == MOT_NEEDS_MEAN ? mot_stats_mean(*(unsigned long long *)counts, pixels) : 0;
        resident_cta().stats[c] =
            mot_stats{ pixels, 255 - counts[0][c], counts[0][MOT_TOTAL_HIGH + c], 0, mean, nullptr };
    }
    __syncthreads();
}

/* ---- blurs ---- */

/* The three box passes of a blur along the rows or columns of the image; a line is a row or column of one
 * channel. */
template <int FORMAT, bool COLUMNS, int RADIUS, int OP> static __device__ __noinline__ void blur_lines(int step)
{
    const mot_arg arg = resident_cta().step[step].arg;
    const int width = resident_cta().width, height = resident_cta().height, threads = blockDim.x;
    const int pixel = pixel_bytes(FORMAT), row = width * pixel, stride = COLUMNS ? row : pixel;
    const int length = COLUMNS ? height : width, lines = planes_of(FORMAT) * (COLUMNS ? row : height * pixel);
    /* Neighbouring threads have neighbouring columns, or four runs of a row, which begin in different banks: rows of
     * 224 pixels begin in four banks only. */
    const int at_once = min(lines, COLUMNS ? threads : threads / 4);
    /* Columns go whole to multiples of four warps, so that each scheduler has as many; what is left of them is cut. */
    const int whole = COLUMNS && threads < 2 * at_once ? at_once & ~127 : 0, rest = max(at_once - whole, 1);
    const int most = (threads - whole) / rest, i = threadIdx.x - whole;
    const blur_runs<RADIUS> all(length, i < 0 ? length : max((length + most - 1) / most, (int)blur_runs<RADIUS>::HALO));
    const int run = i < 0 ? 0 : COLUMNS ? i / rest : i % all.runs;
    const int own = i < 0 ? threadIdx.x : COLUMNS ? whole + i % rest : i / all.runs;
#pragma unroll 1
    for (int from = 0; from < lines; from += at_once) {
        /* threads without a run read as well, but nothing that others may be writing since the last turn */
        const int line = min(from + own, lines - 1), plane = planes_of(FORMAT) == 1 ? 0 : line / row;
        const int begin = COLUMNS ? line + plane * row * (height - 1) : line / pixel * row + line % pixel;
        all.template blur<OP>(image_memory() + begin, stride, run,
                              run < all.runs && own < at_once && from + own < lines, arg);
    }
    __syncthreads();
}

/* Blurs the image. */
template <int FORMAT> DEVICE void blur_image(int step)
{
    arriving a = arriving_of(resident_cta().width / 4 * resident_cta().height);
    wait_quads(a, INT_MAX);
    loop_ended();
    for_blur(resident_cta().step[step].op, &resident_cta().step[step].arg, [&]([[maybe_unused]] auto kind) {
        blur_lines<FORMAT, false, kind.RADIUS, kind.OP>(step);
        blur_lines<FORMAT, true, kind.RADIUS, kind.OP>(step);
    });
}

#endif
