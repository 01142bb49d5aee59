/* SPDX-License-Identifier: Apache-2.0
 * A job's messages as a GOAL file, the text that LogGOPSim reads: for each rank its sends and
 * receives, and what has to be over before each. */
#ifndef SIM_GOAL_H
#define SIM_GOAL_H

#include "perftest/sim/engine.h"

/* Of all calls of s, before it runs, but for the rendezvous, which is no rank. All votes go well. A
 * message's tag is that of its call and its key. A send follows the receive before it; sends
 * between two receives do not wait for each other. False: the file cannot be written; says so on
 * stderr. */
bool sim_write_goal(const struct sim *s, const char *name);

#endif
