/* SPDX-License-Identifier: Apache-2.0
 * The proxy's thread: it makes rounds while there is something to do, polls for a while when there
 * is not, then sleeps until a kernel, a host thread or the transport wakes it.
 *
 * Sleeping loses no request. `is_asleep` changes only by exchanges, so all changes are in one
 * order. The sleeper sets it, checks everything once more, and only then sleeps. A waker makes its
 * request visible, then clears the flag, and writes to the event if the flag was set. If the
 * waker's exchange comes second it finds the flag set, and writes. If it comes first, the sleeper's
 * exchange reads from it or from a later one, so by release and acquire the check that follows sees
 * the request. Each setting of the flag is cleared by one exchange: by a waker, whose write the
 * sleeper then reads, or by the sleeper itself. So at most one write is ever under way. */
#ifndef GSH_THREAD_H
#define GSH_THREAD_H

#include "proxy/engine/state.h"

/* Comes first; then the event may be used. */
enum gsh_result gsh_thread_create_event(struct gsh_proxy *proxy);
void gsh_thread_destroy_event(struct gsh_proxy *proxy);
enum gsh_result gsh_thread_start(struct gsh_proxy *proxy);
void gsh_thread_stop(struct gsh_proxy *proxy);
/* The thread is about to look again at rings and transport. Any thread, with or without the lock.
 */
void gsh_thread_wake(struct gsh_proxy *proxy);

#endif
