/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files that are read. */
#ifndef MOT_FILE_H
#define MOT_FILE_H

#include "base/error.h"

#include <stdio.h>

/* Opens a file or a pipe. Reads wait for a pipe's writer; a pipe without a writer, which would block forever, is
 * refused. Errors: IO, MEMORY. */
motley_status mot_file_open(const char *path, FILE **file, motley_error *error);

#endif
