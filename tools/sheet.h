/* SPDX-License-Identifier: Apache-2.0 */
/* A contact sheet: rows of pictures, each with a few lines of text below. */
#ifndef SHEET_H
#define SHEET_H

#include "tools/picture.h"

typedef struct sheet sheet;

/* A line of text below a picture: a dark name, then a lighter value. */
typedef struct sheet_line {
    const char *name, *value; /* either may be "" */
} sheet_line;

/* `cell_px` is the longer side that a picture gets, `white` what is white in one of 16 bits. NULL with `why` when the
 * sheet would be too large. */
sheet *sheet_create(const char *title, const char *subtitle, size_t rows, size_t columns, int cell_px, double white,
                    char why[PICTURE_WHY]);

/* Puts a picture into a cell, scaled down to fit. Rows without any picture are left out. */
bool sheet_put(sheet *self, size_t row, size_t column, const picture *image, const sheet_line *lines, int count);

bool sheet_write(sheet *self, const char *path, char why[PICTURE_WHY]);
void sheet_destroy(sheet *self);

#endif
