/* SPDX-License-Identifier: Apache-2.0 */
/* See draws_file.h. */
#include "tools/draws_file.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

typedef struct draw_line {
    uint64_t sample;
    size_t number; /* 1-based */
    char *text;
    char *image, *policy, *view; /* NULL: not said */
    int32_t result;              /* of the view */
    int32_t width, height;       /* 0: not said */
    bool placed;                 /* it has a crop */
} draw_line;

struct draws_file {
    const char *path;
    draw_line *line; /* [count], by sample */
    size_t count, room;
};

/* A side of "size"; 0 if it is not a valid one. */
static int32_t side(struct json_object *size, size_t i)
{
    struct json_object *value = json_object_array_get_idx(size, i);
    const int64_t px = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;
    return px < 1 || px > INT32_MAX ? 0 : (int32_t)px;
}

/* The text at `key`, or NULL; *good becomes false if the value is not a text. */
static char *text_at(struct json_object *object, const char *key, bool *good)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, key, &value))
        return NULL;
    *good = *good && json_object_is_type(value, json_type_string);
    return need(strdup(*good ? json_object_get_string(value) : ""));
}

/* Reads the parts of a line that the command needs; its steps are read when their image is known. */
static bool read_line(void *user, size_t number, const char *text)
{
    draws_file *self = user;
    if (self->count == self->room)
        self->line = need(realloc(self->line, (self->room = 2 * self->room + 64) * sizeof *self->line));
    draw_line *line = &self->line[self->count++];
    *line = (draw_line){ .number = number, .text = need(strdup(text)) };
    bool good = true;
    struct json_object *object = line_json(line->text), *sample, *size, *result;
    if (!object || !json_object_object_get_ex(object, "sample", &sample) ||
        !json_object_is_type(sample, json_type_int) || json_object_get_int64(sample) < 0) {
        complain("%s:%zu: want a JSON object with \"sample\" and \"steps\", as 'motley apply --draws' writes it",
                 self->path, line->number);
        json_object_put(object);
        return false;
    }
    line->sample = json_object_get_uint64(sample);
    line->image = text_at(object, "image", &good);
    line->policy = text_at(object, "policy", &good);
    line->view = text_at(object, "view", &good);
    if (!good)
        complain("%s:%zu: \"image\", \"policy\" or \"view\" is not a text", self->path, line->number);
    line->placed = json_object_object_get_ex(object, "crop", NULL);
    line->result = json_object_object_get_ex(object, "result", &result) ? json_object_get_int(result) : 0;
    if (good && json_object_object_get_ex(object, "size", &size)) {
        const bool two = json_object_is_type(size, json_type_array) && json_object_array_length(size) == 2;
        line->width = two ? side(size, 0) : 0;
        line->height = two ? side(size, 1) : 0;
        good = line->width && line->height;
        if (!good)
            complain("%s:%zu: \"size\" is %s, want [width, height]", self->path, line->number,
                     json_object_to_json_string(size));
    }
    json_object_put(object);
    return good;
}

/* By sample, view and result. */
static int by_sample(const void *a, const void *b)
{
    const draw_line *x = a, *y = b;
    if (x->sample != y->sample)
        return x->sample > y->sample ? 1 : -1;
    const int order = strcmp(x->view ? x->view : "", y->view ? y->view : "");
    return order ? order : (x->result > y->result) - (x->result < y->result);
}

static int by_sample_and_line(const void *a, const void *b)
{
    const draw_line *x = a, *y = b;
    const int order = by_sample(x, y);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

draws_file *draws_file_read(const char *path)
{
    draws_file *self = need(calloc(1, sizeof *self));
    self->path = path;
    bool good = read_lines(path, true, read_line, self);
    if (good && self->count)
        qsort(self->line, self->count, sizeof *self->line, by_sample_and_line);
    for (size_t i = 1; good && i < self->count; i++)
        if (by_sample(&self->line[i], &self->line[i - 1]) == 0) {
            complain("%s:%zu: sample %llu was given before, on line %zu", path, self->line[i].number,
                     (unsigned long long)self->line[i].sample, self->line[i - 1].number);
            good = false;
        }
    if (good)
        return self;
    draws_file_destroy(self);
    return NULL;
}

void draws_file_destroy(draws_file *self)
{
    for (size_t i = 0; self && i < self->count; i++) {
        free(self->line[i].text);
        free(self->line[i].image);
        free(self->line[i].policy);
        free(self->line[i].view);
    }
    if (self)
        free(self->line);
    free(self);
}

/* Whether a path has the base name of one that was read from JSON. */
static bool same_name(const char *path, const char *read)
{
    char *again = text_read_again(path);
    const bool same = !strcmp(base_name(again), base_name(read));
    free(again);
    return same;
}

bool draws_file_steps(const draws_file *self, const drawn_image *image, motley_step *steps, int32_t *count,
                      motley_place *place, char why[PICTURE_WHY])
{
    const char *const view = image->part->view;
    const draw_line wanted = { .sample = image->sample, .view = (char *)view, .result = image->part->result };
    const draw_line *line =
        self->count ? bsearch(&wanted, self->line, self->count, sizeof *self->line, by_sample) : NULL;
    if (!line) {
        snprintf(why, PICTURE_WHY, "%s has no draw for sample %llu%s%s%s", self->path,
                 (unsigned long long)wanted.sample, view ? " of view '" : "", view ? view : "", view ? "'" : "");
        return false;
    }
    uint64_t sample;
    motley_error error;
    if (line->policy && strcmp(line->policy, image->policy))
        snprintf(why, PICTURE_WHY, "%s:%zu: drawn from policy '%s', want one from '%s'", self->path, line->number,
                 line->policy, image->policy);
    else if (line->placed && !image->staged)
        snprintf(why, PICTURE_WHY, "%s:%zu: drawn by a transform, since it has a crop; want one from policy '%s'",
                 self->path, line->number, image->policy);
    else if (line->image && !same_name(image->path, line->image))
        snprintf(why, PICTURE_WHY, "%s:%zu: sample %llu was drawn for %s", self->path, line->number,
                 (unsigned long long)line->sample, base_name(line->image));
    else if (line->width && (line->width != image->width || line->height != image->height))
        snprintf(why, PICTURE_WHY, "%s:%zu: drawn for an image of %dx%d, this one is %dx%d", self->path, line->number,
                 line->width, line->height, image->width, image->height);
    else if (motley_draw_read(line->text, strlen(line->text), image->channels, &sample, image->staged ? place : NULL,
                              steps, image->max_steps, count, &error) != MOTLEY_OK)
        snprintf(why, PICTURE_WHY, "%s:%zu:%d: %s", self->path, line->number, error.column, error.message);
    else
        return true;
    return false;
}

void draws_file_describe(struct json_object *object, const drawn_image *image)
{
    json_object_object_add(object, "policy", text_json(image->policy));
    json_object_object_add(object, "size", size_json(image->width, image->height));
    json_object_object_add(object, "image", text_json(image->path));
}
