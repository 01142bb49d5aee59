/* SPDX-License-Identifier: Apache-2.0
 * Makes a PE's page, and passes it to the node's other processes by bootstrap/fdpass.h. */
#include "runtime/instance/page_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/pages.h"
#include "base/util.h"
#include "bootstrap/socket.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/book.h"
#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"

/* Between looks for the page of a thread of this process. */
#define PAGE_NAP_NS 50000

/* What a shared page can no longer do: change its size. */
#define PAGE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static bool is_beside(const struct gsh_instance *pe, int other)
{
    return pe->peers[other].node == pe->peers[pe->my_pe].node;
}

/* Of the node's book, whole pages. */
static uint64_t book_bytes(const struct gsh_instance *pe)
{
    return pe->n_nodes > 1 && !gsh_looks_up(pe)
               ? gsh_align_up((uint64_t)pe->n_pes * GSH_BOOK_PE_BYTES, gsh_page_size())
               : 0;
}

/* Of a PE's file, whose page has `bytes`: the book is behind the first one's. */
static uint64_t file_bytes(const struct gsh_instance *pe, int owner, uint64_t bytes)
{
    const bool has_book = book_bytes(pe) > 0 && pe->peers[owner].node_index == 0;
    return has_book ? gsh_align_up(bytes, gsh_page_size()) + book_bytes(pe) : bytes;
}

/* The PEs of the node: their number, and if `ranks` is not NULL, which. */
static int list_node(const struct gsh_instance *pe, int *ranks, int *n_foreign)
{
    int n = 0;
    *n_foreign = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        if (is_beside(pe, i)) {
            if (ranks != NULL) {
                ranks[n] = i;
            }
            n++;
            *n_foreign += gsh_instance_of(pe, i) == NULL;
        }
    }
    return n;
}

static bool are_in_one_file(const struct gsh_instance *pe)
{
    int n_foreign = 0;
    return list_node(pe, NULL, &n_foreign) > GSH_PAGES_MOST_FILES && n_foreign > 0;
}

static void take_parts(struct gsh_instance *pe, int other, void *head, struct gsh_shm_area *area,
                       void *words)
{
    struct gsh_near *near = gsh_near_of(pe, other);
    near->page = head;
    near->area = area;
    near->page_words = words;
}

/* Of a page that is by itself. */
static void take_page(struct gsh_instance *pe, int other, struct gsh_host_page *page)
{
    take_parts(pe, other, page, &page->node, (uint8_t *)page + GSH_PAGE_HEAD_BYTES);
}

/* *fd: -1 on failure. Sealed: no process that gets it can make it shorter under the others'
 * mappings. */
static enum gsh_result make_file(uint64_t bytes, int *fd)
{
    if (!gsh_file_may_have(bytes)) {
        return gsh_note(GSH_ERR_SYSTEM,
                        "the file size limit (ulimit -f) is below the %llu bytes of the page "
                        "that PEs share",
                        (unsigned long long)bytes);
    }
    *fd = memfd_create("gshmem-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0 || ftruncate(*fd, (off_t)bytes) != 0 || fcntl(*fd, F_ADD_SEALS, PAGE_SEALS) != 0) {
        enum gsh_result r =
            gsh_note(GSH_ERR_SYSTEM, "cannot make the shared page: %s", strerror(errno));
        gsh_socket_close(fd);
        return r;
    }
    return GSH_OK;
}

enum gsh_result gsh_page_make(struct gsh_instance *pe, uint64_t bytes)
{
    if (are_in_one_file(pe)) {
        return GSH_OK;
    }
    bytes = file_bytes(pe, pe->my_pe, bytes);
    enum gsh_result r = make_file(bytes, &pe->page_fd);
    if (r != GSH_OK) {
        return gsh_fail(r, "init: %s", gsh_last_error());
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pe->page_fd, 0);
    if (p == MAP_FAILED) {
        return gsh_fail_errno(GSH_ERR_NOMEM, "init: cannot map the shared page");
    }
    struct gsh_host_page *page = p;
    page->control.magic = GSH_STATE_MAGIC;
    /* release: pairs with the acquire in await_page() of other PEs of this process */
    __atomic_store_n(&pe->page, page, __ATOMIC_RELEASE);
    take_page(pe, pe->my_pe, p);
    return GSH_OK;
}

/* Whether a file is, and stays, that large: if it were, or became, shorter than its mapping, a
 * later access would kill this process. */
static bool is_sound(int fd, uint64_t bytes)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & PAGE_SEALS) == PAGE_SEALS && fstat(fd, &st) == 0 &&
           (uint64_t)st.st_size >= bytes;
}

/* Maps the page that a PE has sent, after checking that it is one. */
static enum gsh_result map_page(struct gsh_instance *pe, uint64_t bytes, int from, int fd)
{
    bytes = file_bytes(pe, from, bytes);
    if (!is_sound(fd, bytes)) {
        return gsh_note(GSH_ERR_BUG, "PE %d sent what is no page", from);
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        return gsh_note(GSH_ERR_NOMEM, "cannot map PE %d's page: %s", from, strerror(errno));
    }
    take_page(pe, from, p);
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

/* The node's first PE makes the file of all n pages, and each PE maps it. */
static enum gsh_result share_pages(struct gsh_instance *pe, uint64_t bytes, const int *ranks, int n)
{
    const uint64_t heads = (uint64_t)n * GSH_PAGE_HEAD_BYTES;
    const uint64_t areas = gsh_align_up((uint64_t)n * sizeof(struct gsh_shm_area), gsh_page_size());
    const uint64_t each = gsh_align_up(bytes - GSH_PAGE_HEAD_BYTES, gsh_page_size());
    const uint64_t all = heads + areas + (uint64_t)n * each + book_bytes(pe);
    enum gsh_result made = GSH_OK;
    int fd = -1;
    if (ranks[0] == pe->my_pe) {
        made = make_file(all, &fd);
    }
    enum gsh_result r = gsh_fdpass_spread(pe->fdpass, ranks, n, 0, &fd);
    r = made == GSH_OK ? r : made;
    if (r == GSH_OK && !is_sound(fd, all)) {
        r = gsh_note(GSH_ERR_BUG, "PE %d sent what are no pages", ranks[0]);
    }
    void *p = r == GSH_OK ? mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (r == GSH_OK && p == MAP_FAILED) {
        r = gsh_note(GSH_ERR_NOMEM, "cannot map the node's pages: %s", strerror(errno));
    }
    gsh_socket_close(&fd);
    if (r != GSH_OK) {
        return r;
    }
    pe->node_pages = p;
    pe->node_pages_bytes = all;
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        take_parts(pe, ranks[i], (uint8_t *)p + i * GSH_PAGE_HEAD_BYTES,
                   (struct gsh_shm_area *)((uint8_t *)p + heads) + i,
                   (uint8_t *)p + heads + areas + i * each);
    }
    pe->page = gsh_page_of(pe, pe->my_pe);
    pe->page->control.magic = GSH_STATE_MAGIC;
    return GSH_OK;
}

void *gsh_page_book(const struct gsh_instance *pe, uint64_t bytes, uint64_t *room)
{
    int first = 0;
    *room = book_bytes(pe);
    if (*room == 0) {
        return NULL;
    }
    if (pe->node_pages != NULL) {
        return (uint8_t *)pe->node_pages + pe->node_pages_bytes - *room;
    }
    while (!is_beside(pe, first)) {
        first++;
    }
    const bool is_mine = first == pe->my_pe || gsh_instance_of(pe, first) == NULL;
    return is_mine ? (uint8_t *)gsh_page_of(pe, first) + gsh_align_up(bytes, gsh_page_size())
                   : NULL;
}

void gsh_pages_unmap(struct gsh_instance *pe, uint64_t bytes)
{
    if (pe->node_pages != NULL) {
        munmap(pe->node_pages, pe->node_pages_bytes);
    } else {
        for (int i = 0; pe->peers != NULL && i < pe->n_pes; i++) {
            if (gsh_page_of(pe, i) != NULL && gsh_instance_of(pe, i) == NULL) {
                munmap(gsh_page_of(pe, i), file_bytes(pe, i, bytes));
            }
        }
        if (pe->page != NULL) {
            munmap(pe->page, file_bytes(pe, pe->my_pe, bytes));
        }
    }
    gsh_socket_close(&pe->page_fd);
}

static bool has_rung(void *context)
{
    return gsh_bell_has_rung(context);
}

enum gsh_result gsh_page_open(struct gsh_instance *pe, struct gsh_page_passing *out)
{
    struct gsh_page_passing p = {.ranks = calloc((size_t)pe->n_pes, sizeof(*p.ranks)),
                                 .fds = calloc((size_t)pe->n_pes, sizeof(*p.fds)),
                                 .is_one_file = are_in_one_file(pe)};
    enum gsh_result r = GSH_OK;
    *out = p;
    if (p.ranks == NULL || p.fds == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %d peers", pe->n_pes);
    }
    if (p.is_one_file) {
        int n_foreign = 0;
        p.n = list_node(pe, p.ranks, &n_foreign);
    }
    for (int i = 0; !p.is_one_file && i < pe->n_pes; i++) {
        if (is_beside(pe, i) && gsh_instance_of(pe, i) == NULL) {
            p.ranks[p.n++] = i;
        }
    }
    if (p.n > 0) {
        r = gsh_fdpass_create(pe->secret, pe->my_pe, pe->env.bootstrap_timeout_ns, &pe->fdpass);
    }
    if (r == GSH_OK && p.n > 0 && pe->bell != NULL) {
        gsh_fdpass_heed(pe->fdpass, gsh_bell_fd(pe->bell), has_rung, pe);
    }
    if (r == GSH_OK && p.n > 0) {
        const bool meets_all = !p.is_one_file || pe->outlives_deaths;
        /* the monitor of the first PE has a link to each other one (monitor.c) */
        const int n_links = p.is_one_file && p.ranks[0] == pe->my_pe ? p.n : 0;
        r = gsh_fdpass_check_room(meets_all ? p.n : GSH_FDPASS_SPREAD_LINKS,
                                  gsh_deaths_n_fds(pe, p.n) + n_links);
    }
    *out = p;
    return r;
}

/* The page of another PE of this process, which may be about to make it. */
static enum gsh_result await_page(struct gsh_instance *pe, const struct gsh_instance *other,
                                  struct gsh_host_page **page)
{
    const struct timespec nap = {.tv_nsec = PAGE_NAP_NS};
    const uint64_t deadline_ns = gsh_deadline_in(pe->env.bootstrap_timeout_ns);
    /* acquire: pairs with the release in gsh_page_make() */
    while ((*page = __atomic_load_n(&other->page, __ATOMIC_ACQUIRE)) == NULL) {
        if (gsh_bell_has_rung(pe)) {
            return GSH_ERR_PEER;
        }
        if (gsh_deadline_poll_ms(deadline_ns) == 0) {
            return gsh_note(GSH_ERR_TIMEOUT, "PE %d made no page within %g s", other->my_pe,
                            (double)pe->env.bootstrap_timeout_ns * 1e-9);
        }
        nanosleep(&nap, NULL);
    }
    return GSH_OK;
}

enum gsh_result gsh_page_exchange(struct gsh_instance *pe, uint64_t bytes,
                                  const struct gsh_page_passing *p)
{
    enum gsh_result r = p->n == 0        ? GSH_OK
                        : p->is_one_file ? share_pages(pe, bytes, p->ranks, p->n)
                                         : pass_pages(pe, bytes, p->ranks, p->n, p->fds);
    for (int i = 0; r == GSH_OK && !p->is_one_file && i < pe->n_pes; i++) {
        if (gsh_instance_of(pe, i) != NULL) {
            struct gsh_host_page *page;
            r = await_page(pe, gsh_instance_of(pe, i), &page);
            if (r == GSH_OK) {
                take_page(pe, i, page);
            }
        }
    }
    return r;
}

void gsh_page_end_passing(struct gsh_instance *pe, struct gsh_page_passing *p)
{
    gsh_socket_close(&pe->page_fd); /* all have their mappings */
    free(p->ranks);
    free(p->fds);
    *p = (struct gsh_page_passing){0};
}
