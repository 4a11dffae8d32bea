/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file that is to be written is also one that is to be read, or to be written as something else. */
#ifndef CLASH_H
#define CLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clash_list clash_list;

clash_list *clash_list_create(void);
void clash_list_destroy(clash_list *self);

/* Notes a file by what it is, whatever the path: device and inode; for one to be written also its folder and name, as
 * it may not be there yet. `what` says who uses it ("--draws"); the texts of inputs are kept by pointer, those of
 * outputs are copied. */
void clash_list_read(clash_list *self, const char *path, const char *what);
void clash_list_write(clash_list *self, const char *path, const char *what);

/* Complains of the first file that is written and used twice. */
bool clash_list_is_good(clash_list *self);

#endif
