/* SPDX-License-Identifier: Apache-2.0 */
/* See boxes_file.h. */
#include "tools/boxes_file.h"

#include "tools/tool.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct boxes_file {
    const char *path;
    image_boxes *line; /* [count], by image */
    size_t count, room;
};

/* Reads four numbers; false if `list` is not four numbers. */
static bool read_box(struct json_object *list, double box[4])
{
    if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) != 4)
        return false;
    for (size_t k = 0; k < 4; k++) {
        struct json_object *number = json_object_array_get_idx(list, k);
        if (!json_object_is_type(number, json_type_int) && !json_object_is_type(number, json_type_double))
            return false;
        box[k] = json_object_get_double(number);
    }
    return true;
}

static bool read_line(void *user, size_t number, const char *text)
{
    boxes_file *self = user;
    if (self->count == self->room)
        self->line = need(realloc(self->line, (self->room = 2 * self->room + 64) * sizeof *self->line));
    image_boxes *line = &self->line[self->count++];
    *line = (image_boxes){ .number = number };
    struct json_object *object = line_json(text), *image = NULL, *boxes = NULL, *labels = NULL;
    bool good = object && json_object_object_get_ex(object, "image", &image) &&
                json_object_is_type(image, json_type_string) && json_object_object_get_ex(object, "boxes", &boxes) &&
                json_object_is_type(boxes, json_type_array);
    if (!good) {
        complain("%s:%zu: want {\"image\": PATH, \"boxes\": [[left, top, right, bottom], ...]}", self->path,
                 line->number);
        json_object_put(object);
        return false;
    }
    line->image = need(strdup(json_object_get_string(image)));
    line->count = json_object_array_length(boxes);
    line->boxes = need(calloc(line->count + 1, 4 * sizeof *line->boxes));
    for (size_t b = 0; good && b < line->count; b++) {
        good = read_box(json_object_array_get_idx(boxes, b), &line->boxes[4 * b]);
        if (!good)
            complain("%s:%zu: box %zu is not a list of 4 numbers", self->path, line->number, b);
    }
    if (good && json_object_object_get_ex(object, "labels", &labels)) {
        good = json_object_is_type(labels, json_type_array) && json_object_array_length(labels) == line->count;
        if (good)
            line->labels = json_object_get(labels);
        else
            complain("%s:%zu: \"labels\" is not a list of %zu, one for each box", self->path, line->number,
                     line->count);
    }
    json_object_put(object);
    return good;
}

static int by_image(const void *a, const void *b)
{
    return strcmp(((const image_boxes *)a)->image, ((const image_boxes *)b)->image);
}

static int by_image_and_line(const void *a, const void *b)
{
    const image_boxes *x = a, *y = b;
    const int order = by_image(x, y);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

boxes_file *boxes_file_read(const char *path)
{
    boxes_file *self = need(calloc(1, sizeof *self));
    self->path = path;
    bool good = read_lines(path, true, read_line, self);
    if (good && self->count)
        qsort(self->line, self->count, sizeof *self->line, by_image_and_line);
    for (size_t i = 1; good && i < self->count; i++)
        if (strcmp(self->line[i].image, self->line[i - 1].image) == 0) {
            complain("%s:%zu: the boxes of %s were given before, on line %zu", path, self->line[i].number,
                     self->line[i].image, self->line[i - 1].number);
            good = false;
        }
    if (good)
        return self;
    boxes_file_destroy(self);
    return NULL;
}

void boxes_file_destroy(boxes_file *self)
{
    for (size_t i = 0; self && i < self->count; i++) {
        free(self->line[i].image);
        free(self->line[i].boxes);
        json_object_put(self->line[i].labels);
    }
    if (self)
        free(self->line);
    free(self);
}

const image_boxes *boxes_file_find(const boxes_file *self, const char *path)
{
    const image_boxes wanted = { .image = text_read_again(path) };
    const image_boxes *found =
        self->count ? bsearch(&wanted, self->line, self->count, sizeof *self->line, by_image) : NULL;
    free(wanted.image);
    return found;
}

bool boxes_file_suits(const boxes_file *self, const image_boxes *boxes, const picture *image, char why[PICTURE_WHY])
{
    for (size_t b = 0; b < boxes->count; b++) {
        const double *at = &boxes->boxes[4 * b];
        if (isfinite(at[0] + at[1] + at[2] + at[3]) && at[0] <= at[2] && at[1] <= at[3] && at[0] <= image->width &&
            at[1] <= image->height && at[2] >= 0 && at[3] >= 0)
            continue;
        snprintf(why, PICTURE_WHY,
                 "%s:%zu: box %zu is [%g, %g, %g, %g], want left, top, right and bottom in the image of %dx%d",
                 self->path, boxes->number, b, at[0], at[1], at[2], at[3], image->width, image->height);
        return false;
    }
    return true;
}

bool boxes_file_write(FILE *stream, const char *image, const picture *augmented, const image_boxes *boxes,
                      const double *moved, const double *visibility, const uint8_t *keep)
{
    struct json_object *object = need(json_object_new_object()), *rows = need(json_object_new_array()),
                       *labels = boxes->labels ? need(json_object_new_array()) : NULL,
                       *shares = need(json_object_new_array());
    for (size_t b = 0; b < boxes->count; b++) {
        if (!keep[b])
            continue;
        struct json_object *row = need(json_object_new_array());
        for (int k = 0; k < 4; k++)
            json_object_array_add(row, number_json(moved[4 * b + k]));
        json_object_array_add(rows, row);
        json_object_array_add(shares, number_json(visibility[b]));
        if (labels)
            json_object_array_add(labels, json_object_get(json_object_array_get_idx(boxes->labels, b)));
    }
    json_object_object_add(object, "image", text_json(image));
    json_object_object_add(object, "size", size_json(augmented->width, augmented->height));
    json_object_object_add(object, "boxes", rows);
    if (labels)
        json_object_object_add(object, "labels", labels);
    json_object_object_add(object, "visibility", shares);
    return print_json(stream, object);
}
