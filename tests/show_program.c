/* SPDX-License-Identifier: Apache-2.0 */
/* Prints tile programs (kernels/cuda/tile_program.h), an instruction a line, as SQLite's EXPLAIN does:
 *
 *     show_program POLICY [WIDTH HEIGHT]     those of a built-in's first samples
 *     show_program                           those of the policies of golden/programs.txt
 *     show_program --golden FILE             compares these with FILE
 */
#include "kernels/cuda/tile_job.h"
#include "policies/draw.h"
#include "policies/policy.h"

#include <motley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 8 /* of which those are printed that draw other ops than the ones before */
#define MOST_STEPS 256
#define CTAS 528 /* of the grid: four on each multiprocessor of an H200 */

/* An instruction's name, and the names of its fields a to d, of which the first letter says what they are. */
static const struct instruction {
    const char *name, *field[4];
    int counts;
} instructions[] = {
    [MOT_DO_END] = { "END", { "#more", "#next_tile_at" }, 0 },
    [MOT_DO_BARRIER] = { "BARRIER", { "#arrived", "#next_tile_at" }, 0 },
    [MOT_DO_CURRENT] = { "CURRENT", { "@place" }, 0 },
    [MOT_DO_CUT] = { "CUT", { "#strips" }, 0 },
    [MOT_DO_FETCH] = { "FETCH", { "#halo" }, 0 },
    [MOT_DO_GATHER] = { "GATHER", { "#halo", "$warp", "$then", "#marks" }, 0 },
    [MOT_DO_INTERPOLATE] = { "INTERPOLATE", { "#halo", "$warp" }, 0 },
    [MOT_DO_POSITIONS] = { "POSITIONS", { "#halo", "$warp", NULL, "#marks" }, 0 },
    [MOT_DO_BLUR] = { "BLUR", { "#columns", "$step" }, 0 },
    [MOT_DO_CHAIN] = { "CHAIN", { "#from", "#to", NULL, "#marks" }, 0 },
    [MOT_DO_STENCIL] = { "STENCIL", { NULL, "$step" }, 0 },
    [MOT_DO_LINES] = { "LINES", { "#columns", "$step" }, 0 },
    [MOT_DO_COUNT_TILE] = { "COUNT_TILE", { NULL, "$step", "%before" }, 1 },
    [MOT_DO_COUNT_MEMORY] = { "COUNT_MEMORY", { NULL, "$step", "%before" }, 1 },
    [MOT_DO_TABLE] = { "TABLE", { "%table", "$step", "%before", "%after" }, 1 },
    [MOT_DO_STORE] = { "STORE", { "@place" }, 0 },
    [MOT_DO_DIRECT] = { "DIRECT", { "%table" }, 0 },
};

static const char *const places[] = { "src", "work", "scratch", "result" };
static const char *const paths[] = { [MOT_WARP_FIXED] = "nearest",
                                     [MOT_WARP_SCALE] = "sums",
                                     [MOT_WARP_DOUBLE] = "sums",
                                     [MOT_WARP_BILINEAR] = "bilinear",
                                     [MOT_WARP_BICUBIC] = "bicubic" };
static const char *const items[] = { "table", "colour", "erase" };

static void print_field(FILE *out, const mot_program *p, const char *field, int value)
{
    fprintf(out, " %s=", field + 1);
    if (value == MOT_NONE && *field != '#')
        fputs("none", out);
    else if (*field == '$')
        fputs(motley_op_get(p->id[value])->name, out);
    else if (*field == '@')
        fputs(places[value], out);
    else
        fprintf(out, "%d", value);
}

static void print_program(FILE *out, const mot_program *p, int steps, int ops, int item_count)
{
    for (int i = 0; i < steps; i++)
        if (mot_shape_of(p->id[i]) == MOTLEY_SHAPE_WARP)
            fprintf(out, "      warp %s: %s\n", motley_op_get(p->id[i])->name, paths[p->path[i]]);
    for (int k = 0; k < item_count; k++) {
        const mot_item *const item = &p->item[k];
        fprintf(out, "      item %d: %s", k, items[item->kind]);
        if (item->kind == MOT_ITEM_TABLE)
            fprintf(out, " %d", item->table);
        else
            fprintf(out, " %s", motley_op_get(p->id[item->step])->name);
        if (item->level)
            fprintf(out, ", behind %d warp%s", item->level, item->level > 1 ? "s" : "");
        putc('\n', out);
    }
    for (int t = 0; t < p->tables; t++)
        for (int i = 0; i < steps; i++)
            if (p->point_steps[t] >> i & 1)
                fprintf(out, "      table %d: %s\n", t, motley_op_get(p->id[i])->name);
    for (int k = 0; k < ops; k++) {
        const mot_program_op *const op = &p->op[k];
        const struct instruction *const is = &instructions[op->code];
        const uint8_t value[4] = { op->a, op->b, op->c, op->d };
        fprintf(out, "    %3d  %s", k, is->name);
        for (int f = 0; f < 4; f++)
            if (is->field[f])
                print_field(out, p, is->field[f], value[f]);
        if (is->counts)
            fprintf(out, " statistics=%d", op->count);
        fputs(op->arrives ? " (arrives)\n" : "\n", out);
    }
}

/* What the planner finds of a batch of RGB images from src to dst. */
static mot_program_facts facts_of(int width, int height)
{
    const mot_tile_cut cut = mot_cut_tiles(width, height, MOT_TILE_WORDS);
    mot_program_facts facts = { .width = width, .height = height, .channels = 3, .direct = 1, .marks = 1 };
    facts.one_tile = cut.across * cut.down <= CTAS;
    facts.whole_rows = cut.across == 1;
    facts.lines = facts.one_tile && facts.whole_rows && mot_cut_strips(width, height, 1).height > 0;
    return facts;
}

/* The programs of a sample's steps, as the planner makes them (take_steps in tile_planner.cuh). */
static void print_sample(FILE *out, const mot_step *step, int count, const mot_program_facts *facts)
{
    int at = 0, place = MOT_PLACE_SRC;
    for (int number = 0; number == 0 || at < count; number++) {
        static mot_program p;
        mot_program_state state;
        const mot_step *taken[MOT_WINDOW];
        int n = 0, blurs = 0;
        memset(&p, 0, sizeof p);
        for (; at < count; at++) {
            const int blur = mot_shape_of(step[at].op) == MOTLEY_SHAPE_BLUR;
            if (step[at].arg.flags & MOT_ARG_IDENTITY)
                continue;
            if (n == MOT_WINDOW || (blur && blurs))
                break;
            mot_program_describe(&p, facts, n, &step[at]);
            taken[n++] = &step[at];
            blurs += blur;
        }
        mot_program_begin(&state, &p, facts, place);
        for (int s = 0; s < n; s++)
            mot_program_step(&state, s, taken[s]);
        mot_program_end(&state, at < count);
        if (number > 0)
            fprintf(out, "    program %d\n", number + 1);
        print_program(out, &p, n, state.ops, state.items);
        place = state.place;
    }
}

/* Whether one of the `count` texts before it is the same. */
static bool is_known(char (*text)[256], int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text[i], text[count]) == 0)
            return true;
    return false;
}

/* False after a message. */
static bool print_policy(FILE *out, const char *name, int width, int height)
{
    static mot_step step[MOST_STEPS];
    motley_policy *policy;
    motley_error error;
    const mot_program_facts facts = facts_of(width, height);
    if (motley_policy_builtin(name, &policy, &error) != MOTLEY_OK) {
        fprintf(stderr, "show_program: %s\n", error.message);
        return false;
    }
    if (motley_policy_describe(policy)->max_steps > MOST_STEPS || policy->augmix.width > 0) {
        fprintf(stderr, "show_program: '%s' mixes chains, or draws more than %d steps\n", name, MOST_STEPS);
        motley_policy_destroy(policy);
        return false;
    }
    fprintf(out, "%s, %dx%d, %s\n", name, width, height,
            facts.one_tile ? "a tile for each CTA" : "several tiles for each CTA");
    for (int id = 0; id < SAMPLES; id++) {
        static char ops[SAMPLES][256];
        const mot_drawn_sample sample = { 2026, (uint64_t)id, 0, width, height, 3, 0, 0, 0, NULL, 0 };
        const int count = mot_draw_sample(&policy->tables, &sample, step);
        size_t used = 0;
        for (int i = 0; i < count && used < sizeof ops[id]; i++)
            used += (size_t)snprintf(ops[id] + used, sizeof ops[id] - used, "%s %s%s", i ? "," : "",
                                     motley_op_get(step[i].op)->name,
                                     step[i].arg.flags & MOT_ARG_IDENTITY ? " (changes nothing)" : "");
        if (count == 0)
            strcpy(ops[id], " nothing");
        if (is_known(ops, id))
            continue;
        fprintf(out, "  sample %d:%s\n", id, ops[id]);
        print_sample(out, step, count, &facts);
    }
    motley_policy_destroy(policy);
    return true;
}

/* A dozen policies, small images and, of some, images of more tiles than there are CTAs. */
static bool print_all(FILE *out)
{
    static const char *const small[] = {
        "rand_augment",         "trivial_augment_wide",     "auto_augment_imagenet",
        "auto_augment_cifar10", "timm_rand_m9_mstd05_inc1", "timm_3_augment",
        "timm_auto_augment_v0", "uniform_augment",          "fast_auto_augment_cifar10",
        "pba_cifar10",          "tf_rand_augment",          "fixmatch_rand_augment",
    };
    bool good = true;
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)
        good = print_policy(out, small[i], 224, 224) && good;
    good = print_policy(out, "timm_3_augment", 6000, 4000) && good;
    return print_policy(out, "auto_augment_imagenet", 6000, 4000) && good;
}

/* Compares two texts line by line. Returns how many lines differ, after messages. */
static int differences(FILE *wanted, FILE *got)
{
    char want[256], line[256];
    int wrong = 0;
    for (int number = 1;; number++) {
        const char *const a = fgets(want, sizeof want, wanted), *const b = fgets(line, sizeof line, got);
        if (!a && !b)
            return wrong;
        if ((!a || !b || strcmp(want, line) != 0) && wrong++ < 20)
            fprintf(stderr, "line %d: want %sgot  %s", number, a ? want : "nothing\n", b ? line : "nothing\n");
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--golden") == 0) {
        FILE *const wanted = fopen(argv[2], "r"), *const got = tmpfile();
        if (!wanted || !got || !print_all(got)) {
            perror(argv[2]);
            return 1;
        }
        rewind(got);
        return differences(wanted, got) > 0;
    }
    if (argc == 1)
        return !print_all(stdout);
    return !print_policy(stdout, argv[1], argc > 3 ? atoi(argv[2]) : 224, argc > 3 ? atoi(argv[3]) : 224);
}
