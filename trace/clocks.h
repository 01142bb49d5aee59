/* SPDX-License-Identifier: Apache-2.0
 * Brings all times of a timeline to one clock: that of the job's first part. PEs of one host have
 * one clock, CLOCK_MONOTONIC. Between hosts, an exchange of all PEs bounds the difference: nobody
 * leaves it before all have entered. So the clock of PE p is ahead of that of PE 0 by at most p's
 * end less 0's begin, and by at least p's begin less 0's end, in each exchange; the exchanges at
 * the start and those at the end each give a bound, and a line joins their middles. The error is
 * half the wider bound. */
#ifndef GSH_TRACE_CLOCKS_H
#define GSH_TRACE_CLOCKS_H

#include "trace/timeline.h"

void gsh_timeline_set_clocks(struct gsh_timeline *t);

#endif
