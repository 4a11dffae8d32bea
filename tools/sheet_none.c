/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces sheet.c in a build without cairo; fails with that reason. */
#include "tools/sheet.h"

#include <stdio.h>

sheet *sheet_create(const char *title, const char *subtitle, size_t rows, size_t columns, int cell_px, double white,
                    char why[PICTURE_WHY])
{
    (void)title, (void)subtitle, (void)rows, (void)columns, (void)cell_px, (void)white;
    snprintf(why, PICTURE_WHY, "this motley was built without cairo, which draws contact sheets");
    return NULL;
}

bool sheet_put(sheet *self, size_t row, size_t column, const picture *image, const sheet_line *lines, int count)
{
    (void)self, (void)row, (void)column, (void)image, (void)lines, (void)count;
    return false;
}

bool sheet_write(sheet *self, const char *path, char why[PICTURE_WHY])
{
    (void)self, (void)path, (void)why;
    return false;
}

void sheet_destroy(sheet *self)
{
    (void)self;
}
