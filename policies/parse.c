/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a policy's text, in the format of doc/policy-format.md, into its model. Every problem is kept with its place.
 */
#include "augmentations/ops.h"
#include "base/error.h"
#include "policies/compile.h"
#include "policies/custom.h"
#include "policies/head.h"
#include "policies/print.h"

#include <stdlib.h>

/* Finds the scale of levels. After a problem it accepts every level, so that levels are not reported too. */
static void find_scale(reader *r, const mot_yaml *map)
{
    motley_policy *const policy = r->policy;
    const bool bins = get(r, map, "bins") != NULL, top = get(r, map, "top") != NULL;
    if (bins && policy->top_bins && !top)
        policy->top = policy->top_bins - 1.0;
    else if (bins)
        policy->top_bins = 2, policy->top = HUGE_VAL;
    else if (top && policy->top == 0)
        policy->top = HUGE_VAL;
}

/* --- ops: magnitude spaces --- */

/* The op that a node names, or -1 after a problem that suggests the nearest name of an op or (spaces_too) a space. */
static int find_op(reader *r, const mot_yaml *node, bool spaces_too)
{
    const char *name = text_of(r, node);
    const int op = mot_policy_find_op(r->policy, name);
    if (op >= 0)
        return op;
    const char *names[MOT_OP_COUNT + MOT_MAX_CUSTOMS + MOT_MAX_SPACES];
    size_t count = 0;
    for (int i = 0; i < MOT_OP_COUNT + (int)r->policy->customs; i++)
        names[count++] = motley_policy_op(r->policy, i)->name;
    for (uint32_t i = 0; spaces_too && i < r->policy->spaces; i++)
        names[count++] = r->policy->space[i].name;
    const char *near = mot_nearest_name(name, names, count);
    if (near)
        PROBLEM(r, node, "unknown operation '%.60s', did you mean '%s'?", name, near);
    else
        PROBLEM(r, node, "unknown operation '%.60s'", name);
    return -1;
}

/* Adds a space without levels, and returns its index; -1: there is no memory. op == -1 means that the error was already
 * reported; steps that name the op must not report it again. */
static int add_space(reader *r, const mot_yaml *node, const char *name, int op)
{
    motley_policy *policy = r->policy;
    const motley_op_info *info = op >= 0 ? motley_policy_op(policy, op) : NULL;
    if (info && info->values_min > 1) {
        PROBLEM(r, node, "operation '%s' takes %d values, want one that takes at most one", name, info->values_min);
        op = -1;
    }
    mot_space *space = &policy->space[policy->spaces];
    *space = (mot_space){ .op = op, .minimum = -HUGE_VAL, .maximum = HUGE_VAL };
    keep_text(r, name, &space->name);
    return space->name ? (int)policy->spaces++ : -1;
}

static void read_range(reader *r, const mot_yaml *map, const mot_yaml *range, mot_space *space)
{
    const mot_yaml *low = get(r, map, "low"), *span = get(r, map, "span");
    double high;
    if (range && (low || span)) {
        PROBLEM(r, range, "both 'range' and 'low' or 'span' are given, want 'range', or 'low' and 'span'");
    } else if (range && (range->kind != MOT_YAML_LIST || range->children != 2)) {
        PROBLEM(r, range, "'range' wants a list of two numbers: the value at level 0 and at the top level");
    } else if (range) {
        const mot_yaml *first = mot_yaml_child(&r->tree, range), *second = mot_yaml_next(&r->tree, first);
        const bool low_fits = number(r, first, "'range'", -1e9, 1e9, &space->low); /* both are reported */
        if (number(r, second, "'range'", -1e9, 1e9, &high) && low_fits)
            space->span = high - space->low;
    } else if (low && span) {
        number(r, low, "'low'", -1e9, 1e9, &space->low);
        number(r, span, "'span'", -1e9, 1e9, &space->span);
    } else {
        PROBLEM(r, low ? low : span, "'%s' is given without '%s'", low ? "low" : "span", low ? "span" : "low");
    }
    space->has_levels = true;
}

static bool has_pixels(const mot_op_facts *facts)
{
    return facts->pixels;
}

static bool has_tangent(const mot_op_facts *facts)
{
    return facts->tangent != MOT_TANGENT_NONE;
}

/* Lists the ops of the table whose facts `has` accepts. */
static const char *names_of(bool (*has)(const mot_op_facts *facts), char *text, size_t room)
{
    const char *names[MOT_OP_COUNT];
    size_t count = 0;
    for (int op = 0; op < MOT_OP_COUNT; op++)
        if (has(&mot_op_table[op].facts))
            names[count++] = mot_op_table[op].info.name;
    return list_of(names, count, text, room);
}

/* Checks the keys that only some ops or ranges can have. */
static void check_space(reader *r, const mot_yaml *map, const mot_space *space)
{
    const mot_yaml *of = get(r, map, "of"), *via = get(r, map, "via");
    const mot_yaml *base = get(r, map, "base"), *min = get(r, map, "min"), *max = get(r, map, "max");
    const mot_yaml *inside = get(r, map, "inside");
    const motley_op_info *info = motley_policy_op(r->policy, space->op);
    const mot_op_facts *facts = mot_policy_facts(space->op);
    char wanted[160];
    if (of && !facts->pixels)
        PROBLEM(r, of, "'of' is given for '%s', but only pixels can be relative to a side: want %s", info->name,
                names_of(has_pixels, wanted, sizeof wanted));
    const char *const beside = base ? "base" : min ? "min" : max ? "max" : NULL;
    if (of && beside)
        PROBLEM(r, get(r, map, beside), "'%s' cannot be combined with 'of'", beside);
    if (via && facts->tangent == MOT_TANGENT_NONE)
        PROBLEM(r, via, "'via' is given for '%s', want %s", info->name, names_of(has_tangent, wanted, sizeof wanted));
    if (get(r, map, "fill") && info->shape != MOTLEY_SHAPE_WARP && info->shape != MOTLEY_SHAPE_ERASE)
        PROBLEM(r, get(r, map, "fill"), "'fill' is given for '%s', which fills nothing: want a warp or cutout",
                info->name);
    if (inside && of)
        PROBLEM(r, of, "'of' cannot be combined with 'inside': want pixels");
    if (inside && (info->shape == MOTLEY_SHAPE_CUSTOM || facts->draws == MOT_DRAWS_BOX))
        PROBLEM(r, inside, "'inside' is given for '%s', want an operation of the table%s", info->name,
                facts->draws == MOT_DRAWS_BOX ? " that does not choose a box itself" : "");
    if (space->minimum > space->maximum)
        PROBLEM(r, min, "'min' is %s and 'max' is %s, want 'min' not above 'max'", MOT_NUMBER(space->minimum),
                MOT_NUMBER(space->maximum));
}

static void read_space(reader *r, const mot_yaml *key, const mot_yaml *map)
{
    static const char *const others[] = { "op", "range", "low", "span" };
    char what[MOT_MAX_NAME + 8];
    uint32_t given;
    mot_space own = { 0 };
    if (!is_name(r, key, "the name of an operation"))
        return;
    snprintf(what, sizeof what, "op '%s'", text_of(r, key));
    for (uint32_t i = 0; i < r->policy->spaces; i++)
        if (strcmp(r->policy->space[i].name, text_of(r, key)) == 0) {
            PROBLEM(r, key, "%s is given twice", what);
            return;
        }
    if (!mot_keys_read(r, map, what, &mot_space_keys, others, COUNT(others), &own, &given))
        return;
    const mot_yaml *named = get(r, map, "op");
    if (named && named->kind != MOT_YAML_SCALAR) {
        PROBLEM(r, named, "'op' is %s, want the name of an operation", kind_of(r, named));
        return;
    }
    const int op = find_op(r, named ? named : key, false);
    const int other = mot_policy_find_op(r->policy, text_of(r, key));
    if (named && op >= 0 && other >= 0 && other != op)
        PROBLEM(r, named, "%s is the name of another operation than '%s', want another name", what, text_of(r, named));
    const int index = add_space(r, key, text_of(r, key), op);
    if (index < 0 || r->policy->space[index].op < 0)
        return;
    mot_space *space = &r->policy->space[index];
    own.name = space->name;
    own.op = op;
    *space = own;
    const mot_yaml *range = get(r, map, "range"), *fill = get(r, map, "fill"), *inside = get(r, map, "inside");
    if (range || get(r, map, "low") || get(r, map, "span")) {
        if (motley_policy_op(r->policy, op)->values_max == 0)
            PROBLEM(r, range ? range : map, "%s has a range, but the operation takes no value", what);
        else
            read_range(r, map, range, space);
    } else if (map->children > (named ? 2u : 0u) + (fill ? 2u : 0u) + (inside ? 2u : 0u)) {
        PROBLEM(r, map, "%s has no range, want 'range', or 'low' and 'span'", what);
    }
    check_space(r, map, space);
}

static void read_ops(reader *r, const mot_yaml *map)
{
    if (map->kind != MOT_YAML_MAP) {
        PROBLEM(r, map, "'ops' is %s, want a mapping from names to ranges", kind_of(r, map));
        return;
    }
    for (const mot_yaml *k = mot_yaml_child(&r->tree, map), *value; k; k = mot_yaml_next(&r->tree, value)) {
        value = mot_yaml_next(&r->tree, k);
        if (!value)
            break;
        if (r->policy->spaces == MOT_MAX_SPACES) {
            PROBLEM(r, k, "more than %d operations", MOT_MAX_SPACES);
            break;
        }
        read_space(r, k, value);
    }
}

/* --- branches --- */

/* The space that a step names; an op that 'ops' does not list gets one without a range. -1: unknown, already reported.
 */
static int space_of(reader *r, const mot_yaml *node)
{
    motley_policy *policy = r->policy;
    for (uint32_t i = 0; i < policy->spaces; i++)
        if (strcmp(policy->space[i].name, text_of(r, node)) == 0)
            return (int)i;
    const int op = find_op(r, node, true);
    if (op >= 0 && policy->spaces < MOT_MAX_SPACES)
        return add_space(r, node, text_of(r, node), op);
    if (op >= 0)
        PROBLEM(r, node, "more than %d operations", MOT_MAX_SPACES);
    return -1;
}

static void read_step(reader *r, const mot_yaml *node)
{
    static const char *const keys[] = { "op", "p", "level", "value" };
    motley_policy *policy = r->policy;
    const mot_yaml *name = node, *level = NULL, *value = NULL, *p = NULL;
    mot_policy_step step = { .probability = 1, .level = policy->level };
    if (node->kind != MOT_YAML_SCALAR) {
        if (!check_keys(r, node, "a step", keys, COUNT(keys)))
            return;
        name = get(r, node, "op");
        if (!name || name->kind != MOT_YAML_SCALAR) {
            PROBLEM(r, name ? name : node, "a step names no operation, want 'op'");
            return;
        }
        p = get(r, node, "p");
        level = get(r, node, "level");
        value = get(r, node, "value");
    }
    const int index = space_of(r, name);
    if (p)
        number(r, p, "'p'", 0, 1, &step.probability);
    const int op = index < 0 ? -1 : policy->space[index].op;
    if (level && value) {
        PROBLEM(r, value, "both 'level' and 'value' are given, want one of them");
    } else if (value) {
        step.level = (mot_level){ .kind = MOT_LEVEL_VALUE };
        number(r, value, "'value'", -1e9, 1e9, &step.level.a);
        if (op >= 0 && motley_policy_op(policy, op)->values_max == 0)
            PROBLEM(r, value, "operation '%s' takes no value", text_of(r, name));
    } else if (level) {
        mot_level_read(r, level, &step.level);
        if (op >= 0 && motley_policy_op(policy, op)->values_max == 0)
            PROBLEM(r, level, "operation '%s' takes no level", text_of(r, name));
    }
    if (op < 0)
        return;
    if (policy->steps == MOT_MAX_ALL_STEPS) {
        PROBLEM(r, node, "more than %d steps", MOT_MAX_ALL_STEPS);
        return;
    }
    step.space = (uint32_t)index;
    if (!policy->space[index].has_levels && !value)
        step.level = (mot_level){ .kind = MOT_LEVEL_NONE };
    r->step_offset[policy->steps] = node->offset;
    policy->step[policy->steps++] = step;
}

static void read_branch(reader *r, const mot_yaml *node)
{
    static const char *const keys[] = { "weight", "steps" };
    motley_policy *policy = r->policy;
    if (policy->branches == MOT_MAX_BRANCHES) {
        PROBLEM(r, node, "more than %d branches", MOT_MAX_BRANCHES);
        return;
    }
    mot_policy_branch *branch = &policy->branch[policy->branches++];
    *branch = (mot_policy_branch){ .weight = 1, .first_step = policy->steps };
    const mot_yaml *steps = node;
    if (node->kind == MOT_YAML_MAP && (get(r, node, "steps") || get(r, node, "weight"))) {
        check_keys(r, node, "a branch", keys, COUNT(keys));
        if (get(r, node, "weight"))
            number(r, get(r, node, "weight"), "'weight'", 0, 1e12, &branch->weight);
        steps = get(r, node, "steps");
        if (!steps) {
            PROBLEM(r, node, "a branch has no 'steps'");
            return;
        }
    }
    if (steps->kind != MOT_YAML_LIST) {
        read_step(r, steps);
    } else if (steps->children == 0 || steps->children > MOT_MAX_BRANCH_STEPS) {
        PROBLEM(r, steps, "a branch has %u steps, want 1 to %d", steps->children, MOT_MAX_BRANCH_STEPS);
    } else {
        for (const mot_yaml *s = mot_yaml_child(&r->tree, steps); s; s = mot_yaml_next(&r->tree, s))
            read_step(r, s);
    }
    branch->steps = policy->steps - branch->first_step;
}

/* The branches of one phase. */
static void read_branches(reader *r, const mot_yaml *list, uint32_t first_epoch)
{
    motley_policy *policy = r->policy;
    mot_policy_phase *phase = &policy->phase[policy->phases++];
    *phase = (mot_policy_phase){ .first_epoch = first_epoch, .first_branch = policy->branches };
    if (list->kind != MOT_YAML_LIST || list->children == 0) {
        PROBLEM(r, list, "'branches' is %s, want a list of at least one", list->children ? kind_of(r, list) : "empty");
        return;
    }
    for (const mot_yaml *b = mot_yaml_child(&r->tree, list); b; b = mot_yaml_next(&r->tree, b))
        read_branch(r, b);
    phase->branches = policy->branches - phase->first_branch;
    double sum = 0;
    for (uint32_t i = 0; i < phase->branches; i++)
        sum += policy->branch[phase->first_branch + i].weight;
    if (!(sum > 0))
        PROBLEM(r, list, "the weights of the branches sum to 0, want more");
}

static void read_phases(reader *r, const mot_yaml *list)
{
    static const char *const keys[] = { "from", "branches" };
    motley_policy *policy = r->policy;
    if (list->kind != MOT_YAML_LIST || list->children == 0 || list->children > MOT_MAX_PHASES) {
        PROBLEM(r, list, "'phases' wants a list of 1 to %d phases", MOT_MAX_PHASES);
        return;
    }
    double least = 0;
    for (const mot_yaml *p = mot_yaml_child(&r->tree, list); p; p = mot_yaml_next(&r->tree, p)) {
        if (!check_keys(r, p, "a phase", keys, COUNT(keys)))
            continue;
        const mot_yaml *from = get(r, p, "from"), *branches = get(r, p, "branches");
        uint32_t epoch = (uint32_t)least;
        if (!from)
            PROBLEM(r, p, "a phase has no 'from', want the epoch it begins at");
        else if (whole_number(r, from, "'from'", least, (1u << 30) - 1, &epoch) && policy->phases == 0 && epoch != 0)
            PROBLEM(r, from, "the first phase begins at epoch %u, want 0", epoch);
        least = epoch + 1.0;
        if (!branches)
            PROBLEM(r, p, "a phase has no 'branches'");
        else
            read_branches(r, branches, epoch);
    }
}

static void read_policy(reader *r, const mot_yaml *map)
{
    static const char *const others[] = { "motley", "name",    "title", "profile",  "paper",
                                          "table",  "version", "ops",   "branches", "phases" };
    uint32_t given;
    if (!mot_keys_read(r, map, "the policy", &mot_policy_keys, others, COUNT(others), r->policy, &given))
        return;
    mot_head_read(r, map, "policy", !r->whole, &r->policy->head);
    find_scale(r, map);
    if (get(r, map, "level"))
        r->level_offset = get(r, map, "level")->offset;
    const mot_yaml *ops = get(r, map, "ops"), *branches = get(r, map, "branches"), *phases = get(r, map, "phases");
    if (ops)
        read_ops(r, ops);
    if (branches && phases) {
        PROBLEM(r, phases, "both 'branches' and 'phases' are given, want one of them");
        return;
    }
    if (!branches && !phases) {
        PROBLEM(r, map,
                "key 'branches' is missing, want what a sample chooses from, or 'stages' for a whole transform");
        return;
    }
    r->branches_offset = (branches ? branches : phases)->offset;
    if (branches)
        read_branches(r, branches, 0);
    else
        read_phases(r, phases);
}

/* Shrinks an array to `count` elements. */
static void *fitted(void *array, size_t count, size_t size)
{
    void *smaller = realloc(array, count ? count * size : size);
    return smaller ? smaller : array;
}

static void fit(motley_policy *policy)
{
    policy->space = fitted(policy->space, policy->spaces, sizeof *policy->space);
    policy->step = fitted(policy->step, policy->steps, sizeof *policy->step);
    policy->branch = fitted(policy->branch, policy->branches, sizeof *policy->branch);
    policy->phase = fitted(policy->phase, policy->phases, sizeof *policy->phase);
}

/* Allocates a policy with room for as much as a text may hold, and sets the defaults of the format. */
static bool make_room(reader *r)
{
    motley_policy *policy = r->policy = calloc(1, sizeof *policy);
    r->step_offset = malloc(MOT_MAX_ALL_STEPS * sizeof *r->step_offset);
    if (!policy || !r->step_offset)
        return false;
    policy->only_checked = r->tree.only_checked;
    policy->fills = 1;
    policy->space = malloc(MOT_MAX_SPACES * sizeof *policy->space);
    policy->step = malloc(MOT_MAX_ALL_STEPS * sizeof *policy->step);
    policy->branch = malloc(MOT_MAX_BRANCHES * sizeof *policy->branch);
    policy->phase = malloc(MOT_MAX_PHASES * sizeof *policy->phase);
    return policy->space && policy->step && policy->branch && policy->phase;
}

motley_status mot_policy_read(mot_yaml_tree *tree, const mot_yaml *node, bool whole, const motley_custom_op *customs,
                              size_t customs_count, motley_policy **policy)
{
    reader r = { .tree = *tree, .whole = whole };
    motley_status status = MOTLEY_ERR_MEMORY;
    if (make_room(&r) && mot_customs_copy(r.policy, customs, customs_count)) {
        read_policy(&r, node);
        mot_customs_keep_named(r.policy);
        status = r.failed ? MOTLEY_ERR_MEMORY : MOTLEY_OK;
    }
    if (status == MOTLEY_OK && r.policy->steps > 0) { /* also after a problem, to find the others */
        fit(r.policy);
        status = mot_policy_compile(r.policy, &r, NULL);
        if (status == MOTLEY_ERR_POLICY)
            status = MOTLEY_OK; /* reported below */
    }
    *tree = r.tree; /* with the problems */
    *policy = r.policy;
    free(r.step_offset);
    return status;
}
