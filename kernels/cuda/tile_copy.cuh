/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a light program: from memory to memory, through a table or unchanged, without a tile. */
#ifndef MOT_TILE_COPY_CUH
#define MOT_TILE_COPY_CUH

#include "kernels/cuda/tile_store.cuh"

/* 16 bytes at any address. The aligned words around them must be readable. */
DEVICE uint4 load_sixteen(const uint8_t *p)
{
    const uint32_t skip = (uint32_t)(uintptr_t)p & 3;
    if (((uintptr_t)p & 15) == 0)
        return load_four_words(p);
    const uint8_t *const word = p - skip;
    uint32_t v[5];
#pragma unroll
    for (int i = 0; i < 5; i++)
        v[i] = load_word(word + (i < 4 ? 4 * i : skip ? 16 : 12));
    return make_uint4(__funnelshift_r(v[0], v[1], 8 * skip), __funnelshift_r(v[1], v[2], 8 * skip),
                      __funnelshift_r(v[2], v[3], 8 * skip), __funnelshift_r(v[3], v[4], 8 * skip));
}

/* 16 bytes of an image through its channels' tables, or of a plane through one; `at` is the first byte's position. */
template <int FORMAT> DEVICE uint4 look_up_sixteen(uint4 v, int at, const uint8_t (*tables)[256])
{
    if (format_bytes(FORMAT) == 3) {
        const int k = at - 3 * (int)__umulhi(at, 0x55555556u); /* the first byte's channel */
        const uint8_t *const a = tables[k], *const b = tables[k == 2 ? 0 : k + 1],
                             *const c = tables[k == 0 ? 2 : k - 1];
        return make_uint4(look_up_bytes(v.x, a, b, c, a), look_up_bytes(v.y, b, c, a, b),
                          look_up_bytes(v.z, c, a, b, c), look_up_bytes(v.w, a, b, c, a));
    }
    if (format_bytes(FORMAT) == 1) {
        const uint8_t *const t = tables[0];
        return make_uint4(look_up_bytes(v.x, t, t, t, t), look_up_bytes(v.y, t, t, t, t),
                          look_up_bytes(v.z, t, t, t, t), look_up_bytes(v.w, t, t, t, t));
    }
    const int k = at & 3; /* the first byte's channel; alpha goes through any table, and is put back */
    const uint32_t alpha = 0xFF000000u >> (8 * k);
    const uint8_t *const a = tables[min(k, 2)], *const b = tables[min((k + 1) & 3, 2)],
                         *const c = tables[min((k + 2) & 3, 2)], *const d = tables[min((k + 3) & 3, 2)];
    return make_uint4((look_up_bytes(v.x, a, b, c, d) & ~alpha) | (v.x & alpha),
                      (look_up_bytes(v.y, a, b, c, d) & ~alpha) | (v.y & alpha),
                      (look_up_bytes(v.z, a, b, c, d) & ~alpha) | (v.z & alpha),
                      (look_up_bytes(v.w, a, b, c, d) & ~alpha) | (v.w & alpha));
}

/* Copies the tile's pixels from `current` to the result, which has the same format, through a table or unchanged. */
template <int FORMAT> OUTLINE void store_directly(int table)
{
    const tile_state &s = tile_cta();
    const int size = format_bytes(FORMAT), planes = FORMAT == MOT_FORMAT_PLANES ? 3 : 1;
    const mot_view &from = s.current, &to = s.image.result;
    const bool dense = from.row == to.row;
    tile_runs t = runs_in<FORMAT>(to);
    if (!dense)
        t.runs = s.rows, t.pixels = s.columns;
    const int bytes = size * t.pixels;
    const uint8_t *source = from.data + s.y0 * from.row + s.x0 * size;
    const uint8_t(*const tables)[256] = table_of(table == MOT_NONE ? 0 : table);
    for (int z = 0; z < planes; z++, source += from.channel, t.data += to.channel) {
        auto byte_at = [&](int run, int at) {
            const uint32_t v = load_byte(source + (run * (uint32_t)from.row + at));
            const int c = size == 1 ? z : at % size;
            store_byte(t.data + (run * (uint32_t)t.row + at), table == MOT_NONE || c == 3 ? v : tables[c][v]);
        };
        auto through = [&](uint4 v, int at) { /* 16 bytes of a run, from byte `at` on */
                                              return table == MOT_NONE
                                                         ? v
                                                         : look_up_sixteen<FORMAT>(v, at, tables + (size == 1 ? z : 0));
        };
        for_odd_bytes(t, bytes, byte_at);
        const bool alike = dense && aligned((const void *)(source - t.data), 16);
        if (alike && t.runs == 1) {
            const int head = bytes_to_aligned(t.data, bytes), pieces = (bytes - head) >> 4;
#pragma unroll 1
            for (int i = threadIdx.x; i < pieces; i += 2 * MOT_TILE_THREADS) {
                uint4 v[2];
#pragma unroll
                for (int k = 0; k < 2; k++)
                    v[k] = load_four_words(source + (head + 16 * min(i + k * MOT_TILE_THREADS, pieces - 1)));
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    const int at = head + 16 * (i + k * MOT_TILE_THREADS);
                    if (i + k * MOT_TILE_THREADS < pieces)
                        store_four_words(t.data + at, through(v[k], at));
                }
            }
            continue;
        }
        if (alike) { /* rows: as many loads under way, but twice the instructions around them */
            const int most = bytes >> 4, n = most * t.runs;
            const uint32_t by_most = inverse_of(max(most, 1));
#pragma unroll 1
            for (int i = threadIdx.x; i < n; i += 2 * MOT_TILE_THREADS) {
                uint32_t begin[2];
                int at[2];
                uint4 v[2];
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    const int own = i + k * MOT_TILE_THREADS, run = divided(own, by_most);
                    begin[k] = run * (uint32_t)t.row;
                    at[k] = bytes_to_aligned(t.data + begin[k], bytes) + 16 * (own - run * most);
                    at[k] = own < n ? at[k] : bytes;
                    v[k] = at[k] + 16 <= bytes ? load_four_words(source + (begin[k] + at[k])) : make_uint4(0, 0, 0, 0);
                }
#pragma unroll
                for (int k = 0; k < 2; k++)
                    if (at[k] + 16 <= bytes)
                        store_four_words(t.data + (begin[k] + at[k]), through(v[k], at[k]));
            }
            continue;
        }
        for_pieces(t, bytes, [&](int run, int at, bool) {
            const uint8_t *const p = source + (run * (uint32_t)from.row + at);
            if (((uintptr_t)p & 3) && at + 20 > bytes) { /* the last word may hold bytes past the image */
#pragma unroll 1
                for (int i = 0; i < 16; i++)
                    byte_at(run, at + i);
                return;
            }
            store_four_words(t.data + (run * (uint32_t)t.row + at), through(load_sixteen(p), at));
        });
    }
}

#endif
