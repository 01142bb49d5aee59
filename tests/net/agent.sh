#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# agent.sh [--shell] HOST COMMAND...: runs the command on a host of lab.py, as ssh would: for gshmemrun's --agent;
# with --shell, passes the words to a shell there, for mpirun's plm_rsh_agent.
is_shell=
[ "$1" != --shell ] || { is_shell=1; shift; }
host=$1
shift
eval "pid=\$GSH_LAB_$host"
[ -n "$pid" ] || { echo "agent.sh: no host $host in this lab" >&2; exit 255; }
[ -z "$is_shell" ] || set -- /bin/sh -c "$*"
exec nsenter -t "$pid" -n -m -u --wd="$PWD" "$@"
