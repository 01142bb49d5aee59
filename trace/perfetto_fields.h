/* SPDX-License-Identifier: Apache-2.0
 * Perfetto's trace format, as far as a timeline needs it: message MESSAGE_FIELD = its number.
 * Perfetto never gives a number another meaning. */
#ifndef GSH_PERFETTO_FIELDS_H
#define GSH_PERFETTO_FIELDS_H

enum {
    TRACE_PACKET = 1,

    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13, /* 1: begins with nothing interned; 2: needs what is interned */
    PACKET_TRACK_DESCRIPTOR = 60,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT_UUID = 5,
    TRACK_COUNTER = 8,

    PROCESS_PID = 1,
    PROCESS_NAME = 6,

    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,

    COUNTER_UNIT = 3, /* 2: a count; 3: bytes */

    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9, /* 1: a slice begins; 2: it ends; 3: an instant; 4: a counter's value */
    EVENT_NAME_IID = 10,
    EVENT_TRACK_UUID = 11,
    EVENT_CATEGORIES = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOW_IDS = 47,             /* of 8 bytes each */
    EVENT_TERMINATING_FLOW_IDS = 48, /* likewise */

    ANNOTATION_NAME_IID = 1,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_TEXT = 6,

    INTERNED_EVENT_NAMES = 2,
    INTERNED_ANNOTATION_NAMES = 3,

    INTERNED_IID = 1,
    INTERNED_NAME = 2,
};

enum { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };

#endif
