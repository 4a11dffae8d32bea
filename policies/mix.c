/* SPDX-License-Identifier: Apache-2.0 */
/* Mixing: its parameters, lambda's quantiles, and what a batch draws. */
#include "policies/mix.h"
#include "policies/compile.h"

#include "base/error.h"
#include "base/params.h"
#include "base/values.h"
#include "policies/policy.h"

#include <stdlib.h>
#include <string.h>

/* The continued fraction of the incomplete beta function for a = b, by Lentz; DLMF 8.17.22. */
static double beta_fraction(double a, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - 2 * a * x / (a + 1), f;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    f = d;
    for (int m = 1; m <= 500; m++) {
        const double terms[2] = { m * (a - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                  -(a + m) * (2 * a + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) };
        double step = 1;
        for (int k = 0; k < 2; k++) {
            d = 1 + terms[k] * d;
            c = 1 + terms[k] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            f *= step = d * c;
        }
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return f;
}

/* The share of a Beta(a, a) distribution below x <= 1/2. *slope: that of its logarithm over the logarithm of x. */
static double beta_below(double a, double x, double *slope)
{
    const double fraction = beta_fraction(a, x);
    *slope = a / ((1 - x) * fraction);
    return exp(lgamma(2 * a) - 2 * lgamma(a) + a * (log(x) + log1p(-x))) * fraction / a;
}

double mot_beta_below(double a, double x)
{
    double slope;
    return beta_below(a, x, &slope);
}

/* The last multiple of 2^-24 below which less than p <= 1/2 of Beta(a, a) lies, so that the last bits of a libm do not
 * matter. Newton's method in logarithms, where the distribution is nearly a line, narrows both ends. */
static int32_t beta_quantile(double a, double p)
{
    int32_t low = 0, high = 1 << 23; /* the median, 1/2 */
    double guess = high;
    while (high - low > 1) {
        const int32_t at = guess <= low ? low + 1 : guess >= high ? high - 1 : (int32_t)guess;
        double slope;
        const double below = beta_below(a, ldexp(at, -24), &slope);
        *(below < p ? &low : &high) = at;
        guess = rint(at * exp((log(p) - log(below)) / slope));
    }
    return low;
}

double mot_mix_lambda(const motley_mix *mix, bool cut, uint32_t cell)
{
    const bool upper = cell >= MOT_LAMBDA_CELLS / 2;
    const uint32_t k = upper ? MOT_LAMBDA_CELLS - 1 - cell : cell; /* the upper half mirrors the lower */
    int32_t *const kept = &((motley_mix *)mix)->lambda[cut][k];
    int32_t found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (!found) {
        found = 1 + beta_quantile(cut ? mix->params.cutmix : mix->params.mixup, (k + 0.5) / MOT_LAMBDA_CELLS);
        __atomic_store_n(kept, found, __ATOMIC_RELAXED);
    }
    const double lambda = ldexp(found - 1, -24);
    return upper ? 1 - lambda : lambda;
}

motley_status mot_mix_check(const motley_mix_params *p, motley_error *error)
{
    MOT_REQUIRE(p->mixup >= 0 && p->mixup <= 1000 && p->cutmix >= 0 && p->cutmix <= 1000, error,
                "mixup is %g and cutmix %g, want numbers of 0 to 1000", p->mixup, p->cutmix);
    MOT_REQUIRE(p->mixup > 0 || p->cutmix > 0 || p->minmax[1] > 0 || p->share[1] > 0 || p->instances, error,
                "neither mixup nor cutmix is above 0, want one of them, or share, or instances");
    MOT_REQUIRE(p->share[0] >= 0 && p->share[0] <= p->share[1] && p->share[1] <= 1, error,
                "share is %g to %g, want two numbers of 0 to 1, the lower first", p->share[0], p->share[1]);
    MOT_REQUIRE(p->share[1] == 0 || p->mixup == 0, error,
                "both mixup and share are set, want one of the two, as each says what MixUp's lambda is");
    MOT_REQUIRE(p->p >= 0 && p->p <= 1 && p->switch_p >= 0 && p->switch_p <= 1, error,
                "p is %g and switch_p %g, want 0 to 1", p->p, p->switch_p);
    MOT_REQUIRE((unsigned)p->rules <= MOTLEY_MIX_TIMM, error, "rules is %d, want one of motley_mix_rules",
                (int)p->rules);
    MOT_REQUIRE((unsigned)p->mode <= MOTLEY_MIX_ELEM, error, "mode is %d, want one of motley_mix_mode", (int)p->mode);
    MOT_REQUIRE(p->mode != MOTLEY_MIX_PAIR || (p->rules == MOTLEY_MIX_TIMM && !p->drawn_partner), error,
                "mode is pair, want timm's rules and no drawn_partner, as others make no pairs");
    MOT_REQUIRE(!p->drawn_partner || p->mode == MOTLEY_MIX_ELEM, error,
                "drawn_partner is set, want mode elem, in which each image draws");
    MOT_REQUIRE((p->minmax[0] == 0 && p->minmax[1] == 0) ||
                    (p->minmax[0] > 0 && p->minmax[1] > p->minmax[0] && p->minmax[1] <= 1),
                error, "minmax is %g to %g, want two numbers above 0 and up to 1, the lower first", p->minmax[0],
                p->minmax[1]);
    MOT_REQUIRE(p->pastes >= 0 && p->pastes <= MOTLEY_MAX_PASTES, error, "pastes is %d, want 0 to %d", (int)p->pastes,
                MOTLEY_MAX_PASTES);
    MOT_REQUIRE(p->pastes == 0 || (p->share[1] > 0 && !(p->cutmix > 0 || p->minmax[1] > 0)), error,
                "objects are pasted, want share, by which they are blended, and no cutmix");
    MOT_REQUIRE(!p->instances || !(p->pastes > 0 || p->cutmix > 0 || p->minmax[1] > 0), error,
                "instances are pasted, want neither cutmix nor parts with objects to paste");
    MOT_REQUIRE(!p->instances || p->mixup > 0 || p->share[1] > 0 || p->p == 0 || p->p == 1, error,
                "instances are pasted and nothing is mixed, but p is %g: want paste_p, their chance", p->p);
    MOT_REQUIRE(p->pastes > 0 || (p->paste_area == 0 && p->context[1] == 0), error,
                "paste_area is %g and context up to %g, want them with pastes", p->paste_area, p->context[1]);
    MOT_REQUIRE(p->grow >= 0 && p->grow <= MOTLEY_MAX_GROW, error, "grow is %d, want 0 to %d", (int)p->grow,
                MOTLEY_MAX_GROW);
    MOT_REQUIRE(p->grow == 0 || p->instances, error, "grow is %d, want it with instances, whose masks it enlarges",
                (int)p->grow);
    MOT_REQUIRE(p->paste_p >= 0 && p->paste_p <= 1 && p->paste_area >= 0, error,
                "paste_p is %g and paste_area %g, want 0 to 1 and 0 or more", p->paste_p, p->paste_area);
    MOT_REQUIRE(p->context[0] >= 0 && p->context[0] <= p->context[1] && p->context[1] <= 10, error,
                "context is %g to %g, want two numbers of 0 to 10, the lower first", p->context[0], p->context[1]);
    MOT_REQUIRE(p->sizes_count >= 0 && p->sizes_count <= MOTLEY_MAX_MIX_SIZES, error, "sizes_count is %d, want 0 to %d",
                (int)p->sizes_count, MOTLEY_MAX_MIX_SIZES);
    for (int k = 0; k < p->sizes_count; k++)
        MOT_REQUIRE(p->sizes[k] > 0, error, "sizes has a 0, want sides of 1 to %d", UINT16_MAX);
    MOT_REQUIRE(p->sizes_count == 0 || !(p->cutmix > 0 || p->minmax[1] > 0 || p->instances), error,
                "sizes are set, want neither cutmix nor instances, whose boxes and masks have one size");
    return MOTLEY_OK;
}

motley_status mot_mix_check_sides(const motley_mix_params *p, int32_t width, int32_t height, motley_error *error)
{
    for (int k = 0; k < 2 && p->minmax[0] > 0; k++) {
        const int32_t side = k ? height : width;
        MOT_REQUIRE((int32_t)(side * p->minmax[0]) < (int32_t)(side * p->minmax[1]), error,
                    "minmax is %g to %g, which leaves no length to draw for a side of %d", p->minmax[0], p->minmax[1],
                    side);
    }
    return MOTLEY_OK;
}

motley_status motley_mix_create(const motley_mix_params *params, motley_mix **mix, motley_error *error)
{
    MOT_REQUIRE(mix, error, "mix is NULL, want a place for the result");
    *mix = NULL;
    MOT_REQUIRE(params, error, "params is NULL, want mixup or cutmix");
    MOT_READ_PARAMS(motley_mix_params, params, error);
    MOT_TRY(mot_mix_check(params, error));
    motley_mix *made = calloc(1, sizeof *made);
    if (!made)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for the quantiles of lambda");
    made->params = *params;
    made->params.p = params->p > 0 ? params->p : 1;
    made->params.paste_p = params->paste_p > 0 ? params->paste_p : 1;
    made->params.switch_p = params->switch_p > 0 ? params->switch_p : 0.5;
    if (params->minmax[0] > 0)
        made->params.cutmix = 1; /* as in timm: lambda then only says whether an image is mixed */
    *mix = made;
    return MOTLEY_OK;
}

void motley_mix_destroy(motley_mix *mix)
{
    free(mix);
}

motley_mix_params motley_mix_describe(const motley_mix *mix)
{
    return mix ? mix->params : (motley_mix_params){ 0 };
}

/* ---- draws ---- */

/* The index of the image whose sample id decides for image i of `count`. */
static size_t drawer_of(const motley_mix_params *p, size_t i, size_t count)
{
    const size_t other = count - 1 - i;
    return p->mode == MOTLEY_MIX_BATCH ? 0 : p->mode == MOTLEY_MIX_PAIR && other < i ? other : i;
}

static int32_t clamp_to(int32_t v, int32_t most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* The box between rows top..bottom and columns left..right, clipped to the image. */
static motley_erased_box box_between(int32_t left, int32_t top, int32_t right, int32_t bottom, int32_t width,
                                     int32_t height)
{
    motley_erased_box box;
    box.left = clamp_to(left, width);
    box.top = clamp_to(top, height);
    box.width = clamp_to(right, width) - box.left;
    box.height = clamp_to(bottom, height) - box.top;
    return box;
}

motley_erased_box mot_mix_draw_box(const motley_mix_params *p, double lambda, mot_words words, int32_t width,
                                   int32_t height)
{
    const int32_t y = (int32_t)mot_choose(words.w[0], (uint32_t)height);
    const int32_t x = (int32_t)mot_choose(words.w[1], (uint32_t)width);
    if (p->minmax[0] > 0) {
        const int32_t least_h = (int32_t)(height * p->minmax[0]), least_w = (int32_t)(width * p->minmax[0]);
        const int32_t most_h = (int32_t)(height * p->minmax[1]), most_w = (int32_t)(width * p->minmax[1]);
        const int32_t h = least_h + (int32_t)mot_choose(words.w[2], (uint32_t)(most_h - least_h));
        const int32_t w = least_w + (int32_t)mot_choose(words.w[3], (uint32_t)(most_w - least_w));
        const int32_t top = (int32_t)mot_choose(words.w[0], (uint32_t)(height - h + 1));
        const int32_t left = (int32_t)mot_choose(words.w[1], (uint32_t)(width - w + 1));
        return box_between(left, top, left + w, top + h, width, height);
    }
    if (p->rules == MOTLEY_MIX_TORCHVISION) {
        const double half = 0.5 * sqrt(1.0 - lambda);
        const int32_t w = (int32_t)(half * width), h = (int32_t)(half * height);
        return box_between(x - w, y - h, x + w, y + h, width, height);
    }
    int32_t h, w;
    if (p->mode == MOTLEY_MIX_BATCH) {
        const double side = sqrt(1.0 - lambda);
        h = (int32_t)(height * side);
        w = (int32_t)(width * side);
    } else { /* timm's lambda is binary32 here, and NumPy 2 computes in binary32 with it */
        const float side = sqrtf(1.0f - (float)lambda);
        h = (int32_t)((float)height * side);
        w = (int32_t)((float)width * side);
    }
    return box_between(x - w / 2, y - h / 2, x + (w + 1) / 2, y + (h + 1) / 2, width, height);
}

/* Draws how image i is mixed. `self` is its sample, `drawer` that of the image drawer_of. */
static motley_mixed draw_one(const motley_mix *mix, const mot_drawn_sample *drawer, const mot_drawn_sample *self,
                             size_t i, size_t count)
{
    const motley_mix_params *p = &mix->params;
    const uint32_t block = MOT_STAGE_BLOCK(MOT_STAGE_MIX, 0);
    const mot_words words = mot_words_of(drawer, block);
    motley_mixed out;
    memset(&out, 0, sizeof out);
    out.lambda = out.share = 1;
    out.partner = (int32_t)(p->rules == MOTLEY_MIX_TIMM ? count - 1 - i : i ? i - 1 : count - 1);
    if (p->drawn_partner && count > 1) {
        const uint32_t other = mot_choose(mot_words_of(self, block).w[3], (uint32_t)count - 1);
        out.partner = (int32_t)(other + (other >= i));
    }
    const int shares = p->share[1] > 0, mixup = p->mixup > 0 || shares;
    if (!(mixup || p->cutmix > 0) || !mot_coin(words.w[0], p->p)) {
        if ((p->pastes > 0 || p->instances) && mot_coin(mot_words_of(drawer, block + 2).w[0], p->paste_p)) {
            out.kind = p->instances ? MOTLEY_MIX_INSTANCES : MOTLEY_MIX_PASTE;
            out.grow = p->grow;
            if (!p->instances)
                out.lambda = mot_millionths(words.w[2], p->share[0], p->share[1]);
        }
        return out;
    }
    const int cut = p->cutmix > 0 && (!mixup || mot_coin(words.w[1], p->switch_p));
    out.lambda = shares && !cut ? mot_millionths(words.w[2], p->share[0], p->share[1])
                                : mot_mix_lambda(mix, cut, mot_choose(words.w[2], MOT_LAMBDA_CELLS));
    if (out.lambda == 1)
        return out;
    out.kind = cut ? MOTLEY_MIX_CUTMIX : MOTLEY_MIX_MIXUP;
    out.share = out.lambda;
    if (cut) {
        out.box = mot_mix_draw_box(p, out.lambda, mot_words_of(drawer, block + 1), self->width, self->height);
        if (!p->keep_lambda || p->minmax[0] > 0)
            out.share = 1.0 - (double)((int64_t)out.box.width * out.box.height) / ((double)self->width * self->height);
        if (p->mode != MOTLEY_MIX_BATCH)
            out.share = (float)out.share; /* timm's list of lambdas is binary32 */
    }
    return out;
}

motley_status motley_mix_draw(const motley_mix *mix, const motley_samples *samples, size_t count, int32_t width,
                              int32_t height, const int32_t *partners, const motley_objects *objects,
                              motley_mixed *drawn, motley_paste *pastes, motley_error *error)
{
    MOT_REQUIRE(mix, error, "mix is NULL, want one that was created");
    MOT_REQUIRE(samples, error, "samples is NULL, want a seed and sample ids");
    MOT_TRY(mot_samples_check(samples, count, error));
    MOT_REQUIRE(drawn || count == 0, error, "drawn is NULL, want an array of %zu", count);
    MOT_TRY(mot_check_size(width, height, error));
    const motley_mix_params *p = &mix->params;
    MOT_REQUIRE(p->mode != MOTLEY_MIX_PAIR || count % 2 == 0, error,
                "there are %zu images, want an even number, as mode is pair", count);
    MOT_TRY(mot_mix_check_sides(p, width, height, error));
    for (size_t i = 0; partners && i < count; i++)
        MOT_REQUIRE(partners[i] >= 0 && (size_t)partners[i] < count, error,
                    "image %zu: its partner is image %d, there are %zu", i, (int)partners[i], count);
    if (count == 0)
        return MOTLEY_OK;
    motley_samples drawers = *samples;
    drawers.levels = NULL; /* perhaps in the device's memory */
    const mot_drawn_sample first = mot_sample_of(&drawers, 0, width, height, 1);
    const uint32_t word = mot_words_of(&first, MOT_STAGE_BLOCK(MOT_STAGE_MIX, 0) + 2).w[1];
    for (size_t i = 0; i < count; i++) {
        const mot_drawn_sample self = mot_sample_of(&drawers, i, width, height, 1);
        const mot_drawn_sample drawer = mot_sample_of(&drawers, drawer_of(p, i, count), width, height, 1);
        drawn[i] = draw_one(mix, &drawer, &self, i, count);
        drawn[i].side = p->sizes_count > 0 ? p->sizes[mot_choose(word, (uint32_t)p->sizes_count)] : 0;
        if (partners)
            drawn[i].partner = partners[i];
    }
    return objects ? mot_mix_draw_pastes(mix, &drawers, objects, count, width, height, drawn, pastes, error)
                   : MOTLEY_OK;
}
