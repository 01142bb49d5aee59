/* SPDX-License-Identifier: Apache-2.0
 * Options that all benchmarks share, read before a PE is made. Anything not understood is refused;
 * nothing is guessed. Defaults that depend on the device are left to common.h. */
#ifndef GSHMEM_PERFTEST_OPTIONS_H
#define GSHMEM_PERFTEST_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

namespace perftest
{

enum group { THREAD, WARP, BLOCK };
constexpr const char *group_names[] = {"thread", "warp", "block"};

/* What a program measures, and which options it supports besides the common ones. */
struct program {
    const char *name;
    const char *question;
    std::vector<std::string> operations;
    bool has_sizes, has_groups, has_blocks;
    bool has_windows = false; /* with sizes: rounds cycle through several windows */
    bool has_host = false;    /* can run with the calls of the host, or those on streams, alone */
    bool has_lent = false;    /* blocks can lend shared memory */
};

/* An empty list leaves the choice to the program. */
struct options {
    std::vector<size_t> sizes; /* bytes */
    std::vector<group> groups;
    std::vector<int> blocks; /* 0: as many as there are multiprocessors */
    std::vector<std::string> operations;
    int repetitions = 0; /* samples per row; 0: the program's choice, as below */
    int rounds = 0;      /* calls in a sample */
    bool is_quick = false;
    bool is_host = false, is_stream = false;
    size_t lent = 0; /* bytes of shared memory that each block lends */
    std::string json;
};

namespace detail
{

inline bool complain(const std::string &what)
{
    const char *rank = getenv("GSHMEM_RANK"); /* of many processes started alike, one speaks */
    if (!rank || strcmp(rank, "0") == 0)
        fprintf(stderr, "perftest: %s (--help tells the options)\n", what.c_str());
    return false;
}

/* A whole number with an optional K, M or G (powers of 1024). */
inline bool read_number(const std::string &text, size_t most, size_t *number)
{
    size_t value = 0, i = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; i++) {
        value = value * 10 + (size_t)(text[i] - '0');
        if (value > most)
            return false;
    }
    if (i == 0 || i + 1 < text.size())
        return false;
    if (i < text.size()) {
        const int order = text[i] == 'K' ? 10 : text[i] == 'M' ? 20 : text[i] == 'G' ? 30 : 0;
        if (order == 0)
            return false;
        if (value > most >> order)
            return false;
        value <<= order;
    }
    return *number = value, true;
}

inline std::vector<std::string> split(const std::string &text)
{
    std::vector<std::string> parts(1);
    for (char c : text) {
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

constexpr size_t most_bytes = (size_t)16 << 30;

/* 8,1K,1M or ranges by powers of two, 4-1M. Sizes are multiples of 4 bytes. */
inline bool read_sizes(const std::string &text, std::vector<size_t> *sizes)
{
    for (const std::string &part : split(text)) {
        const size_t dash = part.find('-');
        size_t from = 0, to = 0;
        const bool is_range = dash != std::string::npos;
        if (!read_number(part.substr(0, dash), most_bytes, &from) ||
            !read_number(is_range ? part.substr(dash + 1) : part, most_bytes, &to))
            return complain("--sizes: '" + part + "' is not a size such as 8, 1K, 4M or 4-1M");
        if (from == 0 || from % 4 != 0 || from > to || to % 4 != 0)
            return complain("--sizes: '" + part + "': multiples of 4 bytes, the smaller first");
        for (size_t size = from; size <= to; size *= 2)
            sizes->push_back(size);
    }
    return true;
}

inline bool read_groups(const std::string &text, std::vector<group> *groups)
{
    for (const std::string &part : split(text)) {
        int g = THREAD;
        while (g <= BLOCK && part != group_names[g])
            g++;
        if (g > BLOCK)
            return complain("--groups: '" + part + "' is not thread, warp or block");
        groups->push_back((group)g);
    }
    return true;
}

inline bool read_blocks(const std::string &text, std::vector<int> *blocks)
{
    for (const std::string &part : split(text)) {
        size_t n = 0;
        if (part != "all" && (!read_number(part, 65535, &n) || n == 0))
            return complain("--blocks: '" + part + "' is not a number of blocks, or all");
        blocks->push_back((int)n);
    }
    return true;
}

inline bool read_operations(const program &p, const std::string &text,
                            std::vector<std::string> *operations)
{
    for (const std::string &part : split(text)) {
        bool is_known = false;
        for (const std::string &name : p.operations)
            is_known = is_known || name == part;
        if (!is_known)
            return complain("--operations: '" + part + "' is none of " + p.name + "'s");
        operations->push_back(part);
    }
    return true;
}

inline bool read_count(const char *name, const std::string &text, int *count)
{
    size_t n = 0;
    if (!read_number(text, 1000000000, &n) || n == 0)
        return complain(std::string(name) + ": '" + text + "' is not a number above 0");
    return *count = (int)n, true;
}

inline bool read_lent(const std::string &text, size_t *bytes)
{
    if (!read_number(text, 224 << 10, bytes) || *bytes % 128 != 0)
        return complain("--lent: '" + text + "' is not a multiple of 128 bytes, at most 224K");
    return true;
}

/* One argument, --name or --name=value. */
inline bool read_option(const program &p, const std::string &argument, options *o)
{
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool has_value = equals != std::string::npos;
    const std::string value = has_value ? argument.substr(equals + 1) : "";
    if (name == "--quick" && !has_value)
        return o->is_quick = true;
    if (name == "--host" && !has_value && p.has_host)
        return o->is_host = true;
    if (name == "--stream" && !has_value && p.has_host)
        return o->is_stream = true;
    if (has_value && name == "--sizes" && p.has_sizes)
        return read_sizes(value, &o->sizes);
    if (has_value && name == "--groups" && p.has_groups)
        return read_groups(value, &o->groups);
    if (has_value && name == "--blocks" && p.has_blocks)
        return read_blocks(value, &o->blocks);
    if (has_value && name == "--lent" && p.has_lent)
        return read_lent(value, &o->lent);
    if (has_value && name == "--operations")
        return read_operations(p, value, &o->operations);
    if (has_value && name == "--repetitions")
        return read_count("--repetitions", value, &o->repetitions);
    if (has_value && name == "--rounds")
        return read_count("--rounds", value, &o->rounds);
    if (name == "--json" && !value.empty())
        return o->json = value, true;
    return complain(std::string(p.name) + " does not know '" + argument + "'");
}

inline void help(const program &p)
{
    printf("%s: %s\n\nusage: gshmemrun -n PES %s [OPTIONS]\n", p.name, p.question, p.name);
    if (p.has_sizes)
        printf("  --sizes=8,1K,4-1M    bytes; a range goes by powers of two\n");
    if (p.has_groups)
        printf("  --groups=LIST        of thread, warp, block\n");
    if (p.has_blocks)
        printf("  --blocks=1,4,all     how many blocks call at once; all: each multiprocessor\n");
    if (p.has_host)
        printf("  --host               calls of the host alone\n"
               "  --stream             calls on streams alone\n");
    if (p.has_lent)
        printf("  --lent=64K           shared memory that each block lends the library\n");
    printf("  --operations=LIST    of");
    for (size_t i = 0; i < p.operations.size(); i++)
        printf("%s %s", i ? "," : "", p.operations[i].c_str());
    printf("\n"
           "  --repetitions=N      samples in a row of the table (default: up to 100)\n"
           "  --rounds=N           calls in a sample (default: for about 0.3 ms)\n"
           "  --json=FILE          also write header and rows to FILE\n"
           "  --quick              few sizes, few samples: does it work, not how fast it is\n");
}

} // namespace detail

/* -1: continue; otherwise the exit status. */
inline int read_options(const program &p, int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            detail::help(p);
            return 0;
        }
    }
    for (int i = 1; i < argc; i++)
        if (!detail::read_option(p, argv[i], o))
            return 2;
    return -1;
}

} // namespace perftest

#endif
