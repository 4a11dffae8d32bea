/* SPDX-License-Identifier: Apache-2.0 */
/* Draws: random words, known answers, independence of the batch, and frequencies.
 *
 * Frequency tests run at a fixed seed, so they give the same result each time. Their bound is |z| < 4 for the normal
 * score of chi-square (Wilson and Hilferty 1931): one right build in 16,000 would fail, and a decision that shares its
 * word with another, or a wrong level or sign, scores in the tens. */
#include "augmentations/table.h"
#include "base/hash.h"
#include "policies/builtin.h"
#include "policies/compile.h"
#include "policies/draw.h"
#include "tests/chi_square.h"
#include "tests/policies.h"
#include "tests/sweep.h"

#include <inttypes.h>
#include <math.h>
#ifdef HAVE_CURAND
#include <curand.h>
#endif

/* --- random words --- */

static void expect_words(uint64_t seed, uint32_t epoch, uint64_t sample, uint32_t block, const uint32_t want[4])
{
    const mot_words got = mot_random(seed, epoch, sample, block);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(got.w[i], want[i], "word %d is %08x, want %08x", i, got.w[i], want[i]);
}

/* The known answers of Random123 for philox4x32-10 (its kat_vectors). */
Test(draw, philox_known_answers)
{
    expect_words(0, 0, 0, 0, (const uint32_t[]){ 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 });
    expect_words(UINT64_MAX, UINT32_MAX, UINT64_MAX, UINT32_MAX,
                 (const uint32_t[]){ 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd });
    expect_words(0x299f31d0a4093822, 0x85a308d3, 0x0370734413198a2e, 0x243f6a88,
                 (const uint32_t[]){ 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 });
}

#define CURAND_SEQUENCES 65536u /* that cuRAND's host API runs through side by side, four words at a time */

Test(draw, curand_host_generator)
{
#ifdef HAVE_CURAND
    static const struct {
        uint64_t seed;
        uint32_t epoch, block;
    } cases[] = { { 0, 0, 0 },
                  { 7, 0, 1 },
                  { 7, 0, 65 },
                  { 0x0123456789abcdef, 1, 0 },
                  { UINT64_MAX, 199, 4097 },
                  { 7, 2, 5u << MOT_VIEW_SHIFT | 65 } };
    uint32_t *words = malloc(CURAND_SEQUENCES * 4 * sizeof *words);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        curandGenerator_t generator;
        cr_assert_eq(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10), CURAND_STATUS_SUCCESS);
        cr_assert_eq(curandSetPseudoRandomGeneratorSeed(generator, cases[i].seed), CURAND_STATUS_SUCCESS);
        const uint64_t position = ((uint64_t)cases[i].epoch << 32) + cases[i].block;
        cr_assert_eq(curandSetGeneratorOffset(generator, position * 4 * CURAND_SEQUENCES), CURAND_STATUS_SUCCESS);
        cr_assert_eq(curandGenerate(generator, words, CURAND_SEQUENCES * 4), CURAND_STATUS_SUCCESS);
        for (uint32_t sample = 0; sample < CURAND_SEQUENCES; sample++) {
            const mot_words ours = mot_random(cases[i].seed, cases[i].epoch, sample, cases[i].block);
            cr_assert_arr_eq(ours.w, &words[sample * 4], sizeof ours.w, "seed %llx epoch %u block %u sample %u",
                             (unsigned long long)cases[i].seed, cases[i].epoch, cases[i].block, sample);
        }
        curandDestroyGenerator(generator);
    }
    free(words);
#else
    cr_skip_test("this build has no cuRAND to compare with");
#endif
}

/* --- known answers --- */

/* Of built-in policies, hashes of the lines that tests/known_draws.py prints from an independent reading of draws.md:
 * of their draws, and of the levels of each op that has a range. */
static const struct {
    uint64_t hash;
    const char *policy, *what;
} known[] = {
#include "known.inc"
};

/* A line for each of known_draws.py's CASES; each step is op:level:value:interpolation. */
static void add_draws(paper *lines, const motley_policy *policy)
{
    static const struct {
        uint64_t seed, sample;
        uint32_t epoch, view;
    } cases[] = {
        { 0, 0, 0, 0 },
        { 7, 1, 0, 0 },
        { 7, 1, 3, 0 },
        { 7, ((uint64_t)1 << 32) + 1, 3, 0 },
        { ((uint64_t)1 << 63) + 5, 123456789, 199, 0 },
        { 1, UINT64_MAX, (1u << 30) - 1, 0 },
        { 42, 5, 1, 0 },
        { 43, 6, 1, 0 },
        { 44, 7, 2, 0 },
        { 45, 8, 2, 0 },
        { 0, 0, 0, 1 },
        { 7, 1, 3, 1 },
        { 7, ((uint64_t)1 << 32) + 1, 3, 2 },
        { 1, UINT64_MAX, (1u << 30) - 1, 65535 },
        { UINT64_MAX, 9, 5, 256 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t width = 321, height = 123;
        motley_step steps[2][MOT_MAX_STEPS] = { 0 };
        int32_t counts[2];
        for (int each = 0; each < 2; each++) { /* a view for all samples, and one for each */
            const motley_samples samples = { .seed = cases[i].seed,
                                             .epoch = cases[i].epoch,
                                             .first = cases[i].sample,
                                             .view = each ? 0 : cases[i].view,
                                             .views = each ? &cases[i].view : NULL };
            cr_assert_eq(motley_draw(policy, &samples, 1, &width, &height, 3, NULL, steps[each], &counts[each], NULL),
                         MOTLEY_OK);
        }
        cr_expect_eq(counts[0], counts[1]);
        cr_expect_arr_eq(steps[0], steps[1], sizeof *steps);
        add(lines, "seed %" PRIu64 " epoch %" PRIu32 " sample %" PRIu64 " view %" PRIu32 ":", cases[i].seed,
            cases[i].epoch, cases[i].sample, cases[i].view);
        for (int32_t s = 0; s < counts[0]; s++)
            add(lines, " %s:%" PRId32 ":%.17g:%d", motley_policy_op(policy, steps[0][s].op)->name, steps[0][s].level,
                steps[0][s].values_count ? steps[0][s].values[0] : 0, (int)steps[0][s].interpolation);
        add(lines, "\n");
    }
}

/* A line for each level: its value, and the value with the other sign. */
static void add_levels(paper *lines, const motley_policy *policy, const char *name)
{
    for (uint32_t i = 0; i < policy->spaces; i++) {
        const mot_space *const space = &policy->space[i];
        for (int level = 0; strcmp(space->name, name) == 0 && level < policy->top_bins; level++)
            add(lines, "level %d: %.17g %.17g\n", level, 0.0 + mot_space_value(policy, space, level, 0),
                0.0 + mot_space_value(policy, space, level, space->sign == MOT_SIGN_RANDOM)); /* -0 becomes 0 */
    }
}

Test(draw, known_answers)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        motley_policy *const policy = builtin(known[i].policy);
        paper lines = { 0 };
        if (strcmp(known[i].what, "draws") == 0)
            add_draws(&lines, policy);
        else
            add_levels(&lines, policy, known[i].what);
        cr_expect_eq(mot_hash(MOT_HASH_BEGIN, lines.text, lines.used), known[i].hash,
                     "%s: %s differ from what `python3 tests/known_draws.py %s` prints; here they are\n%s",
                     known[i].policy, known[i].what, known[i].policy, lines.text);
        free(lines.text);
        motley_policy_destroy(policy);
    }
    cr_expect_geq(sizeof known / sizeof *known, 200);
}

/* --- the batch does not matter --- */

#define SAMPLES 600

typedef struct drawn {
    motley_step steps[SAMPLES][MOT_MAX_STEPS];
    int32_t counts[SAMPLES];
} drawn;

/* Draws samples ids[0..n) and keeps each under its place; [count][max_steps] is spread out to MOT_MAX_STEPS. */
static void draw_into(const motley_policy *policy, uint64_t seed, uint32_t epoch, const uint64_t *ids, size_t n,
                      drawn *out, size_t at)
{
    static int32_t sizes[SAMPLES];
    for (size_t i = 0; i < n; i++)
        sizes[i] = 200 + (int32_t)(ids[i] % 57); /* a size belongs to a sample */
    const size_t room = motley_policy_describe(policy)->max_steps;
    motley_step *steps = calloc(n * room + 1, sizeof *steps);
    const motley_samples samples = { .seed = seed, .epoch = epoch, .ids = ids };
    cr_assert_eq(motley_draw(policy, &samples, n, sizes, sizes, 3, NULL, steps, &out->counts[at], NULL), MOTLEY_OK);
    for (size_t i = 0; i < n; i++)
        memcpy(out->steps[at + i], steps + i * room, room * sizeof *steps);
    free(steps);
}

static bool same_draw(const drawn *a, size_t i, const drawn *b, size_t j)
{
    return a->counts[i] == b->counts[j] &&
           memcmp(a->steps[i], b->steps[j], (size_t)a->counts[i] * sizeof **a->steps) == 0;
}

Test(draw, batches_do_not_matter)
{
    static drawn whole, parts;
    for (size_t b = 0; b < mot_builtin_count; b++) {
        motley_policy *policy = builtin(mot_builtins[b].name);
        if (motley_policy_describe(policy)->takes_boxes) { /* test_boxes.c has them */
            motley_policy_destroy(policy);
            continue;
        }
        uint64_t ids[SAMPLES], turned[SAMPLES];
        for (size_t i = 0; i < SAMPLES; i++)
            ids[i] = 4294967296u * (i % 3) + i * 7; /* also ids past 2^32 */
        draw_into(policy, 99, 3, ids, SAMPLES, &whole, 0);
        for (size_t i = 0; i < SAMPLES; i++) /* one at a time */
            draw_into(policy, 99, 3, &ids[i], 1, &parts, i);
        for (size_t i = 0; i < SAMPLES; i++)
            cr_expect(same_draw(&whole, i, &parts, i), "%s: sample %zu alone", motley_policy_describe(policy)->name, i);
        for (size_t i = 0; i < SAMPLES; i++) /* in another order */
            turned[i] = ids[(i * 7 + 11) % SAMPLES];
        draw_into(policy, 99, 3, turned, SAMPLES, &parts, 0);
        for (size_t i = 0; i < SAMPLES; i++)
            cr_expect(same_draw(&whole, (i * 7 + 11) % SAMPLES, &parts, i), "%s: sample %zu in another order",
                      motley_policy_describe(policy)->name, i);
        for (size_t at = 0, n = 1; at < SAMPLES; at += n, n = n * 2 + 1) { /* split */
            n = n > SAMPLES - at ? SAMPLES - at : n;
            draw_into(policy, 99, 3, &ids[at], n, &parts, at);
        }
        for (size_t i = 0; i < SAMPLES; i++)
            cr_expect(same_draw(&whole, i, &parts, i), "%s: sample %zu of a split batch",
                      motley_policy_describe(policy)->name, i);
        motley_policy_destroy(policy);
    }
}

Test(draw, first_counts_up_like_ids)
{
    motley_policy *policy = builtin("rand_augment");
    int32_t sizes[SAMPLES], counts[2][SAMPLES];
    uint64_t ids[SAMPLES];
    static motley_step steps[2][SAMPLES * 2];
    for (size_t i = 0; i < SAMPLES; i++) {
        sizes[i] = 224;
        ids[i] = UINT64_MAX - 99 + i; /* ids wrap around */
    }
    const motley_samples by_first = { .seed = 5, .first = ids[0] }, by_ids = { .seed = 5, .ids = ids };
    cr_assert_eq(motley_draw(policy, &by_first, SAMPLES, sizes, sizes, 3, NULL, steps[0], counts[0], NULL), MOTLEY_OK);
    cr_assert_eq(motley_draw(policy, &by_ids, SAMPLES, sizes, sizes, 3, NULL, steps[1], counts[1], NULL), MOTLEY_OK);
    cr_expect_arr_eq(counts[0], counts[1], sizeof counts[0]);
    cr_expect_arr_eq(steps[0], steps[1], sizeof steps[0]);
    motley_policy_destroy(policy);
}

/* How many of the samples draw the same under two seeds and epochs. */
static int alike(const motley_policy *policy, uint64_t seed, uint32_t epoch, uint64_t other_seed, uint32_t other_epoch,
                 uint64_t shift)
{
    static drawn a, b;
    uint64_t ids[SAMPLES], shifted[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++) {
        ids[i] = i * 57; /* of one size */
        shifted[i] = ids[i] + shift * 57;
    }
    draw_into(policy, seed, epoch, ids, SAMPLES, &a, 0);
    draw_into(policy, other_seed, other_epoch, shifted, SAMPLES, &b, 0);
    int same = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        same += same_draw(&a, i, &b, i);
    return same;
}

Test(draw, seed_epoch_and_id_change_everything)
{
    motley_policy *policy = builtin("trivial_augment_wide");
    /* By chance two draws agree about twice in 100: 3 of the 14 ops take no value, posterize few. */
    const int most = SAMPLES / 20;
    cr_expect_eq(alike(policy, 1, 0, 1, 0, 0), SAMPLES);
    for (int bit = 0; bit < 64; bit++)
        cr_expect_lt(alike(policy, 1, 0, 1 ^ ((uint64_t)1 << bit), 0, 0), most, "seed bit %d", bit);
    for (int bit = 0; bit < 30; bit++)
        cr_expect_lt(alike(policy, 1, 0, 1, (uint32_t)1 << bit, 0), most, "epoch bit %d", bit);
    for (int bit = 0; bit < 58; bit++)
        cr_expect_lt(alike(policy, 1, 0, 1, 0, (uint64_t)1 << bit), most, "id bit %d", bit);
    motley_policy_destroy(policy);
}

/* --- frequencies --- */

/* The possible outcomes of one repetition, each with its probability and identified by a hash of its applied (op,
 * level, value). The value shows the sign, unless it is neutral. */
typedef struct outcomes {
    uint64_t *key; /* sorted once collected */
    double *probability;
    uint32_t *count;
    size_t used, room;
} outcomes;

#define WIDTH 1000
#define HEIGHT 900

static uint64_t mix(uint64_t key, int op, uint32_t level, double value)
{
    uint64_t bits;
    value += 0.0; /* -0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    const uint64_t parts[2] = { ((uint64_t)(uint32_t)op << 32) ^ level, bits };
    for (int i = 0; i < 2; i++) {
        key = (key ^ parts[i]) * 0x9E3779B97F4A7C15u;
        key ^= key >> 29;
    }
    return key;
}

/* Adds every outcome of steps [index, end) after `key`. */
static void collect(const mot_tables *t, uint32_t index, uint32_t end, uint64_t key, double probability, outcomes *out)
{
    if (index == end) {
        if (out->used == out->room) {
            out->room = out->room ? out->room * 2 : 1024;
            out->key = realloc(out->key, out->room * sizeof *out->key);
            out->probability = realloc(out->probability, out->room * sizeof *out->probability);
        }
        out->key[out->used] = key;
        out->probability[out->used++] = probability;
        return;
    }
    const mot_table_step *step = &t->step[index];
    const double applied = ldexp((double)step->threshold, -32);
    if (applied < 1)
        collect(t, index + 1, end, key, probability * (1 - applied), out);
    const int signs = step->sign == MOT_SIGN_RANDOM ? 2 : 1;
    for (uint32_t level = 0; applied > 0 && level < step->levels; level++)
        for (int minus = 0; minus < signs; minus++) {
            const mot_level_entry *entry = &t->level[step->first_level + level];
            const double value = step->side == MOT_SIDE_NONE
                                     ? entry->value[minus]
                                     : mot_relative(step, entry, minus, step->side == MOT_SIDE_WIDTH ? WIDTH : HEIGHT);
            collect(t, index + 1, end, mix(key, step->op, level, value), probability * applied / step->levels / signs,
                    out);
        }
}

static const outcomes *sorting;

static int by_key(const void *a, const void *b)
{
    const uint64_t p = sorting->key[*(const size_t *)a], q = sorting->key[*(const size_t *)b];
    return p < q ? -1 : p > q;
}

/* Sorts by key and puts equal ones together. */
static void settle(outcomes *out)
{
    size_t *order = malloc(out->used * sizeof *order);
    uint64_t *key = malloc(out->used * sizeof *key);
    double *probability = malloc(out->used * sizeof *probability);
    for (size_t i = 0; i < out->used; i++)
        order[i] = i;
    sorting = out;
    qsort(order, out->used, sizeof *order, by_key);
    size_t used = 0;
    for (size_t i = 0; i < out->used; i++) {
        if (used && key[used - 1] == out->key[order[i]]) {
            probability[used - 1] += out->probability[order[i]];
        } else {
            key[used] = out->key[order[i]];
            probability[used++] = out->probability[order[i]];
        }
    }
    free(order);
    free(out->key);
    free(out->probability);
    *out =
        (outcomes){ .key = key, .probability = probability, .count = calloc(used, sizeof *out->count), .used = used };
}

static size_t find(const outcomes *out, uint64_t key)
{
    size_t low = 0, high = out->used;
    while (low + 1 < high) {
        const size_t middle = (low + high) / 2;
        if (out->key[middle] <= key)
            low = middle;
        else
            high = middle;
    }
    cr_assert_eq(out->key[low], key, "a draw that the policy does not hold");
    return low;
}

/* Whether a device draws a policy's steps side by side. They are those that a sample draws one after the other. */
static bool slots_are_the_sample(const motley_policy *policy)
{
    const mot_tables *t = &policy->tables;
    const bool has_slots = t->choice == MOT_WITH_REPLACEMENT && t->chains == 0;
    for (uint32_t sample = 0; has_slots && sample < 500; sample++) {
        const mot_drawn_sample one = { 99, sample, sample % 7, WIDTH, HEIGHT, 3, 0, (float)(sample % 11) / 10,
                                       0,  NULL,   0 };
        mot_step wanted[MOT_MAX_STEPS] = { 0 }, got[MOT_MAX_STEPS] = { 0 };
        const int n = mot_draw_sample(t, &one, wanted);
        int count = 0;
        for (uint32_t at = 0; at < t->max_steps; at++) {
            mot_slot slot = mot_find_slot(t, &one, at);
            if (mot_slot_applies(t, &one, &slot))
                mot_draw_step(t, slot.index, &one, slot.block, slot.words, &got[count++]);
        }
        cr_assert_eq(count, n, "%s, sample %u", policy->name, sample);
        cr_assert_arr_eq(got, wanted, sizeof got, "%s, sample %u", policy->name, sample);
    }
    return has_slots;
}

Test(draw, slots_are_the_sample)
{
    int policies = 0;
    for (size_t b = 0; b < mot_builtin_count; b++) {
        motley_policy *policy = builtin(mot_builtins[b].name);
        policies += slots_are_the_sample(policy);
        motley_policy_destroy(policy);
    }
    cr_assert_geq(policies, 10);
    motley_policy *policy = parsed("motley: 1\nname: some\np: 0.4\nrepeat: {given: [1, 3]}\nbranches: [[invert, {op: "
                                   "flip_lr, p: 0.5}], equalize]\n");
    cr_assert(slots_are_the_sample(policy));
    motley_policy_destroy(policy);
}

/* Joint chi-square over (op, level, sign, applied or skipped) of one repetition. */
static void joint_chi_square(motley_policy *policy, uint32_t samples)
{
    const mot_tables *t = &policy->tables;
    outcomes out = { 0 };
    for (uint32_t b = 0; b < t->phase[0].branches; b++) {
        const mot_table_branch *branch = &t->branch[t->phase[0].first_branch + b];
        collect(t, branch->first_step, branch->first_step + branch->steps, 1,
                (double)branch->weight / t->phase[0].total_weight, &out);
    }
    settle(&out);
    for (uint32_t sample = 0; sample < samples; sample++) {
        mot_step drawn_steps[MOT_MAX_STEPS];
        const int n =
            mot_draw_sample(t, &(mot_drawn_sample){ 2026, sample, 0, WIDTH, HEIGHT, 3, 0, 0, 0, NULL, 0 }, drawn_steps);
        uint64_t key = 1;
        for (int s = 0; s < n; s++)
            key = mix(key, drawn_steps[s].op, (uint32_t)drawn_steps[s].level, drawn_steps[s].value);
        out.count[find(&out, key)]++;
    }
    const double z = chi_square_z(out.probability, out.count, out.used, samples);
    cr_log_info("%s: %zu outcomes, z %.2f", motley_policy_describe(policy)->name, out.used, z);
    cr_expect(fabs(z) < MAX_Z, "%s: %zu outcomes, z is %.2f, want within %g", motley_policy_describe(policy)->name,
              out.used, z, MAX_Z);
    free(out.key);
    free(out.probability);
    free(out.count);
}

Test(draw, joint_frequencies_of_every_builtin)
{
    sweep(mot_builtin_count, "built-in policies whose outcomes are counted");
    for (size_t b = 0; b < mot_builtin_count; b += sweep_every()) {
        motley_policy *const policy = builtin(mot_builtins[b].name);
        policy->augmix.width = 0;
        policy->repeat.most = 1;
        policy->repeat.weights = policy->repeat.given = 0;
        cr_assert_eq(mot_policy_compile(policy, NULL, NULL), MOTLEY_OK);
        joint_chi_square(policy, 200000);
        motley_policy_destroy(policy);
    }
}

/* The two repetitions of RandAugment share nothing: chi-square over pairs of (op, sign). */
Test(draw, repetitions_are_independent)
{
    motley_policy *policy = builtin("rand_augment");
    enum { CELLS = 28 };
    static double probability[CELLS * CELLS];
    static uint32_t count[CELLS * CELLS];
    const uint32_t samples = 200000;
    int cell_of[MOT_OP_COUNT][2];
    double share[CELLS] = { 0 };
    int cells = 0;
    for (uint32_t i = 0; i < policy->steps; i++) {
        const mot_table_step *step = &policy->tables.step[i];
        const bool two = step->sign == MOT_SIGN_RANDOM;
        for (int minus = 0; minus < 2; minus++)
            cell_of[step->op][minus] = minus && two ? cells + 1 : cells;
        share[cells] = (two ? 0.5 : 1.0) / policy->steps;
        if (two)
            share[cells + 1] = share[cells];
        cells += two ? 2 : 1;
    }
    for (int i = 0; i < cells; i++)
        for (int j = 0; j < cells; j++)
            probability[i * cells + j] = share[i] * share[j];
    for (uint32_t sample = 0; sample < samples; sample++) {
        mot_step steps[MOT_MAX_STEPS];
        cr_assert_eq(mot_draw_sample(&policy->tables,
                                     &(mot_drawn_sample){ 11, sample, 1, WIDTH, HEIGHT, 3, 0, 0, 0, NULL, 0 }, steps),
                     2);
        int cell[2];
        for (int s = 0; s < 2; s++) {
            const double neutral = steps[s].op == MOT_OP_BRIGHTNESS || steps[s].op == MOT_OP_COLOR ||
                                           steps[s].op == MOT_OP_CONTRAST || steps[s].op == MOT_OP_SHARPNESS
                                       ? 1
                                       : 0;
            cell[s] = cell_of[steps[s].op][signbit(steps[s].value - neutral) != 0];
        }
        count[cell[0] * cells + cell[1]]++;
    }
    const double z = chi_square_z(probability, count, (size_t)(cells * cells), samples);
    cr_expect(fabs(z) < MAX_Z, "z is %.2f, want within %g", z, MAX_Z);
    motley_policy_destroy(policy);
}

Test(draw, applied_as_often_as_asked)
{
    static const double p[] = { 0, 1e-3, 0.1, 0.25, 0.5, 0.9, 0.999, 1 };
    motley_policy *policy = parsed("motley: 1\nname: x\nbranches:\n  - [{op: invert, p: 0}, {op: equalize, p: 0.001},\n"
                                   "     {op: grayscale, p: 0.1}, {op: flip_lr, p: 0.25}, {op: flip_ud, p: 0.5},\n"
                                   "     {op: auto_contrast, p: 0.9}, {op: identity, p: 0.999},\n"
                                   "     {op: posterize, value: 3}]\n");
    static const int op[] = { MOT_OP_INVERT,  MOT_OP_EQUALIZE,      MOT_OP_GRAYSCALE, MOT_OP_FLIP_LR,
                              MOT_OP_FLIP_UD, MOT_OP_AUTO_CONTRAST, MOT_OP_IDENTITY,  MOT_OP_POSTERIZE };
    uint32_t count[MOT_OP_COUNT] = { 0 };
    const uint32_t samples = 200000;
    for (uint32_t sample = 0; sample < samples; sample++) {
        mot_step steps[MOT_MAX_STEPS];
        const int n =
            mot_draw_sample(&policy->tables, &(mot_drawn_sample){ 3, sample, 0, 10, 10, 3, 0, 0, 0, NULL, 0 }, steps);
        for (int s = 0; s < n; s++)
            count[steps[s].op]++;
    }
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        const double expected = p[i] * samples, deviation = sqrt(samples * p[i] * (1 - p[i]));
        cr_expect(fabs(count[op[i]] - expected) <= MAX_Z * deviation, "p %g: applied %u times of %u", p[i],
                  count[op[i]], samples);
    }
    motley_policy_destroy(policy);
}

Test(draw, weights_are_kept)
{
    motley_policy *policy = parsed("motley: 1\nname: x\nrepeat: {weights: [1, 0, 2, 0.5]}\nbranches:\n"
                                   "  - {weight: 1, steps: invert}\n  - {weight: 0, steps: equalize}\n"
                                   "  - {weight: 0.001, steps: grayscale}\n  - {weight: 2.5, steps: flip_lr}\n");
    const double repeat[4] = { 1 / 3.5, 0, 2 / 3.5, 0.5 / 3.5 },
                 branch[4] = { 1 / 3.501, 0, 0.001 / 3.501, 2.5 / 3.501 };
    uint32_t repeats[4] = { 0 }, branches[4] = { 0 };
    double drawn_branches = 0;
    const uint32_t samples = 300000;
    for (uint32_t sample = 0; sample < samples; sample++) {
        mot_step steps[MOT_MAX_STEPS];
        const int n =
            mot_draw_sample(&policy->tables, &(mot_drawn_sample){ 4, sample, 0, 10, 10, 3, 0, 0, 0, NULL, 0 }, steps);
        repeats[n]++;
        drawn_branches += n;
        for (int s = 0; s < n; s++)
            branches[steps[s].op == MOT_OP_INVERT      ? 0
                     : steps[s].op == MOT_OP_EQUALIZE  ? 1
                     : steps[s].op == MOT_OP_GRAYSCALE ? 2
                                                       : 3]++;
    }
    cr_expect(fabs(chi_square_z(repeat, repeats, 4, samples)) < MAX_Z);
    cr_expect(fabs(chi_square_z(branch, branches, 4, drawn_branches)) < MAX_Z);
    motley_policy_destroy(policy);
}

/* Equal weights are small whole numbers, so here one that is off by one shows. */
Test(draw, without_replacement_permutes)
{
    motley_policy *policy = parsed("motley: 1\nname: x\nrepeat: 5\nchoice: without_replacement\n"
                                   "branches: [invert, equalize, flip_lr, flip_ud]\n");
    static const int op[4] = { MOT_OP_INVERT, MOT_OP_EQUALIZE, MOT_OP_FLIP_LR, MOT_OP_FLIP_UD };
    cr_expect_eq(motley_policy_describe(policy)->max_steps, 4);
    uint32_t count[256] = { 0 };
    double probability[256] = { 0 };
    const uint32_t samples = 100000;
    for (int order = 0; order < 256; order++) { /* two bits for each place */
        int seen = 0;
        for (int place = 0; place < 4; place++)
            seen |= 1 << (order >> 2 * place & 3);
        probability[order] = seen == 15 ? 1 / 24.0 : 0;
    }
    for (uint32_t sample = 0; sample < samples; sample++) {
        mot_step steps[MOT_MAX_STEPS];
        cr_assert_eq(
            mot_draw_sample(&policy->tables, &(mot_drawn_sample){ 6, sample, 0, 10, 10, 3, 0, 0, 0, NULL, 0 }, steps),
            4); /* then none is left */
        int order = 0;
        for (int place = 0; place < 4; place++)
            for (int i = 0; i < 4; i++)
                order |= steps[place].op == op[i] ? i << 2 * place : 0;
        count[order]++;
    }
    cr_expect(fabs(chi_square_z(probability, count, 256, samples)) < MAX_Z);
    motley_policy_destroy(policy);
}

/* --- interpolation, fill, centre --- */

Test(draw, interpolation_is_drawn_for_warps_only)
{
    motley_policy *policy = parsed("motley: 1\nname: x\ninterpolation: [bicubic, nearest, bilinear]\nbranches:\n"
                                   "  - {op: rotate, value: 10}\n  - invert\n");
    uint32_t count[3] = { 0 }, warps = 0;
    for (uint32_t sample = 0; sample < 60000; sample++) {
        mot_step step;
        cr_assert_eq(
            mot_draw_sample(&policy->tables, &(mot_drawn_sample){ 5, sample, 0, 10, 10, 3, 0, 0, 0, NULL, 0 }, &step),
            1);
        if (step.op == MOT_OP_INVERT) {
            cr_expect_eq(step.interpolation, MOTLEY_NEAREST);
        } else {
            count[step.interpolation]++;
            warps++;
        }
    }
    const double third[3] = { 1 / 3.0, 1 / 3.0, 1 / 3.0 };
    cr_expect(fabs(chi_square_z(third, count, 3, warps)) < MAX_Z);
    motley_policy_destroy(policy);
}

/* `fill` is the policy's (of_op 0) or the op's alone. */
static void expect_fill_of(int of_op, const char *fill, int channels, const uint8_t want[4])
{
    char text[200];
    snprintf(text, sizeof text,
             of_op ? "motley: 1\nname: x\nfill: 77\nops: {rotate: {fill: %s}}\nbranches: [{op: rotate, value: 10}]\n"
                   : "motley: 1\nname: x\nfill: %s\nbranches: [{op: rotate, value: 10}]\n",
             fill);
    motley_policy *policy = parsed(text);
    const int32_t side = 10;
    motley_step step;
    int32_t count;
    cr_assert_eq(motley_draw(policy, &(motley_samples){ 0 }, 1, &side, &side, channels, NULL, &step, &count, NULL),
                 MOTLEY_OK);
    for (int c = 0; c < channels; c++)
        cr_expect_eq(step.fill[c], want[c], "fill %s, %d channels: channel %d is %d, want %d", fill, channels, c,
                     step.fill[c], want[c]);
    motley_policy_destroy(policy);
}

static void expect_fill(const char *fill, int channels, const uint8_t want[4])
{
    expect_fill_of(0, fill, channels, want);
    expect_fill_of(1, fill, channels, want);
}

Test(draw, an_op_without_a_fill_takes_the_policys)
{
    motley_policy *policy = parsed("motley: 1\nname: x\nfill: 5\nops: {rotate: {fill: [1, 2, 3]}}\nbranches:\n"
                                   "  - [{op: rotate, value: 10}, {op: shear_x, value: 0.1}]\n");
    const int32_t side = 10;
    motley_step step[2];
    int32_t count;
    cr_assert_eq(motley_draw(policy, &(motley_samples){ 0 }, 1, &side, &side, 3, NULL, step, &count, NULL), MOTLEY_OK);
    cr_assert_eq(count, 2);
    cr_expect_arr_eq(step[0].fill, ((const uint8_t[3]){ 1, 2, 3 }), 3);
    cr_expect_arr_eq(step[1].fill, ((const uint8_t[3]){ 5, 5, 5 }), 3);
    motley_policy_destroy(policy);
}

Test(draw, fill_follows_the_channels)
{
    expect_fill("7", 1, (const uint8_t[4]){ 7 });
    expect_fill("7", 2, (const uint8_t[4]){ 7, 7 });
    expect_fill("7", 3, (const uint8_t[4]){ 7, 7, 7 });
    expect_fill("7", 4, (const uint8_t[4]){ 7, 7, 7, 7 });
    expect_fill("[124, 116, 104]", 1, (const uint8_t[4]){ 117 }); /* the luma */
    expect_fill("[124, 116, 104]", 2, (const uint8_t[4]){ 117, 255 });
    expect_fill("[124, 116, 104]", 3, (const uint8_t[4]){ 124, 116, 104 });
    expect_fill("[124, 116, 104]", 4, (const uint8_t[4]){ 124, 116, 104, 255 });
    expect_fill("[1, 2, 3, 4]", 4, (const uint8_t[4]){ 1, 2, 3, 4 });
    expect_fill("[1, 2, 3, 4]", 2, (const uint8_t[4]){ 2, 4 });
}

Test(draw, cutout_reports_its_centre)
{
    motley_policy *policy = parsed("motley: 1\nname: x\nbins: 11\nlevel: 10\nops:\n"
                                   "  cutout: {range: [0, 0.5], of: width}\nbranches:\n  - cutout\n"
                                   "  - {op: cutout_tf, value: 20}\n");
    double sum[2][2] = { { 0 } }, together[2] = { 0 };
    uint32_t count[2] = { 0 };
    const int32_t width = 100, height = 60;
    for (uint32_t sample = 0; sample < 20000; sample++) {
        motley_step step;
        int32_t n;
        const motley_samples samples = { .seed = 8, .first = sample };
        cr_assert_eq(motley_draw(policy, &samples, 1, &width, &height, 3, NULL, &step, &n, NULL), MOTLEY_OK);
        cr_assert_eq(step.values_count, 3);
        const int tf = step.op == MOT_OP_CUTOUT_TF;
        cr_assert_eq(step.values[0], tf ? 20 : 50);
        cr_assert(step.values[1] >= 0 && step.values[1] < width && step.values[2] >= 0 && step.values[2] < height);
        if (tf) {
            cr_assert_eq(step.values[1], floor(step.values[1]));
            cr_assert_eq(step.values[2], floor(step.values[2]));
        }
        sum[tf][0] += step.values[1];
        sum[tf][1] += step.values[2];
        together[tf] += (step.values[1] - width / 2.0) * (step.values[2] - height / 2.0);
        count[tf]++;
    }
    for (int tf = 0; tf < 2; tf++) {
        const double half = tf ? 0.5 : 0; /* a drawn corner lies half a pixel lower on average */
        /* x and y are drawn apart: their products average 0 (half^2), with the deviation of independent ones. */
        cr_expect(fabs(together[tf] / count[tf] - half * half) < MAX_Z * width * height / 12 / sqrt(count[tf]));
        cr_expect(fabs(sum[tf][0] / count[tf] - (width / 2.0 - half)) < MAX_Z * width / sqrt(12.0 * count[tf]));
        cr_expect(fabs(sum[tf][1] / count[tf] - (height / 2.0 - half)) < MAX_Z * height / sqrt(12.0 * count[tf]));
    }
    motley_policy_destroy(policy);
}

/* --- arguments --- */

Test(draw, wrong_arguments_are_refused)
{
    motley_policy *policy = builtin("rand_augment");
    const int32_t side = 32, none = 0;
    motley_step steps[2];
    int32_t count;
    motley_error error;
    const uint32_t far = 1u << 16;
    const motley_samples samples = { .seed = 1 }, late = { .epoch = 1u << 30 }, view = { .view = far },
                         views = { .views = &far };
#define REFUSED(word, ...) \
    cr_expect_eq(motley_draw(__VA_ARGS__, &error), MOTLEY_ERR_ARGUMENT); \
    cr_expect(strstr(error.message, word), "'%s' lacks '%s'", error.message, word)
    REFUSED("policy", NULL, &samples, 1, &side, &side, 3, NULL, steps, &count);
    REFUSED("samples", policy, NULL, 1, &side, &side, 3, NULL, steps, &count);
    REFUSED("epoch", policy, &late, 1, &side, &side, 3, NULL, steps, &count);
    REFUSED("view is 65536, want at most 65535", policy, &view, 1, &side, &side, 3, NULL, steps, &count);
    REFUSED("sample 0: view is 65536", policy, &views, 1, &side, &side, 3, NULL, steps, &count);
    REFUSED("channels is 5", policy, &samples, 1, &side, &side, 5, NULL, steps, &count);
    REFUSED("widths is NULL", policy, &samples, 1, NULL, &side, 3, NULL, steps, &count);
    REFUSED("step_counts is NULL", policy, &samples, 1, &side, &side, 3, NULL, steps, NULL);
    REFUSED("sample 0: the size is 32 x 0", policy, &samples, 1, &side, &none, 3, NULL, steps, &count);
    cr_expect_eq(motley_draw(policy, &samples, 0, NULL, NULL, 3, NULL, NULL, NULL, &error), MOTLEY_OK);
    motley_policy_destroy(policy);
}
