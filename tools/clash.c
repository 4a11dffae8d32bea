/* SPDX-License-Identifier: Apache-2.0 */
/* Finds equal files by sorting them by device and inode. */
#include "tools/clash.h"

#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One file, or a name in a folder. A file to be written may have both. */
typedef struct key {
    dev_t device;
    ino_t inode;
    const char *name; /* in the folder; "" for a file */
    size_t use;
} key;

typedef struct use {
    char *path;
    const char *what;
    bool written;
} use;

struct clash_list {
    key *keys;
    use *uses;
    size_t keys_count, keys_room, uses_count, uses_room;
};

clash_list *clash_list_create(void)
{
    return need(calloc(1, sizeof(clash_list)));
}

void clash_list_destroy(clash_list *self)
{
    for (size_t i = 0; i < self->uses_count; i++)
        free(self->uses[i].path);
    free(self->keys);
    free(self->uses);
    free(self);
}

static void add_key(clash_list *self, const char *path, const char *name, size_t user)
{
    struct stat info;
    if (stat(path, &info) != 0 || (*name ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode)))
        return; /* it does not exist yet, or writing destroys nothing: /dev/stdout */
    if (self->keys_count == self->keys_room)
        self->keys = need(realloc(self->keys, (self->keys_room = 2 * self->keys_room + 64) * sizeof *self->keys));
    self->keys[self->keys_count++] = (key){ info.st_dev, info.st_ino, name, user };
}

static size_t add_use(clash_list *self, const char *path, const char *what, bool written)
{
    if (self->uses_count == self->uses_room)
        self->uses = need(realloc(self->uses, (self->uses_room = 2 * self->uses_room + 64) * sizeof *self->uses));
    self->uses[self->uses_count] = (use){ need(strdup(path)), what, written };
    return self->uses_count++;
}

void clash_list_read(clash_list *self, const char *path, const char *what)
{
    add_key(self, path, "", add_use(self, path, what, false));
}

void clash_list_write(clash_list *self, const char *path, const char *what)
{
    const size_t user = add_use(self, path, what, true);
    char *own = self->uses[user].path, *slash = strrchr(own, '/');
    add_key(self, own, "", user);
    if (!slash)
        add_key(self, ".", own, user);
    else if (slash == own)
        add_key(self, "/", slash + 1, user);
    else {
        *slash = '\0';
        add_key(self, own, slash + 1, user);
        *slash = '/';
    }
}

static int compare_keys(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return strcmp(x->name, y->name);
}

bool clash_list_is_good(clash_list *self)
{
    qsort(self->keys, self->keys_count, sizeof *self->keys, compare_keys);
    for (size_t begin = 0, end; begin < self->keys_count; begin = end) {
        const use *written = NULL;
        for (end = begin; end < self->keys_count && compare_keys(&self->keys[begin], &self->keys[end]) == 0; end++)
            if (self->uses[self->keys[end].use].written)
                written = &self->uses[self->keys[end].use];
        for (size_t i = begin; written && i < end; i++) {
            const use *other = &self->uses[self->keys[i].use];
            if (other == written)
                continue;
            complain("%s: %s would write it, but it is %s (%s); nothing was done", written->path, written->what,
                     other->what, other->path);
            return false;
        }
    }
    return true;
}
