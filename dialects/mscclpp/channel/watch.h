/* SPDX-License-Identifier: Apache-2.0
 * The watcher: a thread that looks at the pages of all waits (watch_device.hpp) while there are
 * any, prints what a kernel has waited for too long, and ends the process, or its job. */
#ifndef GSH_MSCCLPP_WATCH_H
#define GSH_MSCCLPP_WATCH_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <mscclpp/core.hpp>
#include <mscclpp/watch_device.hpp>

namespace mscclpp
{
namespace detail
{

/* Waits by the page are watched while it lives. who: what they are of, for the report. why_over is
 * called by the watcher, again and again: not empty: such waits will never be answered, since ...
 */
void watch(const std::shared_ptr<Watch> &page, std::string who,
           std::function<std::string()> why_over);
/* Of a FIFO's page: who waits for the flush of a channel with that semaphore; empty: not known. */
void name_flushes(const std::shared_ptr<Watch> &page,
                  std::function<std::string(uint32_t semaphore)> name);
/* Such as "PE 1, memory channel to rank 0". */
std::string name_of(const char *what, const Connection &connection);
/* Waits by the page end, now and later, since ...; or go on again, those that have not ended. */
void end_waits(const std::shared_ptr<Watch> &page, const std::string &why);
void resume_waits(const std::shared_ptr<Watch> &page);

/* GSHMEM_WAIT_TIMEOUT; 0: no limit. InvalidUsage: it has a wrong value. */
uint64_t wait_limit_ns();

} // namespace detail
} // namespace mscclpp

#endif
