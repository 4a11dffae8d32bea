/* SPDX-License-Identifier: Apache-2.0 */
/* motley: finds and runs a command, and checks that its output was written. */
#include "tools/out_file.h"
#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    { "ops", cmd_ops, "list the operations" },
    { "policies", cmd_policies, "list the policies that are built in" },
    { "transforms", cmd_transforms, "list the built-in transforms" },
    { "show", cmd_show, "print a policy in full" },
    { "stats", cmd_stats, "print how often a policy applies each operation, with which values" },
    { "compare", cmd_compare, "print policies side by side" },
    { "preview", cmd_preview, "write an HTML page that shows what a policy does to images" },
    { "check", cmd_check, "report every mistake in policy files" },
    { "draw", cmd_draw, "print what samples would get, without images" },
    { "apply", cmd_apply, "augment image files with a policy" },
    { "op", cmd_op, "apply one operation to one image file" },
    { "bench", cmd_bench, "measure the speed of policies and operations" },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "motley %s\n", motley_version());
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int run(const struct command *command, int argc, char **argv)
{
    char name[32];
    snprintf(name, sizeof name, "motley %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    int *status = state->input;
    if (key == ARGP_KEY_ARG) {
        const struct command *command = find_command(arg);
        if (!command)
            argp_error(state, "unknown command '%s'; --help lists them", arg);
        const int at = state->next - 1;
        state->next = state->argc;
        *status = run(command, state->argc - at, state->argv + at);
        return 0;
    }
    if (key == ARGP_KEY_NO_ARGS)
        argp_error(state, "want a command; --help lists them");
    return ARGP_ERR_UNKNOWN;
}

/* The list of commands, below the options. */
static char *filter_help(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    char *list = NULL;
    size_t size;
    FILE *stream = open_memstream(&list, &size);
    if (!stream)
        return (char *)text;
    fputs("Commands:\n", stream);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'motley COMMAND --help' explains one. Exit status: 0 done, 1 bad input, 2 wrong usage.\n", stream);
    fclose(stream);
    return list;
}

/* Closes standard output; errors that appear only here count, too. */
static bool close_output(void)
{
    const bool failed = ferror(stdout);
    if (fclose(stdout) == 0 && !failed)
        return true;
    if (errno != EPIPE) /* EPIPE: the reader has had enough, as in `motley ops | head` */
        complain("standard output: %s", errno ? strerror(errno) : "could not be written");
    return false;
}

static void at_exit(void)
{
    out_file_end();
    if (!close_output())
        _Exit(EXIT_INPUT);
}

/* Opens standard streams that are closed, so that no file gets their descriptors. Reading or writing them then fails.
 */
static void hold_streams(void)
{
    for (int k = STDIN_FILENO; k <= STDERR_FILENO; k++)
        if (fcntl(k, F_GETFD) < 0 && open("/dev/null", k == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            _Exit(EXIT_INPUT);
}

int main(int argc, char **argv)
{
    hold_streams();
    if (argc > 0)
        argv[0] = "motley"; /* messages begin with it */
    argp_program_version_hook = print_version;
    argp_err_exit_status = EXIT_USAGE;
    signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe fails instead */
    out_file_catch_signals();
    atexit(at_exit);

    const struct argp argp = {
        .parser = parse,
        .args_doc = "COMMAND [ARGUMENT...]",
        .doc =
            "Gives every image its own augmentation: RandAugment, TrivialAugment, AutoAugment and other policies.\v ",
        .help_filter = filter_help,
    };
    int status = 0;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &status) != 0)
        return EXIT_INPUT;
    return status;
}
