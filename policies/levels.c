/* SPDX-License-Identifier: Apache-2.0 */
/* Computes an op's value from a level: each profile's arithmetic, in the order in which its software does it. */
#include "base/error.h"
#include "base/number.h"
#include "policies/compile.h"
#include "policies/custom.h"
#include "policies/draw.h"
#include "policies/policy.h"

#include <math.h>

/* {factor, entry of shear_x, entry of shear_y} of the standard tables, ascending; written by tools/shear_entries.py. */
static const double shear_entries[][3] = {
#include "policies/shear_entries.inc"
};

/* The matrix entry of a shear by `factor` as torchvision computes it, via degrees. The standard tables' entries are
 * literals, so that they depend on no libm; other factors use this machine's libm. */
static double tangent_entry(double factor, int along_y)
{
    const double size = fabs(factor);
    for (size_t i = 0; i < sizeof shear_entries / sizeof *shear_entries; i++)
        if (shear_entries[i][0] == size)
            return copysign(shear_entries[i][1 + along_y], factor);
    const double pi = 3.14159265358979323846;
    const double angle = (atan(factor) * (180.0 / pi)) * (pi / 180.0);
    return along_y ? -(sin(-angle) / cos(angle)) : tan(angle);
}

mot_level_entry mot_space_relative(const motley_policy *policy, const mot_space *space, double level)
{
    const double turn = space->sign == MOT_SIGN_MINUS ? -1 : 1;
    mot_level_entry entry = { .low = turn * space->low, .span = turn * space->span };
    if (policy->arithmetic == MOT_ARITHMETIC_TORCH) {
        entry.position = level;
        entry.last_bin = policy->top;
    } else {
        entry.position = level / policy->top;
    }
    return entry;
}

double mot_space_value(const motley_policy *policy, const mot_space *space, double level, int minus)
{
    const mot_level_entry entry = mot_space_relative(policy, space, level);
    const mot_table_step step = { .arithmetic = (uint8_t)policy->arithmetic, .rounding = (uint8_t)space->rounding };
    double value = space->base + mot_relative(&step, &entry, minus, 1);
    if (value < space->minimum)
        value = space->minimum;
    if (value > space->maximum)
        value = space->maximum;
    if (!space->via_degrees)
        return value;
    return tangent_entry(value, mot_policy_facts(space->op)->tangent == MOT_TANGENT_Y);
}

static double normal_below(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

/* The standard normal's quantile at p, to 2^-20. Begins near it (Abramowitz and Stegun 26.2.23, then a step of Halley's
 * method); bisects until both ends round alike, so that the last bits of a libm do not matter. */
double mot_normal_quantile(double p)
{
    const double t = sqrt(-2 * log(p < 0.5 ? p : 1 - p));
    const double far =
        t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    const double guess = p < 0.5 ? -far : far;
    const double off = (normal_below(guess) - p) * 2.50662827463100050242 * exp(guess * guess / 2);
    const double near = guess - off / (1 + off * guess / 2);
    double low = near - 0x1p-26, high = near + 0x1p-26;
    for (int i = 0; i < 60 && rint(low * 1048576.0) != rint(high * 1048576.0); i++) {
        const double middle = (low + high) / 2;
        if (normal_below(middle) < p)
            low = middle;
        else
            high = middle;
    }
    return rint(low * 1048576.0) / 1048576.0;
}

/* Rounds to 20 bits after the leading one. */
static double rounded(double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return ldexp(rint(fraction * 2097152.0) / 2097152.0, exponent);
}

/* The share of a Gamma(a, 1) distribution below x, by its series, or by its continued fraction (Lentz) above a + 1. */
static double gamma_below(double a, double x)
{
    const double scale = exp(a * log(x) - x) / tgamma(a);
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double n = a + 1; term > sum * 1e-14; n++)
            sum += term *= x / n;
        return sum * scale;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 1000; i++) {
        const double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= c * d;
        if (fabs(c * d - 1) < 1e-14)
            break;
    }
    return 1 - scale * h;
}

/* The x between e^low and e^high at which `below` reaches p. Uses bisection, so that the last bits of a libm do not
 * matter. */
static double bisect(double (*below)(double a, double x), double a, double p, double low, double high)
{
    for (int i = 0; i < 44; i++) {
        const double middle = (low + high) / 2;
        if (below(a, exp(middle)) < p)
            low = middle;
        else
            high = middle;
    }
    return rounded(exp(low));
}

double mot_gamma_quantile(double alpha, int k)
{
    return bisect(gamma_below, alpha, (k + 0.5) / MOT_QUANTILES, -400, 7);
}

double mot_beta_quantile(double alpha, int k)
{
    if (k >= MOT_QUANTILES / 2)
        return 1 - mot_beta_quantile(alpha, MOT_QUANTILES - 1 - k);
    return bisect(mot_beta_below, alpha, (k + 0.5) / MOT_QUANTILES, -400, log(0.5));
}

/* Whether a level is one of the bins. */
static int is_bin(const motley_policy *policy, const mot_level *level)
{
    return level->kind == MOT_LEVEL_UNIFORM ||
           (level->kind == MOT_LEVEL_GIVEN && level->b == 0 && policy->top_bins > 0);
}

uint32_t mot_level_count(const motley_policy *policy, const mot_level *level)
{
    if (is_bin(policy, level))
        return (uint32_t)policy->top_bins;
    return level->kind == MOT_LEVEL_RANGE || level->kind == MOT_LEVEL_NORMAL ? MOT_QUANTILES
           : level->kind == MOT_LEVEL_GIVEN                                  ? MOT_GIVEN_LEVELS
                                                                             : 1;
}

double mot_level_at(const motley_policy *policy, const mot_level *level, uint32_t k)
{
    const double p = (k + 0.5) / MOT_QUANTILES; /* the middle of a cell */
    if (is_bin(policy, level))
        return k;
    if (level->kind == MOT_LEVEL_RANGE)
        return level->a + (level->b - level->a) * p;
    if (level->kind == MOT_LEVEL_GIVEN)
        return level->a + ((level->b == 0 ? policy->top : level->b) - level->a) * (k / (MOT_GIVEN_LEVELS - 1.0));
    if (level->kind != MOT_LEVEL_NORMAL)
        return level->a;
    const double x = level->a + level->b * mot_normal_quantile(p);
    return x < 0 ? 0 : x > policy->top ? policy->top : x;
}

static mot_level other_level(mot_level old, mot_level level)
{
    const bool mean = level.kind == MOT_LEVEL_FIXED && old.kind == MOT_LEVEL_NORMAL;
    return mean ? (mot_level){ MOT_LEVEL_NORMAL, level.a, old.b } : level;
}

motley_status mot_policy_set_level(motley_policy *policy, mot_level level, motley_error *error)
{
    const bool number = level.kind == MOT_LEVEL_FIXED;
    MOT_REQUIRE(!number || (level.a >= 0 && level.a <= policy->top), error, "level is %s, want 0..%s",
                MOT_NUMBER(level.a), MOT_NUMBER(policy->top));
    if (!number || policy->level.kind != MOT_LEVEL_NONE)
        policy->level = other_level(policy->level, level);
    for (uint32_t i = 0; i < policy->steps; i++) {
        mot_level *const old = &policy->step[i].level;
        if (old->kind != MOT_LEVEL_NONE && old->kind != MOT_LEVEL_VALUE)
            *old = other_level(*old, level);
    }
    return MOTLEY_OK;
}
