/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes PNG through libpng. Colour profiles, gamma and a transparent colour are ignored, as in Pillow. */
#include "tools/picture.h"

#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the last warning, because it often explains the error that follows. */
typedef struct messages {
    char *why;
    char warning[96];
} messages;

/* libpng has no codes: its texts say "Out of memory", and zlib's "insufficient memory". */
static bool is_memory(const char *text)
{
    return strstr(text, "memory") != NULL;
}

static void fail_to_read(png_structp png, png_const_charp text)
{
    const messages *self = png_get_error_ptr(png);
    if (!strcmp(text, "Read Error") || strstr(text, "Not enough"))
        snprintf(self->why, PICTURE_WHY, "the PNG file is truncated");
    else if (is_memory(text))
        snprintf(self->why, PICTURE_WHY, "no memory to read a PNG");
    else if (*self->warning)
        snprintf(self->why, PICTURE_WHY, "the PNG file is damaged: %s (%s)", text, self->warning);
    else
        snprintf(self->why, PICTURE_WHY, "the PNG file is damaged: %s", text);
    png_longjmp(png, 1);
}

static void fail_to_write(png_structp png, png_const_charp text)
{
    const messages *self = png_get_error_ptr(png);
    if (is_memory(text))
        snprintf(self->why, PICTURE_WHY, "no memory to write a PNG");
    else if (!strcmp(text, "Write Error") && errno)
        snprintf(self->why, PICTURE_WHY, "%s", strerror(errno));
    else
        snprintf(self->why, PICTURE_WHY, "could not be written: %s", text);
    png_longjmp(png, 1);
}

static void warn(png_structp png, png_const_charp text)
{
    messages *self = png_get_error_ptr(png);
    snprintf(self->warning, sizeof self->warning, "%s", text);
}

/* More than one frame: an acTL chunk with a frame count above 1 (Portable Network Graphics, third edition). */
static uint32_t count_frames(png_structp png, png_infop info)
{
    png_unknown_chunkp chunks;
    const int count = png_get_unknown_chunks(png, info, &chunks);
    for (int i = 0; i < count; i++)
        if (!memcmp(chunks[i].name, "acTL", 4) && chunks[i].size >= 4)
            return png_get_uint_32(chunks[i].data);
    return 1;
}

/* Sets the size, channels and type of `out`, or says what is wrong. */
static bool check_header(png_structp png, png_infop info, picture *out, char *why)
{
    const uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    const uint32_t frames = count_frames(png, info);
    out->wide = png_get_bit_depth(png, info) == 16;
    if (out->wide && png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA)
        snprintf(why, PICTURE_WHY, "the PNG has 16 bits and alpha, want it without alpha, or 8 bits");
    else if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE)
        snprintf(why, PICTURE_WHY, "the PNG has a palette, want grey or RGB, with or without alpha");
    else if (frames > 1)
        snprintf(why, PICTURE_WHY, "the PNG is animated (%u frames), want one image", frames);
    else if (picture_check_size(width, height, why)) {
        out->width = (int32_t)width;
        out->height = (int32_t)height;
        out->channels = png_get_channels(png, info);
        return true;
    }
    return false;
}

static void find_orientation(png_structp png, png_infop info, int *orientation)
{
    png_uint_32 length;
    png_bytep data;
    if (!png_get_eXIf_1(png, info, &length, &data))
        return;
    uint8_t *exif = malloc((size_t)length + 6); /* PNG omits the header that JPEG has */
    if (!exif)
        return;
    memcpy(exif, "Exif\0", 6);
    memcpy(exif + 6, data, length);
    *orientation = exif_orientation(exif, (size_t)length + 6);
    free(exif);
}

bool png_read(FILE *file, picture *out, int *orientation, char why[PICTURE_WHY])
{
    messages self = { .why = why };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &self, fail_to_read, warn);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    uint8_t **volatile rows = NULL;
    volatile bool good = false;
    if (!info) {
        snprintf(why, PICTURE_WHY, "no memory to read a PNG");
        goto done;
    }
    if (setjmp(png_jmpbuf(png))) /* out->pixels is the caller's to free */
        goto done;
    png_init_io(png, file);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff); /* ours come with a clearer message */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, (const uint8_t *)"acTL", 1);
    png_read_info(png, info);
    if (!check_header(png, info, out, why))
        goto done;
    good = !orientation;
    if (!orientation || !picture_allocate(out, why))
        goto done;
    png_set_expand_gray_1_2_4_to_8(png);
    if (out->wide)
        png_set_swap(png); /* a file's components begin with the high byte, this machine's do not */
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    rows = malloc((size_t)out->height * sizeof *rows);
    if (!rows) {
        snprintf(why, PICTURE_WHY, "no memory for %d rows", out->height);
        goto done;
    }
    for (int32_t y = 0; y < out->height; y++)
        rows[y] = out->pixels + (size_t)y * (size_t)out->width * picture_pixel_bytes(out);
    png_read_image(png, rows);
    png_read_end(png, info);
    find_orientation(png, info, orientation);
    good = true;
done:
    free(rows);
    png_destroy_read_struct(&png, &info, NULL);
    return good;
}

bool png_write(FILE *file, const picture *in, int effort, char why[PICTURE_WHY])
{
    static const int types[] = { PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA };
    messages self = { .why = why };
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &self, fail_to_write, warn);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    volatile bool good = false;
    if (!info) {
        snprintf(why, PICTURE_WHY, "no memory to write a PNG");
        goto done;
    }
    if (setjmp(png_jmpbuf(png)))
        goto done;
    png_init_io(png, file);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_compression_level(png, effort);
    png_set_IHDR(png, info, (uint32_t)in->width, (uint32_t)in->height, in->wide ? 16 : 8, types[in->channels - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    if (in->wide)
        png_set_swap(png);
    for (int32_t y = 0; y < in->height; y++)
        png_write_row(png, in->pixels + (size_t)y * (size_t)in->width * picture_pixel_bytes(in));
    png_write_end(png, info);
    good = true;
done:
    png_destroy_write_struct(&png, &info);
    return good;
}
