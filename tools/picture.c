/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what kind of image a file is, reads it, and turns it upright. */
#include "tools/picture.h"
#include "tools/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libexif/exif-data.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t picture_pixel_bytes(const picture *in)
{
    return (size_t)in->channels * (in->wide ? sizeof(uint16_t) : 1);
}

size_t picture_bytes(const picture *in)
{
    return (size_t)in->width * (size_t)in->height * picture_pixel_bytes(in);
}

uint8_t picture_byte(const picture *in, size_t i, double white)
{
    if (!in->wide)
        return in->pixels[i];
    const double v = ((const uint16_t *)(const void *)in->pixels)[i];
    return v < white ? (uint8_t)(v / white * 255 + 0.5) : 255;
}

bool picture_check_size(uint32_t width, uint32_t height, char why[PICTURE_WHY])
{
    if (width == 0 || height == 0)
        snprintf(why, PICTURE_WHY, "the image is %ux%u pixels, want at least 1x1", width, height);
    else if (width > PICTURE_MAX_SIDE || height > PICTURE_MAX_SIDE)
        snprintf(why, PICTURE_WHY, "the image is %ux%u pixels, want sides of at most %d", width, height,
                 PICTURE_MAX_SIDE);
    else if ((uint64_t)width * height > PICTURE_MAX_PIXELS)
        snprintf(why, PICTURE_WHY, "the image is %ux%u pixels, %llu in all, want at most %d", width, height,
                 (unsigned long long)width * height, PICTURE_MAX_PIXELS);
    else
        return true;
    return false;
}

bool picture_allocate(picture *out, char why[PICTURE_WHY])
{
    out->pixels = malloc(picture_bytes(out));
    if (!out->pixels)
        snprintf(why, PICTURE_WHY, "no memory for %zu bytes of pixels", picture_bytes(out));
    return out->pixels != NULL;
}

void picture_free(picture *in)
{
    free(in->pixels);
    in->pixels = NULL;
}

int exif_orientation(const uint8_t *data, size_t length)
{
    ExifData *exif = length <= 1 << 24 ? exif_data_new_from_data(data, (unsigned)length) : NULL;
    if (!exif)
        return 1;
    const ExifEntry *entry = exif_content_get_entry(exif->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
    int orientation = 1;
    if (entry && entry->format == EXIF_FORMAT_SHORT && entry->components >= 1)
        orientation = exif_get_short(entry->data, exif_data_get_byte_order(exif));
    exif_data_unref(exif);
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

/* Orientations 2..8, as TIFF 6.0 numbers them and ImageOps.exif_transpose applies them. */
static bool turn_upright(picture *in, int orientation, char why[PICTURE_WHY])
{
    const bool transposed = orientation >= 5;
    const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    picture out = { NULL, transposed ? in->height : in->width, transposed ? in->width : in->height, in->channels,
                    in->wide };
    if (!picture_allocate(&out, why))
        return false;
    const size_t bytes = picture_pixel_bytes(in);
    uint8_t *to = out.pixels;
    for (int32_t y = 0; y < out.height; y++)
        for (int32_t x = 0; x < out.width; x++, to += bytes) {
            const int32_t u = transposed ? y : x, v = transposed ? x : y;
            const size_t column = (size_t)(from_right ? in->width - 1 - u : u);
            const size_t row = (size_t)(from_below ? in->height - 1 - v : v);
            memcpy(to, in->pixels + (row * (size_t)in->width + column) * bytes, bytes);
        }
    picture_free(in);
    *in = out;
    return true;
}

#define TIFF "a TIFF (in Python, motley.Transform takes what tifffile or rasterio reads)"

/* Names the format of a file that is not supported, for the message. */
static const char *name_format(const uint8_t *head, size_t size)
{
    static const struct {
        const char *name, *magic;
        size_t offset, length;
    } formats[] = {
        { "a GIF", "GIF8", 0, 4 },
        { "a WebP", "WEBP", 8, 4 },
        { TIFF, "II*\0", 0, 4 },
        { TIFF, "MM\0*", 0, 4 },
        { "a BMP", "BM", 0, 2 },
        { "a HEIF or AVIF", "ftyp", 4, 4 },
        { "a JPEG 2000", "\0\0\0\x0cjP", 0, 6 },
        { "a JPEG XL", "\xff\x0a", 0, 2 },
        { "a PDF", "%PDF", 0, 4 },
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (size >= formats[i].offset + formats[i].length &&
            !memcmp(head + formats[i].offset, formats[i].magic, formats[i].length))
            return formats[i].name;
    return "not an image";
}

/* Opens a regular file. */
static FILE *open_image(const char *path, char why[PICTURE_WHY])
{
    struct stat info;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* does not wait for a pipe's writer */
    if (descriptor < 0 || fstat(descriptor, &info) != 0)
        snprintf(why, PICTURE_WHY, "%s", strerror(errno));
    else if (S_ISDIR(info.st_mode))
        snprintf(why, PICTURE_WHY, "%s", strerror(EISDIR));
    else if (!S_ISREG(info.st_mode))
        snprintf(why, PICTURE_WHY, "it is a pipe or a device, want a file");
    else {
        FILE *file = fdopen(descriptor, "rb");
        if (file)
            return file;
        snprintf(why, PICTURE_WHY, "%s", strerror(errno));
    }
    if (descriptor >= 0)
        close(descriptor);
    return NULL;
}

/* Reads a file of any format. `orientation` NULL: only its size. */
static bool read_any(const char *path, picture *out, int *orientation, char why[PICTURE_WHY])
{
    *out = (picture){ 0 };
    FILE *file = open_image(path, why);
    if (!file)
        return false;
    uint8_t head[16];
    const size_t size = fread(head, 1, sizeof head, file);
    bool good = false;
    if (ferror(file) || fseek(file, 0, SEEK_SET) != 0)
        snprintf(why, PICTURE_WHY, "%s", strerror(errno));
    else if (size == 0)
        snprintf(why, PICTURE_WHY, "the file is empty, want a PNG or JPEG image");
    else if (size >= 3 && !memcmp(head, "\xff\xd8\xff", 3))
        good = jpeg_read(file, out, orientation, why);
    else if (size >= 8 && !memcmp(head, "\x89PNG\r\n\x1a\n", 8))
        good = png_read(file, out, orientation, why);
    else
        snprintf(why, PICTURE_WHY, "the file is %s, want a PNG or JPEG image", name_format(head, size));
    fclose(file);
    return good;
}

bool picture_read(const char *path, picture *out, char why[PICTURE_WHY])
{
    int orientation = 1;
    const bool good =
        read_any(path, out, &orientation, why) && (orientation == 1 || turn_upright(out, orientation, why));
    if (!good)
        picture_free(out);
    return good;
}

size_t picture_file_bytes(const char *path)
{
    picture size;
    char why[PICTURE_WHY];
    return read_any(path, &size, NULL, why) ? picture_bytes(&size) : 0;
}

bool picture_write(const char *path, const picture *in, int effort, char why[PICTURE_WHY])
{
    out_file file;
    errno = 0;
    if (!out_file_open(&file, path)) {
        snprintf(why, PICTURE_WHY, "%s", strerror(errno));
        return false;
    }
    if (!png_write(file.stream, in, effort, why)) {
        out_file_discard(&file);
        return false;
    }
    if (out_file_commit(&file))
        return true;
    snprintf(why, PICTURE_WHY, "%s", strerror(errno));
    return false;
}
