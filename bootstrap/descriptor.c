/* SPDX-License-Identifier: Apache-2.0
 * See descriptor.h. */
#define _GNU_SOURCE 1
#include "bootstrap/descriptor.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum gsh_result gsh_descriptor_send(int fd, const void *data, size_t bytes, int descriptor,
                                    bool *is_sent)
{
    struct iovec part = {(void *)data, bytes};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        header.msg_control = &control;
        header.msg_controllen = sizeof(control);
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(descriptor));
        memcpy(CMSG_DATA(c), &descriptor, sizeof(descriptor));
    }
    *is_sent = false;
    for (;;) {
        if (sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
            *is_sent = true;
            return GSH_OK;
        }
        if (errno == EPIPE || errno == ECONNRESET) {
            return GSH_ERR_PEER;
        }
        /* ETOOMANYREFS: too many descriptors of this user are under way. Both are temporary. */
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS) {
            return GSH_OK;
        }
        if (errno != EINTR) {
            return GSH_ERR_SYSTEM;
        }
    }
}

/* Keeps the message's first descriptor, closes any other. */
static int take_descriptor(struct msghdr *header)
{
    int fd = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int received;
            memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (fd < 0) {
                fd = received;
            } else {
                close(received);
            }
        }
    }
    return fd;
}

enum gsh_result gsh_descriptor_receive(int fd, void *data, size_t room, ssize_t *got,
                                       int *descriptor)
{
    struct iovec part = {data, room};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct msghdr header;
    *descriptor = -1;
    do { /* a reset does not hide what came before it */
        header = (struct msghdr){.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        *got = recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (*got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (*got < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? GSH_OK : GSH_ERR_SYSTEM;
    }
    *descriptor = take_descriptor(&header);
    return GSH_OK;
}
