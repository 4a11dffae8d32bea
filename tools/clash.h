/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files that would be written although they are inputs, or would be written twice. */
#ifndef CLASH_H
#define CLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clash_list clash_list;

clash_list *clash_list_create(void);
void clash_list_destroy(clash_list *self);

/* Adds a file, identified by device and inode, so that its path does not matter; an output also by its folder and name,
 * as it may not exist yet. `what` says who uses it ("--draws"); only the path is copied. */
void clash_list_read(clash_list *self, const char *path, const char *what);
void clash_list_write(clash_list *self, const char *path, const char *what);

/* Reports the first file that is written and used twice; false if there is one. */
bool clash_list_is_good(clash_list *self);

#endif
