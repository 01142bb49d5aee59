/* SPDX-License-Identifier: Apache-2.0
 * Jobs over several hosts: the launcher starts one branch of itself on each host through an agent
 * (ssh) and talks to it by frames over the branch's stdin; the branch starts the PEs there. If the
 * stream ends the launcher is gone, and the branch ends its PEs. The whole job travels in the first
 * frame, so no part of it, above all the id's secret, is in a command line. */
#ifndef GSH_GSHMEMRUN_HOSTS_H
#define GSH_GSHMEMRUN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include "tools/gshmemrun_job.h"

enum gshmemrun_frame { GSHMEMRUN_STDIN, GSHMEMRUN_STDIN_END, GSHMEMRUN_SIGNAL };

/* Fills o->hosts from o->hosts_text, and n_pes when it was not given; ends the process with one
 * line when the text is wrong. */
void gshmemrun_find_hosts(struct gshmemrun_options *o);

/* The command that starts host's branch; the array ends with NULL and is freed by the caller. */
char **gshmemrun_agent_command(const struct gshmemrun_options *o, int host);

/* Launcher to branch. Sends the part of the caller's environment that concerns the job. */
bool gshmemrun_send_job(int fd, const struct gshmemrun_options *o, int host);
void gshmemrun_send_frame(int fd, enum gshmemrun_frame kind, const void *data, size_t bytes);

/* In the branch: reads the first frame, sets environment and directory. false: after printing one
 * line. */
bool gshmemrun_receive_job(int fd, struct gshmemrun_options *o);

/* Frames as they come in, without waiting. */
struct gshmemrun_frames {
    size_t used, taken; /* taken: by the frame returned last */
    unsigned char data[8192];
};
enum gshmemrun_event {
    GSHMEMRUN_NOTHING_YET,
    GSHMEMRUN_FRAME,
    GSHMEMRUN_LAUNCHER_GONE,
};
/* On GSHMEMRUN_FRAME kind, payload and bytes tell what came; the payload is valid until the next
 * call. */
enum gshmemrun_event gshmemrun_next_frame(struct gshmemrun_frames *frames, int fd,
                                          enum gshmemrun_frame *kind, const void **payload,
                                          size_t *bytes);

#endif
