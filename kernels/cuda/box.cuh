/* SPDX-License-Identifier: Apache-2.0 */
/* The box: a part of an image in shared memory, laid out as the image itself, so that it arrives in one piece. Rows are
 * a multiple of 16 bytes long. */
#ifndef MOT_BOX_CUH
#define MOT_BOX_CUH

#include "kernels/cuda/group.cuh"

struct box {
    uint8_t *data;
    int x0, y0, width, height; /* the part of the image; x0 and width are multiples of 16 pixels */
    int pitch, plane;          /* bytes from row to row, and from plane to plane */
};

/* Bytes of a pixel in a row, and the number of planes. STRIDED images lie as words. */
DEVICE int pixel_bytes(int format)
{
    return format == MOT_FORMAT_RGB ? 3 : format == MOT_FORMAT_RGBA || format == MOT_FORMAT_STRIDED ? 4 : 1;
}

DEVICE int planes_of(int format)
{
    return format == MOT_FORMAT_PLANES ? 3 : 1;
}

template <int FORMAT> DEVICE int box_bytes(int width, int height)
{
    return width * height * pixel_bytes(FORMAT) * planes_of(FORMAT);
}

template <int FORMAT> DEVICE void box_place(box &b, int x0, int y0, int width, int height)
{
    b.x0 = x0, b.y0 = y0, b.width = width, b.height = height;
    b.pitch = width * pixel_bytes(FORMAT);
    b.plane = b.pitch * height;
}

/* One pixel of the box. RGB reads the two words it may lie in: the box has four bytes to spare. */
template <int FORMAT> DEVICE uint32_t box_tap(const box &b, int x, int y)
{
    const int row = (y - b.y0) * b.pitch;
    if (FORMAT == MOT_FORMAT_RGB) {
        const int at = row + (x - b.x0) * 3;
        const uint32_t *const w = (const uint32_t *)(b.data + (at & ~3));
        return __funnelshift_r(w[0], w[1], (at & 3) * 8);
    }
    if (FORMAT == MOT_FORMAT_PLANES) {
        const uint8_t *const p = b.data + row + (x - b.x0);
        return p[0] | (uint32_t)p[b.plane] << 8 | (uint32_t)p[2 * b.plane] << 16;
    }
    if (FORMAT == MOT_FORMAT_GREY)
        return b.data[row + (x - b.x0)];
    return *(const uint32_t *)(b.data + row + (x - b.x0) * 4);
}

/* Four pixels from x, a multiple of four. */
template <int FORMAT> DEVICE void box_read(const box &b, int x, int y, uint32_t px[4])
{
    const uint8_t *const p = b.data + (y - b.y0) * b.pitch + (x - b.x0) * pixel_bytes(FORMAT);
    if (FORMAT == MOT_FORMAT_RGB) {
        const uint32_t *const w = (const uint32_t *)p;
        unpack_rgb(w[0], w[1], w[2], px);
    } else if (FORMAT == MOT_FORMAT_PLANES) {
        unpack_planes(*(const uint32_t *)p, *(const uint32_t *)(p + b.plane), *(const uint32_t *)(p + 2 * b.plane), px);
    } else if (FORMAT == MOT_FORMAT_GREY) {
        unpack_grey(*(const uint32_t *)p, px);
    } else {
        const uint4 w = *(const uint4 *)p;
        px[0] = w.x, px[1] = w.y, px[2] = w.z, px[3] = w.w;
    }
}

template <int FORMAT> DEVICE void box_write(const box &b, int x, int y, const uint32_t px[4])
{
    uint8_t *const p = b.data + (y - b.y0) * b.pitch + (x - b.x0) * pixel_bytes(FORMAT);
    if (FORMAT == MOT_FORMAT_RGB) {
        pack_rgb(px, (uint32_t *)p);
    } else if (FORMAT == MOT_FORMAT_PLANES) {
        uint32_t w[3];
        pack_planes(px, w);
        for (int c = 0; c < 3; c++)
            *(uint32_t *)(p + c * b.plane) = w[c];
    } else if (FORMAT == MOT_FORMAT_GREY) {
        *(uint32_t *)p = pack_grey(px);
    } else {
        *(uint4 *)p = make_uint4(px[0], px[1], px[2], px[3]);
    }
}

/* Calls body(x, y) for each four pixels of the box, shared out among the threads. */
template <class BODY> DEVICE void for_box(const box &b, BODY body)
{
    const int across = b.width / 4, quads = across * b.height;
    const int down = blockDim.x / across, right = (blockDim.x - down * across) * 4; /* one turn of the CTA */
    int row = threadIdx.x / across, x = (threadIdx.x - row * across) * 4;
    for (int q = threadIdx.x; q < quads; q += blockDim.x) {
        body(b.x0 + x, b.y0 + row);
        row += down, x += right;
        if (x >= b.width)
            x -= b.width, row++;
    }
}

/* ---- loading ---- */

/* Counts the bytes that bulk copies bring. One per CTA. */
struct arrival {
    unsigned long long barrier;
};

DEVICE uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

DEVICE void arrival_make(arrival &a)
{
#ifdef MOT_CLUSTERS
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&a.barrier)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
#endif
    __syncthreads();
}

/* Between ordinary accesses to shared memory and bulk copies from and to it. */
DEVICE void bulk_fence()
{
#ifdef MOT_CLUSTERS
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Between ordinary stores to the image, by every thread that made some, and bulk copies that read them. A barrier of
 * the CTA does not do: it orders them for this multiprocessor, and a bulk copy reads past its cache. It waits for the
 * device's memory, a microsecond. */
DEVICE void image_fence()
{
#ifdef MOT_CLUSTERS
    asm volatile("fence.proxy.async;" ::: "memory");
#else
    __threadfence();
#endif
}

/* Whether rows of the box can come in bulk: 16-byte pieces at 16-byte addresses, nothing beyond the row. */
template <int FORMAT> DEVICE bool comes_in_bulk(const box &b, const mot_view &src)
{
#ifdef MOT_CLUSTERS
    return FORMAT != MOT_FORMAT_STRIDED && b.x0 + b.width <= src.width && (src.row & 15) == 0 &&
           (FORMAT != MOT_FORMAT_PLANES || (src.channel & 15) == 0) && aligned(src.data, 16);
#else
    return false;
#endif
}

/* Starts to load the box from src; every thread calls it, after all have left the box. Returns true when the bytes are
 * still on their way: box_wait() then. */
template <int FORMAT> DEVICE bool box_load(const box &b, const mot_view &src, bool strided, arrival &a)
{
    if (!strided && comes_in_bulk<FORMAT>(b, src)) {
#ifdef MOT_CLUSTERS
        const bool whole = b.pitch == src.row; /* rows follow each other without a gap */
        const int pieces = (whole ? 1 : b.height) * planes_of(FORMAT);
        const uint32_t bytes = (uint32_t)(whole ? b.plane : b.pitch);
        if (threadIdx.x < 32) {
            if (threadIdx.x == 0) {
                bulk_fence();
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&a.barrier)),
                             "r"(bytes * pieces)
                             : "memory");
            }
            __syncwarp();
            const int rows = whole ? 1 : b.height;
            for (int i = threadIdx.x; i < pieces; i += 32) {
                const int plane = i / rows, row = i - plane * rows;
                const uint8_t *from = address(src, b.x0, b.y0 + row) + plane * src.channel;
                const uint32_t to = shared_address(b.data + plane * b.plane + row * b.pitch);
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                             ::"r"(to),
                             "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(&a.barrier))
                             : "memory");
            }
        }
        return true;
#endif
    }
    for_box(b, [&](int x, int y) {
        uint32_t px[4];
        fetch_from<FORMAT>(src, strided, x, y, px);
        box_write<FORMAT>(b, x, y, px);
    });
    return false;
}

/* Starts to write the box to dst, which comes_in_bulk() of; every thread calls it after a barrier. The box may be
 * written to again after box_stored(). */
template <int FORMAT> DEVICE void box_store(const box &b, const mot_view &dst)
{
#ifdef MOT_CLUSTERS
    const bool whole = b.pitch == dst.row;
    const int rows = whole ? 1 : b.height, pieces = rows * planes_of(FORMAT);
    const uint32_t bytes = (uint32_t)(whole ? b.plane : b.pitch);
    for (int i = threadIdx.x; i < pieces; i += blockDim.x) {
        const int plane = i / rows, row = i - plane * rows;
        uint8_t *to = address(dst, b.x0, b.y0 + row) + plane * dst.channel;
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
                     "r"(shared_address(b.data + plane * b.plane + row * b.pitch)), "r"(bytes)
                     : "memory");
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

/* Waits until the box has been read; with `seen`, until what was written can be seen. */
DEVICE void box_stored(bool seen)
{
#ifdef MOT_CLUSTERS
    if (seen)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    else
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

#ifdef MOT_CLUSTERS
DEVICE void barrier_wait(const unsigned long long *barrier, uint32_t phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(phase)
                 : "memory");
}
#endif

/* Waits for what box_load() started; `turn` counts the waits of this CTA. Then every thread may read the box. */
DEVICE void box_wait(bool pending, arrival &a, uint32_t &turn)
{
#ifdef MOT_CLUSTERS
    if (pending) {
        barrier_wait(&a.barrier, turn & 1);
        turn++;
    }
#endif
    __syncthreads();
}

#endif
