/* SPDX-License-Identifier: Apache-2.0
 * What processes in no job together take from each other: keys of entries and of memory, the pieces
 * that a memory's owner sends, addresses as text. What passes is what was sent, and lies within the
 * bounds that those who map it rely on. */
#include "tests/fuzz/fuzz.h"

#include "bootstrap/tcp_link.h"
#include "heap/range.h"

#define GRANULE UINT64_C(4096)

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

static void fuzz_link_key(struct fuzz_input *in)
{
    struct gsh_tcp_link_key out;
    if (gsh_tcp_link_is_key(in->data, in->bytes, &out)) {
        FUZZ_CHECK(in->bytes == sizeof(out) && memcmp(&out, in->data, sizeof(out)) == 0);
        FUZZ_CHECK(out.number > 0 && (out.address.family == 4 || out.address.family == 6));
    }
}

static void fuzz_range_key(struct fuzz_input *in)
{
    struct gsh_range_key out;
    if (gsh_range_is_key(in->data, in->bytes, &out)) {
        FUZZ_CHECK(in->bytes == sizeof(out) && memcmp(&out, in->data, sizeof(out)) == 0);
        FUZZ_CHECK(out.at + out.bytes >= out.at && out.process != 0);
        FUZZ_CHECK(out.number == 0 || out.bytes > 0);
    }
}

static void fuzz_piece(struct fuzz_input *in, bool has_fd)
{
    struct gsh_range_piece out;
    if (!gsh_range_is_piece(in->data, in->bytes, has_fd, GRANULE, &out)) {
        return;
    }
    FUZZ_CHECK(in->bytes == sizeof(out) && memcmp(&out, in->data, sizeof(out)) == 0);
    FUZZ_CHECK(out.result < GSH_RESULT_COUNT);
    if (out.result == GSH_OK) {
        FUZZ_CHECK(out.n_pieces > 0 && out.n_pieces <= GSH_RANGE_MAX_PIECES && out.bytes > 0);
        FUZZ_CHECK(out.is_ipc == 1 ? out.n_pieces == 1 && !has_fd
                                   : out.bytes % GRANULE == 0 && out.at % GRANULE == 0);
        /* all pieces together are less than there are numbers for */
        FUZZ_CHECK(out.is_ipc == 1 || out.bytes <= UINT64_MAX / GSH_RANGE_MAX_PIECES);
    }
    FUZZ_CHECK(!has_fd || (out.result == GSH_OK && out.has_fd == 1));
}

static void fuzz_address(struct fuzz_input *in)
{
    struct gsh_address address, again;
    char text[200], back[GSH_ADDRESS_TEXT];
    fuzz_take_bytes(in, text, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    if (gsh_address_from_text(text, &address)) {
        FUZZ_CHECK(gsh_address_from_text(gsh_address_text(&address, back), &again));
        FUZZ_CHECK(memcmp(&address, &again, sizeof(address)) == 0);
        FUZZ_CHECK(address.port[0] != 0 || address.port[1] != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    switch (fuzz_take(&in, 1) % 8) {
    case 0:
        fuzz_link_key(&in);
        break;
    case 1:
        fuzz_range_key(&in);
        break;
    case 2:
    case 3:
        fuzz_piece(&in, data[0] % 2 == 1);
        break;
    default:
        fuzz_address(&in);
    }
    return 0;
}
