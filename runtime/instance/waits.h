/* SPDX-License-Identifier: Apache-2.0
 * What this PE's threads and kernels wait for, when somebody asks: the host's side of
 * wire/waits.h. */
#ifndef GSH_WAITS_H
#define GSH_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/waits.h"

struct gsh_instance;

/* A wait of a host thread. */
struct gsh_waiting {
    const char *call;
    uint32_t kind; /* enum gsh_report_kind or gsh_waits_kind */
    int pe;        /* that is waited for; -1: none in particular */
    uint32_t cmp;  /* GSHMEM_CMP_* */
    int team;      /* of a collective; -1: none */
    const void *address;
    uint64_t expected, seen;
    /* Of a collective: the PEs that are to make it; NULL: all. */
    const int *members;
    int n_members;
};

/* The public call that this thread makes, for waits of what all calls use; a literal. */
extern _Thread_local const char *gsh_waits_this_call
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
static inline void gsh_waits_name_call(const char *call)
{
    gsh_waits_this_call = call;
}
const char *gsh_waits_call(void);

/* Until it is called with NULL, a text that stays as it is: what this thread gives to streams has
 * this name in reports, whichever public call does it. */
void gsh_waits_call_as(const char *call);

/* Where that call stands; file: a literal, or NULL: not known. */
void gsh_waits_set_site(const char *file, uint32_t line);
/* " at sites.cu:12" if that is known, else "": for messages, behind the call's name. */
struct gsh_waits_site_text {
    char text[72];
};
struct gsh_waits_site_text gsh_waits_word_site(void);
/* Whether a file without its folders is one of the library's own headers: calls in these do not
 * pass on where they stand. */
bool gsh_waits_is_of_library(const char *file);
/* The number by which work that this thread hands to a kernel or to another thread names that
 * site; 0: it is not known. Valid in this process, as long as it lives. */
uint32_t gsh_waits_site_number(void);
/* That site's file, without folders; NULL: the number is 0 or unknown. */
const char *gsh_waits_site_file(uint32_t number, uint32_t *line);
/* The calling thread now carries out such work. Returns the number of the site that it had. */
uint32_t gsh_waits_use_site(uint32_t site);
/* The call's name, for a kernel to give back in reports, with a mark behind it that the host makes
 * the call. If the place is known, its number is behind that, and the name is cut for it. */
void gsh_waits_copy_call(char *to, size_t room, const char *call);
/* Takes the numbers off a report's call, which is such a name, and off its comparison
 * (GSH_REPORT_CMP_AT), and says which place they mean: the comparison's, if both have one. *line
 * becomes 0 if neither has. Returns whether there was a mark: the host makes the call. */
bool gsh_waits_split(char *call, uint32_t *cmp, const char **file, uint32_t *line);

/* A wait in which the thread cannot look around, as in a system call: who asks finds it in a list
 * of the process. Of calls inside each other the outermost one stands there, and for the PE that an
 * inner one names if it names none itself. pe: NULL: no wait of a PE, and nothing is done. It is
 * the thread's own until it ends. */
struct gsh_standing_wait {
    struct gsh_standing_wait *next;
    const struct gsh_instance *pe;   /* NULL: it is not in the list */
    struct gsh_standing_wait *outer; /* whose `target` is this one's; NULL: none */
    const char *call, *file;
    uint64_t since_ns;
    int target; /* the PE that is waited for; -1: none in particular */
    uint32_t line, thread;
};
void gsh_waits_begin(struct gsh_standing_wait *wait, const struct gsh_instance *pe,
                     const char *call, int target);
void gsh_waits_end(struct gsh_standing_wait *wait);

/* Between the two the thread is in the driver of a PE's device, which may keep it for long: a
 * kernel finds no room, or is loaded while another one runs. Reports name the thread if that began
 * some time before. device: pe->device. call: NULL: the public call that this thread makes, or
 * nothing if it makes none, as the library's own threads. They may be nested; the outermost counts.
 */
void gsh_waits_enter_driver(const void *device, const char *call);
void gsh_waits_leave_driver(void);

/* If somebody asks, answers that this thread has waited since then; what: NULL: for nothing. Any
 * thread. */
void gsh_waits_tell(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns);

/* For one thread of the process at a time: asks, and later takes the request back. The number is
 * the same for all PEs of the process, and larger each time. */
void gsh_waits_ask(struct gsh_instance *pe, uint32_t request);
void gsh_waits_close(struct gsh_instance *pe);
/* In between: how many have answered, or stand in the list, and of these the first `max`, copied.
 * `state` becomes the place of the entry's site in sites[max], whose line is 0 if it is not known.
 */
uint32_t gsh_waits_read(struct gsh_instance *pe, uint32_t request, struct gsh_report *out,
                        struct gsh_waits_site *sites, uint32_t max);
/* Where the call of the kernel stands that has reported (gsh_control.report); line 0: not known. */
struct gsh_waits_site gsh_waits_reported_site(const struct gsh_instance *pe);
/* At least so many more wait. */
uint32_t gsh_waits_count_missed(const struct gsh_instance *pe);

#endif
