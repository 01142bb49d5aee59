/* SPDX-License-Identifier: Apache-2.0
 * Empty: see prologue.h. */
