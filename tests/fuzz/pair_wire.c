/* SPDX-License-Identifier: Apache-2.0
 * What processes in no job together take from each other: keys of entries and of memory, the pieces
 * that a memory's owner sends, addresses as text, pieces of messages over UCX. What passes is what
 * was sent, and lies within the bounds that those who take it rely on. */
#include "tests/fuzz/fuzz.h"

#include "bootstrap/tcp_link.h"
#include "heap/range.h"
#include "proxy/pair_service.c" /* for the service that it keeps */

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

/* ---- messages over UCX, as a holder of the pair's keys may send them ---- */

static unsigned n_answers;

static enum gsh_result answer(struct gsh_transport *t, int pe, const void *header,
                              size_t header_bytes, const void *data, size_t bytes,
                              struct gsh_op *op, bool *is_pending)
{
    struct gsh_pair_piece piece;
    (void)t, (void)data, (void)op;
    FUZZ_CHECK(pe == 1 && header_bytes == sizeof(piece) && bytes == 0);
    memcpy(&piece, header, sizeof(piece));
    FUZZ_CHECK(piece.link == 5);
    n_answers++;
    *is_pending = false;
    return GSH_OK;
}

/* A message of any of its fields, mostly such as make it further. */
static void send_piece(struct fuzz_input *in, struct gsh_pair_service *s,
                       const struct gsh_pair_link *link)
{
    static uint8_t content[8192];
    uint8_t header[sizeof(struct gsh_pair_piece) + GSH_PAIR_HEAD_MAX + 8];
    const uint64_t how = fuzz_take(in, 1);
    const size_t head = how % 4 == 0 ? fuzz_take(in, 1) % (GSH_PAIR_HEAD_MAX + 8) : 0,
                 bytes = fuzz_take(in, 2) % sizeof(content);
    const struct gsh_pair_message *last = link->last;
    struct gsh_pair_piece piece = {
        .kind = GSH_PAIR_DATA,
        .at = last != NULL && last->filled < last->bytes ? (uint32_t)last->filled : 0,
        .link = link->number,
        .value = last != NULL && last->filled < last->bytes ? last->bytes : fuzz_take(in, 3)};
    piece.kind += how / 4 % 8 < 6 ? 0 : (uint32_t)fuzz_take(in, 1) % 8;
    piece.at ^= how / 32 == 1 ? (uint32_t)fuzz_take(in, 3) : 0;
    piece.link ^= how / 32 == 2 ? fuzz_take(in, 8) : 0;
    piece.value ^= how / 32 == 3 ? fuzz_take(in, 8) : 0;
    memcpy(header, &piece, sizeof(piece));
    memset(header + sizeof(piece), 0x77, sizeof(header) - sizeof(piece));
    gsh_pair_link_take(s, how / 32 == 4 ? 2 : 1, header,
                       how / 32 == 5 ? head % sizeof(piece) : sizeof(piece) + head, content, bytes);
}

static void fuzz_pieces(struct fuzz_input *in)
{
    static const struct gsh_transport_ops ops = {.send = answer, .message_max = 7936};
    static struct gsh_pair_service s = {.lock = PTHREAD_MUTEX_INITIALIZER, .n_pairs = 2};
    static uint8_t data[GSH_PAIR_MESSAGE_MAX];
    struct gsh_transport transport = {.ops = &ops};
    struct gsh_pair pair = {.as = 1, .is_set = true};
    struct gsh_pair_link *link = NULL;
    uint64_t number;
    s.transport = &transport;
    s.pairs[1] = s.pairs[2] = &pair;
    opened = &s;
    n_answers = 0;
    FUZZ_CHECK(gsh_pair_link_create(NULL, NULL, &link, &number) == GSH_OK);
    gsh_pair_link_bind(link, 1, 5);
    for (int step = 0; step < 100 && in->bytes > 0; step++) {
        if (fuzz_take(in, 1) % 8 != 0) {
            send_piece(in, &s, link);
        } else if (link->n_complete > 0) {
            size_t bytes = 0;
            FUZZ_CHECK(gsh_pair_link_receive(link, data, sizeof(data), &bytes, 1) == GSH_OK);
            FUZZ_CHECK(bytes > 0 && bytes <= sizeof(data));
        }
        FUZZ_CHECK(link->n_arrived - link->n_received <= GSH_PAIR_WINDOW + GSH_PAIR_MESSAGE_MAX);
        FUZZ_CHECK(link->n_taken <= link->n_sent && n_answers <= (unsigned)step + 1);
        size_t n_complete = 0;
        for (const struct gsh_pair_message *m = link->first; m != NULL; m = m->next) {
            FUZZ_CHECK(m->filled <= m->bytes && (m->filled == m->bytes || m == link->last));
            n_complete += m->filled == m->bytes;
        }
        FUZZ_CHECK(n_complete == link->n_complete);
    }
    gsh_pair_link_destroy(&link);
    s.uses[0] = 0; /* nothing is kept but the room for links */
    s.n_links = 0;
    opened = NULL;
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
    case 7:
        fuzz_pieces(&in);
        break;
    default:
        fuzz_address(&in);
    }
    return 0;
}
