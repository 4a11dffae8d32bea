/* SPDX-License-Identifier: Apache-2.0 */
/* What every op header needs: the argument that an op was prepared with, and the functions that ops share. */
#ifndef MOT_OP_TYPES_H
#define MOT_OP_TYPES_H

#include <float.h>
#include <stdint.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    __FINITE_MATH_ONLY__ + 0 || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0)
#error "Motley's results are exact: compile without -ffast-math and its parts, and with SSE rather than the x87"
#endif
#if defined(__CHAR_UNSIGNED__) && !defined(__cplusplus)
#error "char must be signed: compile with -fsigned-char"
#endif

/* The CPU and the GPU compile the same source. Contraction must be off: -ffp-contract=off, --fmad=false. */
#ifdef __CUDACC__
#define MOT_FN static __host__ __device__ __forceinline__
#else
#define MOT_FN static inline
#endif

/* For loops with few iterations: unrolled, they would only add instructions to fetch. */
#ifdef __NVCC__
#define MOT_ROLLED _Pragma("unroll 1")
#else
#define MOT_ROLLED
#endif

/* An op's values, prepared on the host in double. No transcendental function runs after this. */
typedef struct mot_arg {
    union {
        double d[6];    /* warp: what the matrix is computed from; erase: side and centre, pixels */
        uint32_t u[12]; /* posterize: mask; solarize: threshold, and unrounded in d[1]; blur: radius, inner and edge
                           weight; blend ops: in d[0] 1 - factor, which wide forms round by itself */
    };
    float factor;   /* blend ops */
    uint32_t flags; /* MOT_ARG_* */
    uint32_t size;  /* kernel_blur: of its kernel, whose weights are in u */
    uint32_t unused;
} mot_arg; /* 64 bytes */

/* Components that each box of a blur reaches to each side; one more has a smaller weight. */
MOT_FN uint32_t mot_blur_radius(const mot_arg *arg)
{
    return arg->u[0];
}

#define MOT_ARG_IDENTITY 1u /* changes no image: the step can be left out */
#define MOT_ARG_WHOLE 2u    /* a warp that moves whole pixels: runs as nearest, whatever interpolation was requested */
#define MOT_ARG_SQUARE 4u   /* WHOLE, but only where width == height */

/* The two numbers that a policy draws for an op, in arg.d[1] and d[2]. POINT: a point of the image. PIXEL: the corner
 * of one of its pixels. UNIT, for custom ops: two numbers in 0..1. BOX: the corner of a pixel in one of the image's
 * boxes, with the box's sides in d[3] and d[4]. */
typedef enum mot_draws {
    MOT_DRAWS_NOTHING,
    MOT_DRAWS_POINT,
    MOT_DRAWS_PIXEL,
    MOT_DRAWS_UNIT,
    MOT_DRAWS_BOX,
} mot_draws;

/* What a STATS op needs of an image: MOT_<ID>_NEEDS in its header. A histogram answers all but the mean. */
#define MOT_NEEDS_RANGE 1     /* lo and hi */
#define MOT_NEEDS_HISTOGRAM 2 /* lo, hi, last and below */
#define MOT_NEEDS_MEAN 3      /* mean */

/* What a STATS op sees of one channel of an image: always n, and what it declares that it needs. */
typedef struct mot_stats {
    uint32_t n;            /* pixels of the image */
    uint32_t lo, hi;       /* lowest and highest value that occurs */
    uint32_t last;         /* how often `hi` occurs */
    uint32_t mean;         /* of the luma over all pixels, rounded half up */
    const uint32_t *below; /* [256]: how many components are lower than v */
} mot_stats;

/* A warp for one image size: output (x, y) reads the input at (m0 x + m1 y + m2, m3 x + m4 y + m5). */
typedef struct mot_warp {
    double m[6];
    int whole; /* not 0: moves whole pixels, so it runs as nearest */
} mot_warp;

typedef struct mot_rect {
    int x0, y0, x1, y1; /* half-open; empty when x0 >= x1 or y0 >= y1 */
} mot_rect;

/* The rectangle from c - pad up to c + pad in both directions, clipped to the image, where c is the centre in d[1] and
 * d[2], truncated; NaN: the image's centre. */
MOT_FN mot_rect mot_rect_around(int width, int height, const mot_arg *arg, int pad_x, int pad_y)
{
    const int cx = arg->d[1] == arg->d[1] ? (int)arg->d[1] : width / 2;
    const int cy = arg->d[2] == arg->d[2] ? (int)arg->d[2] : height / 2;
    mot_rect r;
    r.x0 = cx - pad_x < 0 ? 0 : cx - pad_x;
    r.y0 = cy - pad_y < 0 ? 0 : cy - pad_y;
    r.x1 = cx + pad_x > width ? width : cx + pad_x;
    r.y1 = cy + pad_y > height ? height : cy + pad_y;
    return r;
}

/* A byte that an op reads. On the device it is a byte of a word, so that one instruction extracts it and converts it to
 * float. */
#ifdef __CUDACC__
struct mot_u8 {
    uint32_t word;
    uint32_t at; /* 0 to 3 */
    __host__ __device__ __forceinline__ mot_u8(uint32_t in, uint32_t place = 0) : word(in), at(place)
    {
    }
    __host__ __device__ __forceinline__ operator uint8_t() const
    {
        return (uint8_t)(word >> (8 * at));
    }
};
#else
typedef uint8_t mot_u8;
#endif

#ifdef __CUDACC__
static __device__ __forceinline__ int mot_byte_device(float v)
{
    const int whole = __float_as_int(__fadd_rz(v, 12582912.0f)); /* + 0x4B400000, rounded down, for up to 4 million */
    const int byte = __viaddmin_s32_relu(whole, -0x4B400000, 255);
    __builtin_assume(byte >= 0 && byte <= 255); /* no mask is needed */
    return byte;
}
#endif

/* Whether v < limit. On the CPU it compares bytes, because a vector holds more of them. */
MOT_FN int mot_below(uint8_t v, uint32_t limit)
{
#ifdef __CUDA_ARCH__
    return v < limit;
#else
    return limit > 255 || (limit > 0 && v <= (uint8_t)(limit - 1));
#endif
}

/* Converts a float to a byte: clamps to 0..255, then truncates. The device adds 12582912, which is cheaper than its
 * conversion and just as exact. */
MOT_FN uint8_t mot_byte(float v)
{
#ifdef __CUDA_ARCH__
    return (uint8_t)mot_byte_device(v);
#else
    const int whole = (int)v; /* fits: factors are at most 10000. Vector units have integer minimum and maximum */
    const int above = whole > 0 ? whole : 0;
    return (uint8_t)(above < 255 ? above : 255);
#endif
}

#ifdef __CUDACC__
/* A byte plus 2^23, exact: cheaper than a conversion. */
static __device__ __forceinline__ float mot_above(mot_u8 v)
{
    return __uint_as_float(__byte_perm(v.word, 0x4B000000u, 0x7650 | v.at));
}
#endif

/* Pillow's ImagingBlend for one byte: two roundings in binary32, then truncation. Factors 0 and 1 come out exact. */
MOT_FN uint8_t mot_blend(mot_u8 from, mot_u8 to, float factor)
{
#ifdef __CUDA_ARCH__
    const float base = mot_above(from); /* the difference is still exact */
    const float product = factor * (mot_above(to) - base);
    return mot_byte((base - 8388608.0f) + product);
#else
    const float product = factor * ((float)to - (float)from);
    return mot_byte((float)from + product);
#endif
}

/* ITU-R 601 luma as Pillow's convert("L") computes it. */
MOT_FN uint8_t mot_luma(uint8_t r, uint8_t g, uint8_t b)
{
    return (uint8_t)((19595u * r + 38470u * g + 7471u * b + 32768u) >> 16);
}

#ifdef __CUDACC__
/* mot_luma of a pixel in a word, red in the lowest byte; the highest byte may hold anything. */
static __device__ __forceinline__ mot_u8 mot_luma_word(uint32_t rgb)
{
    const uint32_t red_green = __dp2a_lo(19595u | 38470u << 16, rgb, 32768u);
    return mot_u8(__dp2a_hi(7471u, rgb, red_green), 2);
}
#endif

MOT_FN void mot_matrix(mot_warp *warp, double a, double b, double c, double d, double e, double f)
{
    warp->m[0] = a;
    warp->m[1] = b;
    warp->m[2] = c;
    warp->m[3] = d;
    warp->m[4] = e;
    warp->m[5] = f;
    warp->whole = 0;
}

#endif
