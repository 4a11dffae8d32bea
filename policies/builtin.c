/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in policies, by name and by number. */
#include "policies/builtin.h"

#include "base/error.h"
#include "policies/policy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const motley_builtin *motley_policy_builtin_get(size_t i)
{
    if (i < mot_builtin_count)
        return &mot_builtins[i];
    return i - mot_builtin_count < mot_builtin_transform_count ? &mot_builtin_transforms[i - mot_builtin_count] : NULL;
}

/* That of this name, or NULL. */
static const motley_builtin *named(const char *name)
{
    const motley_builtin *found = NULL;
    for (size_t i = 0; (found = motley_policy_builtin_get(i)) && strcmp(name, found->name) != 0;)
        i++;
    return found;
}

/* Whether `name` is `other` but for auto_augment_ in front, by which other libraries know its data set alone. */
static bool is_auto_augment(const char *other, const char *name)
{
    static const char front[] = "auto_augment_";
    return strncmp(other, front, sizeof front - 1) == 0 && strcmp(other + sizeof front - 1, name) == 0;
}

/* What else a name that is near to none may have been meant as. */
static const char *taken_for(const char *name)
{
    if (strchr(name, ':'))
        return "; a text has several lines, or begins with '{'";
    return strchr(name, '-') ? "; timm's strings begin with timm:, as in timm:rand-m9-mstd0.5-inc1" : "";
}

/* Reports that no policy is called `name`, with the nearest name. drawn: one that draws ops is wanted. */
static motley_status no_builtin(const char *name, bool drawn, motley_error *error)
{
    const size_t count = mot_builtin_count + mot_builtin_transform_count;
    const char **names = calloc(count, sizeof *names);
    if (!names)
        return mot_fail(error, MOTLEY_ERR_MEMORY, "no memory for %zu names", count);
    for (size_t i = 0; i < count; i++)
        names[i] = motley_policy_builtin_get(i)->name;
    const char *near = mot_nearest_name(name, names, count);
    for (size_t i = 0; i < count && !near; i++)
        if (is_auto_augment(names[i], name))
            near = names[i];
    free(names);
    if (!near)
        return mot_fail(error, MOTLEY_ERR_ARGUMENT, "no policy '%.80s' is built in%s", name, taken_for(name));
    return mot_fail(error, MOTLEY_ERR_ARGUMENT, "no policy '%.80s' is built in, did you mean %s'%s'?", name,
                    drawn && named(near)->has_stages ? "the transform " : "", near);
}

static motley_status builtin(const char *name, bool drawn, bool only_checked, motley_policy **policy,
                             motley_error *error)
{
    MOT_REQUIRE(name, error, "name is NULL, want that of a built-in policy");
    if (mot_is_timm(name))
        return mot_timm_policy(name + sizeof MOT_TIMM - 1, policy, error);
    const motley_builtin *const found = named(name);
    if (!found)
        return no_builtin(name, drawn, error);
    MOT_REQUIRE(!drawn || !found->has_stages, error, "'%.80s' is a transform, want a policy's name", name);
    return mot_policy_parse(found->text, strlen(found->text), NULL, only_checked, policy, error);
}

motley_status mot_builtin_drawn(const char *name, bool only_checked, motley_policy **policy, motley_error *error)
{
    *policy = NULL;
    return builtin(name, true, only_checked, policy, error);
}

motley_status motley_policy_builtin(const char *name, motley_policy **policy, motley_error *error)
{
    MOT_REQUIRE(policy, error, "policy is NULL, want a place for the result");
    *policy = NULL;
    return builtin(name, false, false, policy, error);
}

motley_policy_source motley_policy_source_of(const char *policy)
{
    static const char *const suffixes[] = { ".yaml", ".yml", ".json" };
    if (!policy)
        return MOTLEY_POLICY_BUILTIN;
    const size_t length = strlen(policy);
    if (strchr(policy, '\n') || policy[strspn(policy, " \t\r")] == '{')
        return MOTLEY_POLICY_TEXT;
    if (mot_is_timm(policy) || named(policy))
        return MOTLEY_POLICY_BUILTIN;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (length > strlen(suffixes[i]) && strcmp(policy + length - strlen(suffixes[i]), suffixes[i]) == 0)
            return MOTLEY_POLICY_FILE;
    return strchr(policy, '/') || access(policy, F_OK) == 0 ? MOTLEY_POLICY_FILE : MOTLEY_POLICY_BUILTIN;
}

/* Reads a file. */
static motley_status load(const char *path, const motley_parse_params *params, motley_policy **policy,
                          motley_error *error)
{
    char *text;
    size_t length = 0;
    MOT_TRY(mot_policy_text(path, &text, &length, error));
    const motley_status status = motley_policy_parse(text, length, params, policy, error);
    free(text);
    return status;
}

motley_status motley_policy_open(const char *policy, const motley_parse_params *params, motley_policy **opened,
                                 motley_error *error)
{
    MOT_REQUIRE(opened, error, "opened is NULL, want a place for the result");
    *opened = NULL;
    MOT_REQUIRE(policy, error, "policy is NULL, want a built-in policy's name, a path or a text");
    switch (motley_policy_source_of(policy)) {
    case MOTLEY_POLICY_FILE:
        return load(policy, params, opened, error);
    case MOTLEY_POLICY_TEXT:
        return motley_policy_parse(policy, strlen(policy), params, opened, error);
    default:
        return motley_policy_builtin(policy, opened, error);
    }
}
