/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out and draws a contact sheet with cairo. */
#include "tools/sheet.h"

#include "base/utf8.h"

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 24.0
#define GAP 14.0
#define TITLE_SIZE 20.0
#define TEXT_SIZE 12.5
#define LINE 17.0 /* from one line of text to the next */
#define CAIRO_MAX_SIDE 32767
#define MAX_SIDE 30000 /* pixels of the whole sheet */
#define MAX_AREA 100000000.0

typedef struct cell {
    cairo_surface_t *image; /* NULL: empty */
    char *text;             /* name, NUL, value, NUL, for each of `lines` */
    int lines;
} cell;

struct sheet {
    char *title, *subtitle;
    size_t rows, columns;
    int cell_px;
    double white;
    cell *cells; /* [rows][columns] */
};

static cell *cell_at(const sheet *self, size_t row, size_t column)
{
    return &self->cells[row * self->columns + column];
}

sheet *sheet_create(const char *title, const char *subtitle, size_t rows, size_t columns, int cell_px, double white,
                    char why[PICTURE_WHY])
{
    const double width = (double)columns * (cell_px + GAP), height = (double)rows * (cell_px + GAP + 3 * LINE);
    if (width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_AREA) {
        snprintf(why, PICTURE_WHY, "%zu by %zu pictures of %d pixels are too many for one sheet of %d pixels a side",
                 columns, rows, cell_px, MAX_SIDE);
        return NULL;
    }
    sheet *self = calloc(1, sizeof *self);
    if (self) {
        *self = (sheet){
            strdup(title), strdup(subtitle), rows, columns, cell_px, white, calloc(rows * columns, sizeof(cell))
        };
        if (self->title && self->subtitle && self->cells)
            return self;
        sheet_destroy(self);
    }
    snprintf(why, PICTURE_WHY, "no memory for a sheet");
    return NULL;
}

void sheet_destroy(sheet *self)
{
    if (!self)
        return;
    for (size_t i = 0; self->cells && i < self->rows * self->columns; i++) {
        cairo_surface_destroy(self->cells[i].image);
        free(self->cells[i].text);
    }
    free(self->cells);
    free(self->title);
    free(self->subtitle);
    free(self);
}

/* cairo's pixels: native 32-bit words, alpha on top, colours multiplied by it. Of a picture that is too large for
 * cairo, every `step`-th. */
static cairo_surface_t *to_surface(const picture *in, double white)
{
    const int32_t longer = in->width > in->height ? in->width : in->height, step = 1 + (longer - 1) / CAIRO_MAX_SIDE;
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (in->width - 1) / step + 1, (in->height - 1) / step + 1);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
        return surface;
    uint8_t *pixels = cairo_image_surface_get_data(surface);
    const int stride = cairo_image_surface_get_stride(surface), channels = in->channels;
    for (int32_t y = 0; y < in->height; y += step) {
        uint32_t *row = (uint32_t *)(void *)(pixels + (size_t)(y / step) * (size_t)stride);
        for (int32_t x = 0; x < in->width; x += step) {
            const size_t from = ((size_t)y * (size_t)in->width + (size_t)x) * (size_t)channels;
            const uint32_t alpha = channels % 2 ? 255 : picture_byte(in, from + (size_t)channels - 1, white);
            uint32_t word = alpha << 24;
            for (int c = 0; c < 3; c++)
                word |= (picture_byte(in, from + (channels >= 3 ? (size_t)c : 0), white) * alpha + 127) / 255
                        << (16 - 8 * c);
            row[x / step] = word;
        }
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

static cairo_surface_t *scale_down(cairo_surface_t *surface, int cell_px)
{
    const int width = cairo_image_surface_get_width(surface), height = cairo_image_surface_get_height(surface);
    const int longer = width > height ? width : height;
    if (longer <= cell_px)
        return cairo_surface_reference(surface);
    const double scale = (double)cell_px / longer;
    const int w = (int)fmax(1, round(width * scale)), h = (int)fmax(1, round(height * scale));
    cairo_surface_t *small = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, w, h);
    cairo_t *cairo = cairo_create(small);
    cairo_scale(cairo, (double)w / width, (double)h / height);
    cairo_set_source_surface(cairo, surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_GOOD);
    cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD); /* no pale seam at the border */
    cairo_paint(cairo);
    cairo_destroy(cairo);
    return small;
}

/* Copies `text`, with '?' for bytes that are not UTF-8; returns the end, past the NUL. */
static char *copy_text(char *to, const char *text)
{
    while (*text) {
        const size_t length = mot_utf8_character(text, strlen(text));
        if (length == 0)
            *to++ = '?'; /* cairo draws nothing after an invalid byte */
        else
            to = (char *)memcpy(to, text, length) + length;
        text += length ? length : 1;
    }
    *to = '\0';
    return to + 1;
}

static bool keep_text(cell *at, const sheet_line *lines, int count)
{
    size_t size = 1;
    for (int i = 0; i < count; i++)
        size += strlen(lines[i].name) + strlen(lines[i].value) + 2;
    char *to = at->text = malloc(size);
    for (int i = 0; to && i < count; i++) {
        to = copy_text(to, lines[i].name);
        to = copy_text(to, lines[i].value);
    }
    at->lines = to ? count : 0;
    return to != NULL;
}

bool sheet_put(sheet *self, size_t row, size_t column, const picture *image, const sheet_line *lines, int count)
{
    cell *at = cell_at(self, row, column);
    cairo_surface_t *full = to_surface(image, self->white);
    at->image = scale_down(full, self->cell_px);
    cairo_surface_destroy(full);
    return keep_text(at, lines, count) && cairo_surface_status(at->image) == CAIRO_STATUS_SUCCESS;
}

static double text_width(cairo_t *cairo, const char *text)
{
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, text, &extents);
    return extents.x_advance;
}

/* Draws `text` at x, y, cut with an ellipsis to fit `room`; returns where the next word may begin. */
static double draw_text(cairo_t *cairo, double x, double y, double room, const char *text)
{
    static const char ellipsis[] = "\u2026";
    char cut[256];
    size_t length = strlen(text);
    bool whole = length < sizeof cut;
    if (!whole)
        length = sizeof cut - sizeof ellipsis;
    for (;;) {
        memcpy(cut, text, length);
        strcpy(cut + length, whole ? "" : ellipsis);
        if (length == 0 || text_width(cairo, cut) <= room)
            break;
        do
            length--;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80); /* between characters of UTF-8 */
        whole = false;
    }
    cairo_move_to(cairo, x, y);
    cairo_show_text(cairo, cut);
    return x + text_width(cairo, cut) + text_width(cairo, " ");
}

static void set_font(cairo_t *cairo, double size, bool bold, double grey)
{
    cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo, size);
    cairo_set_source_rgb(cairo, grey, grey, grey);
}

static void draw_cell(cairo_t *cairo, const cell *at, double x, double y, double image_height, double room)
{
    const int width = cairo_image_surface_get_width(at->image), height = cairo_image_surface_get_height(at->image);
    const double top = y + image_height - height; /* the pictures of a row are aligned at the bottom */
    cairo_set_source_rgb(cairo, 0.9, 0.9, 0.9);   /* behind what is transparent */
    cairo_rectangle(cairo, x, top, width, height);
    cairo_fill(cairo);
    cairo_set_source_surface(cairo, at->image, x, top);
    cairo_paint(cairo);
    const char *text = at->text;
    for (int i = 0; i < at->lines; i++) {
        const double base = y + image_height + (i + 1) * LINE;
        const char *value = text + strlen(text) + 1;
        set_font(cairo, TEXT_SIZE, false, 0.1);
        const double next = *text ? draw_text(cairo, x, base, room, text) : x;
        set_font(cairo, TEXT_SIZE, false, 0.45);
        if (*value && next < x + room)
            draw_text(cairo, next, base, x + room - next, value);
        text = value + strlen(value) + 1;
    }
}

typedef struct row_size {
    double image, whole; /* heights */
} row_size;

static row_size measure_row(const sheet *self, size_t row)
{
    row_size size = { 0, 0 };
    int lines = 0;
    for (size_t column = 0; column < self->columns; column++) {
        const cell *at = cell_at(self, row, column);
        if (!at->image)
            continue;
        size.image = fmax(size.image, cairo_image_surface_get_height(at->image));
        lines = at->lines > lines ? at->lines : lines;
    }
    size.whole = size.image > 0 ? size.image + lines * LINE + GAP + 4 : 0;
    return size;
}

/* As wide as the widest picture of the column, but wide enough for a few words. */
static double measure_column(const sheet *self, size_t column)
{
    double width = 0;
    for (size_t row = 0; row < self->rows; row++) {
        const cell *at = cell_at(self, row, column);
        if (at->image)
            width = fmax(width, fmax(cairo_image_surface_get_width(at->image), fmin(150, self->cell_px)));
    }
    return width;
}

static void draw_all(const sheet *self, cairo_t *cairo, double width)
{
    set_font(cairo, TITLE_SIZE, true, 0.1);
    draw_text(cairo, MARGIN, MARGIN + TITLE_SIZE, width - 2 * MARGIN, self->title);
    set_font(cairo, TEXT_SIZE, false, 0.45);
    draw_text(cairo, MARGIN, MARGIN + TITLE_SIZE + 1.3 * LINE, width - 2 * MARGIN, self->subtitle);
    double y = MARGIN + TITLE_SIZE + 2.3 * LINE;
    for (size_t row = 0; row < self->rows; row++) {
        const row_size size = measure_row(self, row);
        double x = MARGIN;
        for (size_t column = 0; column < self->columns; column++) {
            const double room = measure_column(self, column);
            if (cell_at(self, row, column)->image)
                draw_cell(cairo, cell_at(self, row, column), x, y, size.image, room);
            x += room > 0 ? room + GAP : 0;
        }
        y += size.whole;
    }
}

static bool write_surface(cairo_surface_t *surface, const char *path, char why[PICTURE_WHY])
{
    picture out = { .width = cairo_image_surface_get_width(surface),
                    .height = cairo_image_surface_get_height(surface),
                    .channels = 3 };
    if (!picture_allocate(&out, why))
        return false;
    cairo_surface_flush(surface);
    const uint8_t *pixels = cairo_image_surface_get_data(surface);
    const size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    uint8_t *to = out.pixels;
    for (size_t y = 0; y < (size_t)out.height; y++)
        for (size_t x = 0; x < (size_t)out.width; x++) {
            const uint32_t word = ((const uint32_t *)(const void *)(pixels + y * stride))[x];
            *to++ = (uint8_t)(word >> 16);
            *to++ = (uint8_t)(word >> 8);
            *to++ = (uint8_t)word;
        }
    const bool good = picture_write(path, &out, 9, why);
    picture_free(&out);
    return good;
}

bool sheet_write(sheet *self, const char *path, char why[PICTURE_WHY])
{
    double width = 2 * MARGIN - GAP, height = 2 * MARGIN + TITLE_SIZE + 2 * LINE - GAP;
    for (size_t column = 0; column < self->columns; column++) {
        const double room = measure_column(self, column);
        width += room > 0 ? room + GAP : 0;
    }
    for (size_t row = 0; row < self->rows; row++)
        height += measure_row(self, row).whole;
    width = fmax(width, 480); /* room for the title */
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width), (int)ceil(height));
    cairo_t *cairo = cairo_create(surface);
    cairo_set_source_rgb(cairo, 1, 1, 1);
    cairo_paint(cairo);
    draw_all(self, cairo, width);
    const cairo_status_t status = cairo_status(cairo);
    cairo_destroy(cairo);
    bool good = status == CAIRO_STATUS_SUCCESS;
    if (good)
        good = write_surface(surface, path, why);
    else
        snprintf(why, PICTURE_WHY, "the sheet could not be drawn: %s", cairo_status_to_string(status));
    cairo_surface_destroy(surface);
    return good;
}
