/* SPDX-License-Identifier: Apache-2.0 */
/** Motley: every image of a batch gets its own augmentation, on the CPU or the GPU, with the same bits.
 *
 *  Users include only this header. These rules hold for every function:
 *
 *  Errors   Every function that can fail returns a motley_status and takes a motley_error last, which may be
 *           NULL. The library never prints, aborts, reads the environment or keeps hidden global state.
 *  Strings  UTF-8, NUL-terminated. A returned `const char *` lives as long as the object that it belongs to.
 *  Params   A params struct that is all zero means all defaults; NULL means the same. A caller that does not compile
 *           these headers, such as ctypes, sets struct_size to the size of its own struct: fields that it lacks are
 *           then taken as zero, and a field that the library lacks gives UNSUPPORTED if it is set. 0 means the size in
 *           these headers. When a struct grows, the soname changes.
 *  Memory   What a function creates, the matching destroy frees; destroy accepts NULL. Pixels are always the caller's;
 *           no pointer is kept after the work is done.
 *  Graphs   A CUDA graph can capture calls on its stream. What a context lacks for a call (memory, a policy's tables)
 *           cannot be captured and gives UNSUPPORTED: make the same call once before. Launch no graph in which a call
 *           failed, nor one that is older than a larger batch or a new policy of the context: for these it
 *           may free memory that the graph uses. Calls of a context wait for each other on any stream, but
 *           not for graphs that are launched on other streams.
 *  Threads  Policies and mixes are immutable: threads may share them. A context, and the prepared calls
 *           made from it, serve one thread at a time. Functions that take neither may run on any thread. */
#ifndef MOTLEY_H
#define MOTLEY_H

#include "motley/apply.h"
#include "motley/call.h"
#include "motley/context.h"
#include "motley/custom.h"
#include "motley/dlpack.h"
#include "motley/draw.h"
#include "motley/follow.h"
#include "motley/image.h"
#include "motley/memory.h"
#include "motley/mix.h"
#include "motley/objects.h"
#include "motley/op.h"
#include "motley/policy.h"
#include "motley/resize.h"
#include "motley/status.h"
#include "motley/subbatch.h"
#include "motley/version.h"
#include "motley/views.h"

#endif
