/* SPDX-License-Identifier: Apache-2.0 */
/* Image files: JPEG and PNG in, PNG out, with the pixels that Pillow sees. */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Dense rows, the channels of a pixel together: 1 grey, 2 grey+alpha, 3 RGB, 4 RGBA. */
typedef struct picture {
    uint8_t *pixels;
    int32_t width, height, channels;
    bool wide; /* components are uint16_t, which have no alpha; else bytes */
} picture;

/* Larger images are refused, since a small file can unpack to a huge image. Pillow warns from this number on. */
#define PICTURE_MAX_PIXELS 178956970
#define PICTURE_MAX_SIDE 1048576 /* of a motley_batch */

#define PICTURE_WHY 256 /* room for a sentence that says what was found and what was wanted */

/* Reads a file and turns it upright (EXIF orientation). False: `why` says why, and nothing is allocated. */
bool picture_read(const char *path, picture *out, char why[PICTURE_WHY]);

/* Writes a PNG, completely or not at all. `effort` is zlib's, 1 to 9. */
bool picture_write(const char *path, const picture *in, int effort, char why[PICTURE_WHY]);

/* Bytes of pixels that picture_read would allocate; 0 when it would fail. */
size_t picture_file_bytes(const char *path);

size_t picture_pixel_bytes(const picture *in);
size_t picture_bytes(const picture *in);
uint8_t picture_byte(const picture *in, size_t i, double white); /* component i, of which `white` is shown as 255 */
bool picture_allocate(picture *out, char why[PICTURE_WHY]);      /* width, height and channels are set */
void picture_free(picture *in);

/* For the formats' own files. */
bool picture_check_size(uint32_t width, uint32_t height, char why[PICTURE_WHY]);
/* `orientation` NULL: only the size, no pixels. */
bool jpeg_read(FILE *file, picture *out, int *orientation, char why[PICTURE_WHY]);
bool png_read(FILE *file, picture *out, int *orientation, char why[PICTURE_WHY]);
bool png_write(FILE *file, const picture *in, int effort, char why[PICTURE_WHY]);
int exif_orientation(const uint8_t *data, size_t length); /* 1 .. 8; data begins with "Exif\0\0" */

#endif
