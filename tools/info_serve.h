/* SPDX-License-Identifier: Apache-2.0
 * gshmem-info --serve PATH: a socket of this node, for its user alone, by which health checkers ask
 * for the hang reports of the user's jobs. */
#ifndef GSH_TOOLS_INFO_SERVE_H
#define GSH_TOOLS_INFO_SERVE_H

/* Serves until SIGTERM or SIGINT, and then takes the socket away. Whoever connects gets a line of
 * JSON for each job, and the connection's end. argv: behind the option. Returns the exit status. */
int gsh_info_serve(int argc, char **argv);

#endif
