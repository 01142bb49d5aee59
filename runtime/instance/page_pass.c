/* SPDX-License-Identifier: Apache-2.0
 * Makes a PE's page, and passes it to the node's other processes by bootstrap/fdpass.h. */
#include "runtime/instance/page_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/pages.h"
#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/vote.h"

/* What a shared page can no longer do: change its size. */
#define PAGE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

enum gsh_result gsh_page_make(struct gsh_instance *pe, uint64_t bytes)
{
    if (!gsh_file_may_have(bytes)) {
        return gsh_fail(GSH_ERR_SYSTEM,
                        "init: the file size limit (ulimit -f) is below the %llu bytes of the page "
                        "that PEs share",
                        (unsigned long long)bytes);
    }
    /* sealed: nobody who gets it can make it shorter under the others' mappings */
    pe->page_fd = memfd_create("gshmem-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (pe->page_fd < 0 || ftruncate(pe->page_fd, (off_t)bytes) != 0 ||
        fcntl(pe->page_fd, F_ADD_SEALS, PAGE_SEALS) != 0) {
        return gsh_fail_errno(GSH_ERR_SYSTEM, "init: cannot make the shared page");
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pe->page_fd, 0);
    if (p == MAP_FAILED) {
        return gsh_fail_errno(GSH_ERR_NOMEM, "init: cannot map the shared page");
    }
    pe->page = p;
    pe->page->control.magic = GSH_STATE_MAGIC;
    pe->peers[pe->my_pe].page = pe->page;
    return GSH_OK;
}

/* Maps the page that a PE has sent, after checking that it is one: if the file were, or became,
 * shorter than its mapping, a later access would kill this process. */
static enum gsh_result map_page(struct gsh_instance *pe, uint64_t bytes, int from, int fd)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & PAGE_SEALS) != PAGE_SEALS || fstat(fd, &st) != 0 ||
        (uint64_t)st.st_size < bytes) {
        return gsh_note(GSH_ERR_BUG, "PE %d sent what is no page", from);
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        return gsh_note(GSH_ERR_NOMEM, "cannot map PE %d's page: %s", from, strerror(errno));
    }
    pe->peers[from].page = p;
    return GSH_OK;
}

/* Every PE passes its page to the n others of its node. */
static enum gsh_result pass_pages(struct gsh_instance *pe, uint64_t bytes, const int *ranks, int n,
                                  int *fds)
{
    enum gsh_result r = gsh_fdpass_exchange(pe->fdpass, ranks, n, 0, pe->page_fd, fds);
    bool has_fds = r == GSH_OK;
    for (int i = 0; i < n && has_fds; i++) {
        r = r == GSH_OK ? map_page(pe, bytes, ranks[i], fds[i]) : r;
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    gsh_fdpass_shut(pe->fdpass); /* all are met */
    return r;
}

enum gsh_result gsh_page_pass(struct gsh_instance *pe, uint64_t bytes)
{
    int *ranks = calloc((size_t)pe->n_pes, sizeof(*ranks));
    int *fds = calloc((size_t)pe->n_pes, sizeof(*fds));
    int n = 0;
    enum gsh_result r = ranks == NULL || fds == NULL
                            ? gsh_note(GSH_ERR_NOMEM, "no memory for %d peers", pe->n_pes)
                            : GSH_OK;
    for (int i = 0; r == GSH_OK && i < pe->n_pes; i++) {
        if (pe->peers[i].node == pe->peers[pe->my_pe].node && pe->peers[i].instance == NULL) {
            ranks[n++] = i;
        }
    }
    if (r == GSH_OK && n > 0) {
        r = gsh_fdpass_create(pe->secret, pe->my_pe, pe->env.bootstrap_timeout_ns, &pe->fdpass);
    }
    if (r == GSH_OK && n > 0) {
        r = gsh_fdpass_check_room(n, gsh_deaths_n_fds(pe, n));
    }
    /* all listeners are open before any PE sends */
    r = gsh_init_vote(pe, GSH_STEP_LISTENERS, r);
    if (r == GSH_OK && !pe->is_one_process) {
        r = gsh_init_vote(pe, GSH_STEP_PAGES,
                          n > 0 ? pass_pages(pe, bytes, ranks, n, fds) : GSH_OK);
    }
    for (int i = 0; r == GSH_OK && i < pe->n_pes; i++) {
        if (pe->peers[i].instance != NULL) {
            pe->peers[i].page = pe->peers[i].instance->page;
        }
    }
    free(ranks);
    free(fds);
    return r;
}
