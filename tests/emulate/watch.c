/* SPDX-License-Identifier: Apache-2.0 */
/* See watch.h. */
#include "tests/emulate/watch.h"
#include "tests/emulate/arrays.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_BLOCKS 16

static struct {
    uint8_t *memory;
    size_t bytes;
} blocks[MOST_BLOCKS];
static mot_node now;
static int watching;

static void protect(const array *p, int how)
{
    if (sysconf(_SC_PAGESIZE) <= MOT_ARRAY_ALIGN && mprotect(p->begin, (size_t)(p->end - p->begin), how) != 0) {
        fprintf(stderr, "emulate: memory cannot be protected\n");
        exit(2);
    }
}

/* Says which memory a kernel used that it does not name. Any other fault stays what it is. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    char text[200];
    (void)context;
    for (size_t i = 0; i < arrays_count; i++) {
        if ((uint8_t *)info->si_addr < arrays[i].begin || (uint8_t *)info->si_addr >= arrays[i].end)
            continue;
        snprintf(text, sizeof text, "emulate: a kernel that reads 0x%x and writes 0x%x (mot_node) uses memory 0x%x\n",
                 now.reads, now.writes, arrays[i].memory);
        if (write(STDERR_FILENO, text, strlen(text)) >= 0)
            _exit(1);
    }
    signal(number, SIG_DFL);
}

void *watch_allocate(size_t bytes)
{
    static int turn;
    static uint8_t stack[64 * 1024]; /* the emulator's fibers have small ones */
    const stack_t aside = { .ss_sp = stack, .ss_size = sizeof stack };
    const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    int b = 0;
    while (b < MOST_BLOCKS && blocks[b].memory)
        b++;
    const size_t whole = (bytes + MOT_ARRAY_ALIGN - 1) & ~(size_t)(MOT_ARRAY_ALIGN - 1);
    uint8_t *const memory = aligned_alloc(MOT_ARRAY_ALIGN, whole + MOT_ARRAY_ALIGN);
    if (b == MOST_BLOCKS || !memory || sigaltstack(&aside, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0) {
        fprintf(stderr, "emulate: no memory\n");
        exit(2);
    }
    blocks[b].memory = memory;
    blocks[b].bytes = whole;
    memset(memory, (turn ^= 1) ? 0xA5 : 0x4D,
           whole); /* numbers below 0, or above, which a kernel might take for its own */
    protect(&(array){ 0, memory + whole, memory + whole + MOT_ARRAY_ALIGN }, PROT_NONE);
    return memory;
}

void watch_free(void *memory)
{
    watch_end();
    for (int b = 0; b < MOST_BLOCKS && memory; b++)
        if (blocks[b].memory == memory) {
            uint8_t *const end = blocks[b].memory + blocks[b].bytes;
            protect(&(array){ 0, end, end + MOT_ARRAY_ALIGN }, PROT_READ | PROT_WRITE);
            drop_arrays(memory, end);
            blocks[b].memory = NULL;
        }
    free(memory);
}

/* Arrays in the host's memory, where uploads are assembled, are no kernel's. */
void mot_taken(unsigned memory, void *taken, size_t bytes)
{
    uint8_t *const begin = taken;
    watch_end();
    for (int b = 0; b < MOST_BLOCKS; b++)
        if (blocks[b].memory && begin >= blocks[b].memory && begin < blocks[b].memory + blocks[b].bytes)
            add_array(memory, begin, bytes);
}

void watch_begin(const mot_node *node)
{
    now = *node;
    watching = 1;
    for (size_t i = 0; i < arrays_count; i++)
        protect(&arrays[i], now.writes & arrays[i].memory  ? PROT_READ | PROT_WRITE
                            : now.reads & arrays[i].memory ? PROT_READ
                                                           : PROT_NONE);
}

void watch_resume(void)
{
    const mot_node same = now;
    watch_begin(&same);
}

void watch_end(void)
{
    for (size_t i = 0; i < arrays_count && watching; i++)
        protect(&arrays[i], PROT_READ | PROT_WRITE);
    watching = 0;
}

void watch_forget(void)
{
    watch_end();
    arrays_count = 0;
}
