/* SPDX-License-Identifier: Apache-2.0
 * GSH_UNDER_TSAN: this file is compiled for the thread sanitizer.
 * Between gsh_look_begin and gsh_look_end the thread's reads are no races: a report looks at words
 * which the program writes at any time, and nothing but its text depends on what it sees. */
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

#ifdef GSH_UNDER_TSAN
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#endif

static inline void gsh_look_begin(void)
{
#ifdef GSH_UNDER_TSAN
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
#endif
}

static inline void gsh_look_end(void)
{
#ifdef GSH_UNDER_TSAN
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

#endif
