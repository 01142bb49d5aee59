/* SPDX-License-Identifier: Apache-2.0
 * A benchmark's output: the header, a table printed as it proceeds, and the same as JSON. Only PE 0
 * reports. Each of a row's samples is the mean of `rounds` calls. */
#ifndef GSHMEM_PERFTEST_REPORT_H
#define GSHMEM_PERFTEST_REPORT_H

#include <algorithm>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <string>
#include <utility>
#include <vector>

namespace perftest
{

struct plan {
    int rounds = 1;      /* calls per sample */
    int repetitions = 1; /* samples, after one warm-up */
};

struct row {
    std::string operation;
    std::string group = "-"; /* thread, warp, block; host: a call of the host */
    int blocks = 1;
    std::string mode = "-"; /* how the operation was called; defined by each program */
    size_t bytes = 0;       /* per call */
    double moved = 0;       /* bytes moved in the time of one sample's mean; 0: no bandwidth */
    double calls = 0;       /* calls made in that time, when it is a rate */
    plan made;
    std::string unit = "us";
};

/* The row of calls that move bytes each. */
inline row describe(const char *operation, const char *group, const char *mode, size_t bytes,
                    const plan &p)
{
    row r;
    r.operation = operation;
    r.group = group;
    r.mode = mode;
    r.bytes = bytes;
    r.moved = (double)bytes;
    r.made = p;
    return r;
}

struct statistics {
    double median, p99, least, most;
};

/* Nearest rank; with fewer than 100 samples the 99th percentile is the largest. */
inline statistics summarise(std::vector<double> samples)
{
    std::sort(samples.begin(), samples.end());
    const size_t n = samples.size();
    const double median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
    return {median, samples[(n * 99 + 99) / 100 - 1], samples.front(), samples.back()};
}

class report
{
  public:
    /* Printed in this order. */
    void note(const std::string &key, const std::string &value) { header.emplace_back(key, value); }

    void print_header() const
    {
        for (const auto &line : header)
            printf("# %s: %s\n", line.first.c_str(), line.second.c_str());
        printf("%-20s %-7s %6s %-12s %10s %10s %10s %10s %10s %-4s %8s %8s %9s\n", "operation",
               "group", "blocks", "mode", "bytes", "median", "p99", "least", "most", "unit", "GB/s",
               "M/s", "samples");
        fflush(stdout);
    }

    void add(const row &r, const std::vector<double> &samples)
    {
        const statistics s = summarise(samples);
        const std::string bandwidth = per_us(r.moved / 1e3, s.median),
                          rate = per_us(r.calls, s.median);
        char made[32];
        snprintf(made, sizeof made, "%dx%d", r.made.repetitions, r.made.rounds);
        printf("%-20s %-7s %6d %-12s %10zu %10.3f %10.3f %10.3f %10.3f %-4s %8s %8s %9s\n",
               r.operation.c_str(), r.group.c_str(), r.blocks, r.mode.c_str(), r.bytes, s.median,
               s.p99, s.least, s.most, r.unit.c_str(), bandwidth.c_str(), rate.c_str(), made);
        fflush(stdout);
        rows.push_back(json_row(r, s, bandwidth, rate));
    }

    /* Returns whether the whole file was written. */
    bool write(const std::string &path) const
    {
        FILE *f = fopen(path.c_str(), "w");
        if (!f) {
            fprintf(stderr, "perftest: %s: %s\n", path.c_str(), strerror(errno));
            return false;
        }
        fprintf(f, "{\n \"header\": {");
        for (size_t i = 0; i < header.size(); i++)
            fprintf(f, "%s\n  %s: %s", i ? "," : "", quoted(header[i].first).c_str(),
                    quoted(header[i].second).c_str());
        fprintf(f, "\n },\n \"rows\": [");
        for (size_t i = 0; i < rows.size(); i++)
            fprintf(f, "%s\n  %s", i ? "," : "", rows[i].c_str());
        fprintf(f, "\n ]\n}\n");
        const bool is_written = ferror(f) == 0;
        if (fclose(f) == 0 && is_written)
            return true;
        fprintf(stderr, "perftest: %s: not written\n", path.c_str());
        return false;
    }

  private:
    static std::string quoted(const std::string &text)
    {
        std::string out = "\"";
        for (char c : text) {
            if (c == '"' || c == '\\')
                out += '\\';
            out += (unsigned char)c < 32 ? ' ' : c;
        }
        return out + '"';
    }

    static std::string per_us(double amount, double us)
    {
        char text[32] = "-";
        if (amount > 0 && us > 0)
            snprintf(text, sizeof text, "%.4g", amount / us);
        return text;
    }

    static std::string json_row(const row &r, const statistics &s, const std::string &bandwidth,
                                const std::string &rate)
    {
        char numbers[512];
        snprintf(numbers, sizeof numbers,
                 "\"bytes\": %zu, \"unit\": \"%s\", \"median\": %.6g, \"p99\": %.6g, "
                 "\"least\": %.6g, \"most\": %.6g, \"gb_per_s\": %s, \"mops_per_s\": %s, "
                 "\"repetitions\": %d, \"rounds\": %d}",
                 r.bytes, r.unit.c_str(), s.median, s.p99, s.least, s.most,
                 bandwidth == "-" ? "null" : bandwidth.c_str(), rate == "-" ? "null" : rate.c_str(),
                 r.made.repetitions, r.made.rounds);
        return "{\"operation\": " + quoted(r.operation) + ", \"group\": " + quoted(r.group) +
               ", \"blocks\": " + std::to_string(r.blocks) + ", \"mode\": " + quoted(r.mode) +
               ", " + numbers;
    }

    std::vector<std::pair<std::string, std::string>> header;
    std::vector<std::string> rows;
};

} // namespace perftest

#endif
