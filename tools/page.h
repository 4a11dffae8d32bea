/* SPDX-License-Identifier: Apache-2.0 */
/* An HTML page that is complete in itself: style, script and pictures are in the file. */
#ifndef PAGE_H
#define PAGE_H

#include "tools/picture.h"

#include <stdio.h>

void page_begin(FILE *page, const char *title);
void page_end(FILE *page);

/* Text, with what HTML would read as its own escaped. */
void page_text(FILE *page, const char *text);

/* An <img> with these further attributes, its PNG in base64. */
void page_picture(FILE *page, const picture *image, int effort, const char *attributes);

#endif
