/* SPDX-License-Identifier: Apache-2.0
 * For NVRTC, which has these names without a header: see stdint.h. */
#pragma once
