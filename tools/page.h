/* SPDX-License-Identifier: Apache-2.0 */
/* An HTML page that is complete in itself: style, script and pictures are in the file. */
#ifndef PAGE_H
#define PAGE_H

#include "tools/picture.h"

#include <stdio.h>

void page_begin(FILE *page, const char *title);
void page_end(FILE *page);

/* Writes text with the characters escaped that HTML would interpret. */
#define PAGE_BOX_COLOURS 5 /* classes box0, box1, ... of a rect in an overlay of class "boxes" */

void page_text(FILE *page, const char *text);

/* Writes an <img> with these further attributes, and its PNG in base64. */
void page_picture(FILE *page, const picture *image, const char *attributes);

#endif
