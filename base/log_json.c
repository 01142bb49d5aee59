/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log_json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/util.h"

/* The length of the UTF-8 character that begins there; 0: none does. No surrogates, nothing beyond
 * U+10FFFF, no character in more bytes than it needs. */
static size_t utf8_bytes(const unsigned char *at, size_t left)
{
    static const struct {
        unsigned char first, last, least, most; /* of the first byte, of the second */
        size_t bytes;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < GSH_ARRAY_LEN(forms); i++) {
        if (at[0] < forms[i].first || at[0] > forms[i].last) {
            continue;
        }
        size_t n = forms[i].bytes;
        if (n > left || (n > 1 && (at[1] < forms[i].least || at[1] > forms[i].most))) {
            return 0;
        }
        for (size_t k = 2; k < n; k++) {
            if ((at[k] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return n;
    }
    return 0;
}

/* Writes the text between quotes, as far as `room` bytes allow; returns how many it took. */
static size_t write_text(char *out, size_t room, const char *text, size_t bytes)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    size_t used = 0;
    out[used++] = '"';
    while (bytes > 0) {
        char piece[8];
        const unsigned char c = (unsigned char)*text;
        const char *special = c != '\0' ? strchr(plain, c) : NULL;
        size_t taken = utf8_bytes((const unsigned char *)text, bytes), n;
        if (special != NULL) {
            n = (size_t)snprintf(piece, sizeof(piece), "\\%c", letters[special - plain]);
        } else if (c < 0x20 || c == 0x7f) {
            n = (size_t)snprintf(piece, sizeof(piece), "\\u%04x", c);
        } else if (taken == 0) {
            n = (size_t)snprintf(piece, sizeof(piece), "\\ufffd");
            taken = 1;
        } else {
            memcpy(piece, text, taken);
            n = taken;
        }
        if (used + n + 1 > room) {
            break;
        }
        memcpy(out + used, piece, n);
        used += n;
        text += taken;
        bytes -= taken;
    }
    out[used++] = '"';
    return used;
}

size_t gsh_log_json(char *out, size_t size, int pe, const char *level, const char *subsystem,
                    const char *message, size_t bytes)
{
    struct timespec now;
    struct tm utc;
    char date[32], name[256] = "", host[512], number[16] = "null";
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
    if (gethostname(name, sizeof(name) - 1) != 0) {
        name[0] = '\0';
    }
    host[write_text(host, sizeof(host) - 1, name, strlen(name))] = '\0';
    if (pe >= 0) {
        snprintf(number, sizeof(number), "%d", pe);
    }
    size_t used = (size_t)snprintf(
        out, size,
        "{\"time\":\"%s.%06ldZ\",\"host\":%s,\"pid\":%d,\"tid\":%d,\"pe\":%s,\"level\":\"%s\","
        "\"subsystem\":\"%s\",\"message\":",
        date, now.tv_nsec / 1000, host, (int)getpid(), (int)gettid(), number, level, subsystem);
    used += write_text(out + used, size - used - 3, message, bytes);
    out[used++] = '}';
    out[used++] = '\n';
    return used;
}
