/* SPDX-License-Identifier: Apache-2.0
 * GSH_UNDER_TSAN: this file is compiled for the thread sanitizer. */
#ifndef GSH_BASE_SANITIZER_H
#define GSH_BASE_SANITIZER_H

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define GSH_UNDER_TSAN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define GSH_UNDER_TSAN 1
#endif

#endif
