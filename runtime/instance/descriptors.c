/* SPDX-License-Identifier: Apache-2.0
 * See descriptors.h. */
#include "runtime/instance/descriptors.h"

#include <pthread.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/flush.h"
#include "base/handler.h"
#include "base/log.h"
#include "base/private_fd.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"

void gsh_descriptors_check(struct gsh_instance *pe, const char *call)
{
    /* held until the process ends: another thread finds the same, and must not end it before the
     * line is out */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const int closed = gsh_private_fd_find_closed();
    if (closed < 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (gsh_page_take_word(pe)) { /* other PEs' programs do so, too */
        gsh_fail(GSH_ERR_STATE,
                 "%s: the program has closed descriptor %d, which the library needs; ending the "
                 "job",
                 call, closed);
        gsh_handler_tell(pe->my_pe, 1, gsh_last_error());
    }
    gsh_flush_stdout();
    gsh_store_release_u32(&pe->page->control.abort_word, GSH_ABORT_END);
    _exit(1);
}
