/* SPDX-License-Identifier: Apache-2.0 */
/** What a call returns: a small stable code to branch on, and a sentence to show. */
#ifndef MOTLEY_STATUS_H
#define MOTLEY_STATUS_H

#include "motley/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum motley_status {
    MOTLEY_OK = 0,
    MOTLEY_ERR_ARGUMENT = 1,    /* a wrong argument: size, stride, range, name, pointer */
    MOTLEY_ERR_POLICY = 2,      /* a mistake in a policy's text, syntax or meaning; line and column are set */
    MOTLEY_ERR_UNSUPPORTED = 3, /* valid, but this build, backend or device cannot do it */
    MOTLEY_ERR_MEMORY = 4,      /* an allocation failed, host or device */
    MOTLEY_ERR_IO = 5,          /* a file could not be opened or read */
    MOTLEY_ERR_CUDA = 6,        /* CUDA reported an error, which the message quotes */
    MOTLEY_ERR_INTERNAL = 7     /* a bug in Motley */
} motley_status;

/** Why a call failed. Filled completely whenever the call does not return MOTLEY_OK. */
typedef struct motley_error {
    motley_status status; /* the same as the return value */
    int line, column;     /* 1-based, in a policy's text; 0 elsewhere */
    char message[240];    /* English, one sentence, no newline, always terminated */
} motley_error;

/** The name of a status, such as "ERR_ARGUMENT"; "UNKNOWN" for an unknown number. */
MOTLEY_API const char *motley_status_name(motley_status status);

#ifdef __cplusplus
}
#endif
#endif
