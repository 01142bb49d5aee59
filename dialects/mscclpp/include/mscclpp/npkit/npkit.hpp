/* SPDX-License-Identifier: Apache-2.0
 * Event collection for NPKit is not part of this dialect: nothing is collected. */
#ifndef MSCCLPP_NPKIT_HPP_
#define MSCCLPP_NPKIT_HPP_

#define NPKIT_UNIQUE_ID

#endif
