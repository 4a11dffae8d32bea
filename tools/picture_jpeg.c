/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JPEG through libjpeg with its defaults (integer IDCT, smooth upsampling), as Pillow does. */
#include "tools/picture.h"

#include <jerror.h>
#include <jpeglib.h>
#include <setjmp.h>
#include <string.h>

typedef struct reader {
    struct jpeg_error_mgr errors; /* first, because libjpeg passes a pointer to it */
    jmp_buf jump;
    char *why;
} reader;

static void fail(j_common_ptr jpeg)
{
    reader *self = (reader *)jpeg->err;
    char text[JMSG_LENGTH_MAX];
    self->errors.format_message(jpeg, text);
    snprintf(self->why, PICTURE_WHY, "%s", text);
    longjmp(self->jump, 1);
}

/* Ignores warnings, as Pillow does, except for a truncated file, whose missing part would be grey. */
static void warn(j_common_ptr jpeg, int level)
{
    reader *self = (reader *)jpeg->err;
    if (level >= 0 || self->errors.msg_code != JWRN_JPEG_EOF)
        return;
    snprintf(self->why, PICTURE_WHY, "the JPEG file is truncated");
    longjmp(self->jump, 1);
}

static bool check_colours(const struct jpeg_decompress_struct *jpeg, char *why)
{
    if (jpeg->num_components == 4)
        snprintf(why, PICTURE_WHY, "the JPEG holds %s colours, want grey or RGB",
                 jpeg->jpeg_color_space == JCS_YCCK ? "YCCK" : "CMYK");
    else if (jpeg->num_components != 1 && jpeg->num_components != 3)
        snprintf(why, PICTURE_WHY, "the JPEG has %d channels, want 1 (grey) or 3 (RGB)", jpeg->num_components);
    else
        return true;
    return false;
}

bool jpeg_read(FILE *file, picture *out, int *orientation, char why[PICTURE_WHY])
{
    struct jpeg_decompress_struct jpeg;
    reader self;
    jpeg.err = jpeg_std_error(&self.errors);
    self.errors.error_exit = fail;
    self.errors.emit_message = warn;
    self.why = why;
    if (setjmp(self.jump)) { /* out->pixels is the caller's to free */
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    jpeg_create_decompress(&jpeg);
    jpeg_stdio_src(&jpeg, file);
    jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&jpeg, TRUE);
    out->width = (int32_t)jpeg.image_width;
    out->height = (int32_t)jpeg.image_height;
    out->channels = jpeg.num_components;
    const bool fits = check_colours(&jpeg, why) && picture_check_size(jpeg.image_width, jpeg.image_height, why);
    if (!fits || !orientation || !picture_allocate(out, why)) {
        jpeg_destroy_decompress(&jpeg);
        return fits && !orientation;
    }
    for (const struct jpeg_marker_struct *m = jpeg.marker_list; m; m = m->next)
        if (m->data_length > 6 && !memcmp(m->data, "Exif\0", 6)) {
            *orientation = exif_orientation(m->data, m->data_length);
            break;
        }
    jpeg.out_color_space = out->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
        uint8_t *row = out->pixels + (size_t)jpeg.output_scanline * (size_t)out->width * (size_t)out->channels;
        jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    return true;
}
