/* SPDX-License-Identifier: Apache-2.0 */
/* motley transforms: lists the built-in transforms. */
#include "tools/tool.h"

#include <string.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key == ARGP_KEY_ARG)
        argp_error(state, "want no argument");
    return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
    .parser = parse,
    .doc = "Lists the transforms that are built in: name, profile, size, title.\v"
           "A transform is a whole recipe, from the decoded image to the network's input. 'motley show NAME' prints "
           "one as "
           "a file that can be edited.",
};

int cmd_transforms(int argc, char **argv)
{
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    int width = 0, status = 0;
    for (size_t i = 0; i < motley_transform_builtin_count(); i++) {
        const int length = (int)strlen(motley_transform_builtin_name(i));
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < motley_transform_builtin_count(); i++) {
        motley_transform *transform = open_transform(motley_transform_builtin_name(i));
        if (!transform) {
            status = EXIT_INPUT;
            continue;
        }
        const motley_transform_info *info = motley_transform_describe(transform);
        printf("%-*s  %-11s  %dx%d  %s\n", width, info->name, info->profile, info->width, info->height, info->title);
        motley_transform_destroy(transform);
    }
    return status;
}
