#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the fields of mlx5 commands in nic/mlx5/command.h lie where a table here has them, and that all of them
are in it. Where Linux's own description of the commands is found, the table is compared with that, too.

usage: fields.py COMMAND_H [MLX5_IFC_H...]

Without a second path it looks for mlx5_ifc.h in /usr/src and /lib/modules. Debian has it in linux-headers-*-common, of
10 MB, which changes its name with each kernel; CI does not install it. To check the table by hand, fetch and unpack
that package ("apt-get download", "dpkg -x"), and name the file. The table was last compared with that of Linux 6.1, and
what it has of queue pairs and keys with that of DOCA GPUNetIO 4.0, which names the fields of user-space programs.

In that header a structure is a list of arrays that have a byte for each bit. What only user-space programs write has no
name there: it must lie within bits that are reserved."""

import glob
import re
import sys

# Our name: structure, field ("?": Linux does not name it), first bit, bits.
FIELDS = {
    "OPCODE": ("create_qp_in", "opcode", 0x00, 16),
    "OP_MOD": ("create_qp_in", "op_mod", 0x30, 16),
    "OUT_STATUS": ("create_qp_out", "status", 0x00, 8),
    "OUT_REASON": ("create_qp_out", "syndrome", 0x20, 32),
    "OUT_NUMBER": ("create_qp_out", "qpn", 0x48, 24),
    "CQ_UMEM_OFFSET": ("create_cq_in", "?cq_umem_offset", 0x280, 64),
    "CQ_UMEM_ID": ("create_cq_in", "?cq_umem_id", 0x2c0, 32),
    "CQ_UMEM_VALID": ("create_cq_in", "cq_umem_valid", 0x2e0, 1),
    "CQC_RECORD_UMEM": ("cqc", "dbr_umem_valid", 0x06, 1),
    "CQC_COLLAPSED": ("cqc", "cc", 0x0b, 1),
    "CQC_OVERRUN": ("cqc", "oi", 0x0e, 1),
    "CQC_RECORD_ID": ("cqc", "?dbr_umem_id", 0x20, 32),
    "CQC_LOG_SIZE": ("cqc", "log_cq_size", 0x63, 5),
    "CQC_UAR": ("cqc", "uar_page", 0x68, 24),
    "CQC_EQ": ("cqc", "c_eqn_or_apu_element", 0xb8, 8),
    "CQC_RECORD": ("cqc", "dbr_addr", 0x1c0, 64),
    "QP_NUMBER": ("rst2init_qp_in", "qpn", 0x48, 24),
    "QP_UMEM_OFFSET": ("create_qp_in", "?wq_umem_offset", 0x800, 64),
    "QP_UMEM_ID": ("create_qp_in", "?wq_umem_id", 0x840, 32),
    "QP_UMEM_VALID": ("create_qp_in", "wq_umem_valid", 0x860, 1),
    "QPC_KIND": ("qpc", "st", 0x08, 8),
    "QPC_PATH_STATE": ("qpc", "pm_state", 0x13, 2),
    "QPC_PD": ("qpc", "pd", 0x28, 24),
    "QPC_MTU": ("qpc", "mtu", 0x40, 3),
    "QPC_LOG_MESSAGE": ("qpc", "log_msg_max", 0x43, 5),
    "QPC_LOG_SEND": ("qpc", "log_sq_size", 0x51, 4),
    "QPC_CLOCK": ("qpc", "ts_format", 0x58, 2),
    "QPC_UAR": ("qpc", "uar_page", 0x68, 24),
    "QPC_USER_INDEX": ("qpc", "user_index", 0x88, 24),
    "QPC_REMOTE": ("qpc", "remote_qpn", 0xa8, 24),
    "QPC_LOG_SENT": ("qpc", "log_sra_max", 0x388, 3),
    "QPC_RETRY": ("qpc", "retry_count", 0x38d, 3),
    "QPC_RETRY_BUSY": ("qpc", "rnr_retry", 0x390, 3),
    "QPC_SEND_CQ": ("qpc", "cqn_snd", 0x3e8, 24),
    "QPC_LOG_RECEIVED": ("qpc", "log_rra_max", 0x488, 3),
    "QPC_ATOMICS": ("qpc", "atomic_mode", 0x48c, 4),
    "QPC_MAY_READ": ("qpc", "rre", 0x490, 1),
    "QPC_MAY_WRITE": ("qpc", "rwe", 0x491, 1),
    "QPC_MAY_ATOMIC": ("qpc", "rae", 0x492, 1),
    "QPC_BUSY_DELAY": ("qpc", "min_rnr_nak", 0x4a3, 5),
    "QPC_RECEIVE_CQ": ("qpc", "cqn_rcv", 0x4e8, 24),
    "QPC_RECORD": ("qpc", "dbr_addr", 0x500, 64),
    "QPC_RECEIVES": ("qpc", "rq_type", 0x565, 3),
    "QPC_RECORD_UMEM": ("qpc", "dbr_umem_valid", 0x683, 1),
    "QPC_RECORD_ID": ("qpc", "?dbr_umem_id", 0x720, 32),
    "PATH_PKEY": ("ads", "pkey_index", 0x10, 16),
    "PATH_GRH": ("ads", "grh", 0x28, 1),
    "PATH_LID": ("ads", "rlid", 0x30, 16),
    "PATH_TIMEOUT": ("ads", "ack_timeout", 0x40, 5),
    "PATH_GID_INDEX": ("ads", "src_addr_index", 0x48, 8),
    "PATH_HOPS": ("ads", "hop_limit", 0x58, 8),
    "PATH_CLASS": ("ads", "tclass", 0x64, 8),
    "PATH_DSCP": ("ads", "dscp", 0x10a, 6),
    "PATH_UDP_PORT": ("ads", "udp_sport", 0x110, 16),
    "PATH_PRIORITY": ("ads", "eth_prio", 0x121, 3),
    "PATH_LEVEL": ("ads", "sl", 0x124, 4),
    "PATH_PORT": ("ads", "vhca_port_num", 0x128, 8),
    "PATH_MAC_HIGH": ("ads", "rmac_47_32", 0x130, 16),
    "PATH_MAC_LOW": ("ads", "rmac_31_0", 0x140, 32),
    "KEY_LIST_BYTES": ("create_mkey_in", "translations_octword_actual_size", 0x300, 32),
    "KEYC_ATOMIC": ("mkc", "a", 0x11, 1),
    "KEYC_REMOTE_WRITE": ("mkc", "rw", 0x12, 1),
    "KEYC_REMOTE_READ": ("mkc", "rr", 0x13, 1),
    "KEYC_LOCAL_WRITE": ("mkc", "lw", 0x14, 1),
    "KEYC_LOCAL_READ": ("mkc", "lr", 0x15, 1),
    "KEYC_MODE": ("mkc", "access_mode_1_0", 0x16, 2),
    "KEYC_QP": ("mkc", "qpn", 0x20, 24),
    "KEYC_VARIANT": ("mkc", "mkey_7_0", 0x38, 8),
    "KEYC_PD": ("mkc", "pd", 0x68, 24),
    "KEYC_START": ("mkc", "start_addr", 0x80, 64),
    "KEYC_BYTES": ("mkc", "len", 0xc0, 64),
    "KEYC_LIST_BYTES": ("mkc", "translations_octword_size", 0x1a0, 32),
    "CAP_LOG_LIST": ("cmd_hca_cap", "log_max_klm_list_size", 0x11a, 6),
    "CAP_ROCE_CLOCK": ("roce_cap", "qp_ts_format", 0x1e, 2),
}
# Our name, in bytes: structure, the field that begins there.
PLACES = {
    "CQ_CONTEXT": ("create_cq_in", "cq_context", 16),
    "QP_CONTEXT": ("create_qp_in", "qpc", 24),
    "PATH": ("qpc", "primary_address_path", 24),
    "PATH_GID": ("ads", "rgid_rip", 16),
    "KEY_CONTEXT": ("create_mkey_in", "memory_key_mkey_entry", 16),
    "CAP_CONTEXT": ("query_hca_cap_out", "capability", 16),
    "IN_BYTES": ("create_mkey_in", "klm_pas_mtt", 272),
    "OUT_BYTES": ("create_mkey_out", "", 16),  # all of it
}
# The same number as those: each name of the header has this one.
SAME_PLACES = {
    "CQ_CONTEXT": [],
    "QP_CONTEXT": [("rst2init_qp_in", "qpc"), ("init2rtr_qp_in", "qpc"), ("rtr2rts_qp_in", "qpc")],
    "IN_BYTES": [("create_cq_in", "pas"), ("create_qp_in", "pas"), ("rst2init_qp_in", ""), ("rtr2rts_qp_in", "")],
    "OUT_BYTES": [("create_cq_out", ""), ("create_qp_out", "")],
}
SAME_FIELDS = {
    "OPCODE": ["create_cq_in", "create_mkey_in", "rst2init_qp_in", "init2rtr_qp_in", "rtr2rts_qp_in",
               "query_hca_cap_in"],
    "OP_MOD": ["query_hca_cap_in"],
    "QP_NUMBER": ["init2rtr_qp_in", "rtr2rts_qp_in"],
}
# Our number: the header's name for it, and its value.
NUMBERS = {
    "QUERY_HCA_CAP": ("MLX5_CMD_OP_QUERY_HCA_CAP", 0x100),
    "CREATE_MKEY": ("MLX5_CMD_OP_CREATE_MKEY", 0x200),
    "CREATE_CQ": ("MLX5_CMD_OP_CREATE_CQ", 0x400),
    "CREATE_QP": ("MLX5_CMD_OP_CREATE_QP", 0x500),
    "RESET_TO_INIT": ("MLX5_CMD_OP_RST2INIT_QP", 0x502),
    "INIT_TO_RECEIVE": ("MLX5_CMD_OP_INIT2RTR_QP", 0x503),
    "RECEIVE_TO_SEND": ("MLX5_CMD_OP_RTR2RTS_QP", 0x504),
    "PATH_MIGRATED": ("MLX5_QPC_PM_STATE_MIGRATED", 3),
    "ATOMICS_TO_8_BYTES": ("MLX5_QPC_ATOMIC_MODE_UP_TO_8B", 3),
    "KEY_OF_KEYS": ("MLX5_MKC_ACCESS_MODE_KLMS", 2),
}
# Of qp.h and device.h, or of user-space programs alone.
OTHER_NUMBERS = ["NO_RECEIVES", "NO_USER_INDEX", "ANY_QP", "CAP_BYTES", "CAP_GENERAL", "CAP_ROCE", "FIELD", "COMMAND_H"]


class Header:
    """Linux's description: structures of fields {name: (first bit, bits)}; a field without a size has 0."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        self.bodies = dict(re.findall(r"^(?:struct|union) mlx5_ifc_(\w+)_bits \{\n(.*?)^\};", text, re.S | re.M))
        numbers = re.findall(r"\b(MLX5_\w+)\s*=\s*(0x[0-9a-f]+|\d+),", text)
        self.numbers = {name: int(value, 0) for name, value in numbers}
        self.done = {}

    def read(self, name):
        """Its fields, and how many bits it has. A field that is a structure counts by its own name."""
        if name in self.done:
            return self.done[name]
        is_union = name.endswith("union")
        fields, at, most = {}, 0, 0
        if name not in self.bodies:  # of another header; none of those is looked at
            return fields, 0
        for kind, other, field, sizes in re.findall(
                r"(u8|(?:struct|union) mlx5_ifc_(\w+)_bits)\s+(\w+)((?:\[\w*\])*);", self.bodies[name]):
            bits = 1 if kind == "u8" else self.read(other)[1]
            for size in re.findall(r"\[(\w*)\]", sizes):
                bits *= int(size or "0", 0)
            fields[field] = (at, bits)
            most = max(most, bits)
            at += 0 if is_union else bits
        self.done[name] = (fields, most if is_union else at)
        return self.done[name]

    def check_field(self, structure, field, at, bits):
        fields = self.read(structure)[0]
        if field.startswith("?") and field[1:] not in fields:
            covered = [name for name, (first, n) in fields.items() if first < at + bits and at < first + n]
            return all(name.startswith("reserved") or name == "pas" for name in covered), covered
        first, n = fields.get(field.lstrip("?"), (-1, 0))
        # of a longer number the last bits
        return first + n == at + bits and n >= bits, (hex(first), n)

    def check_place(self, structure, field, at):
        fields, bits = self.read(structure)
        first = bits if field == "" else fields.get(field, (-1, 0))[0]
        return first == 8 * at, hex(first)


def read_own(path):
    """Names of command.h: fields (first bit, bits), and numbers."""
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("\\\n", "")
    fields = {name: (int(at, 0), int(bits)) for name, at, bits in re.findall(
        r"#define GSH_MLX5_(\w+)\s+GSH_MLX5_FIELD\((0x[0-9a-f]+), (\d+)\)", text)}
    numbers = {name: int(value, 0) for name, value in re.findall(
        r"GSH_MLX5_(\w+)(?: =|\s)\s*(0x[0-9a-f]+|\d+)(?:,|\s*/\*|\n)", text)}
    return fields, numbers, set(re.findall(r"#define GSH_MLX5_(\w+)", text)) | set(
        re.findall(r"\bGSH_MLX5_(\w+) =", text))


def compare_own(path):
    fields, numbers, names = read_own(path)
    table = set(FIELDS) | set(PLACES) | set(NUMBERS) | set(OTHER_NUMBERS)
    wrong = [f"{name} is in no table" for name in sorted(names - table)]
    wrong += [f"{name} is not in command.h" for name in sorted(table - names)]
    for name, (_, _, at, bits) in FIELDS.items():
        if name in fields and fields[name] != (at, bits):
            wrong.append(f"{name} is {fields[name]}, not {(at, bits)}")
    for name, value in [(n, p[2]) for n, p in PLACES.items()] + [(n, p[1]) for n, p in NUMBERS.items()]:
        if numbers.get(name) != value:
            wrong.append(f"{name} is {numbers.get(name)}, not {value}")
    return wrong


def compare_header(path):
    header, wrong = Header(path), []
    for name, (structure, field, at, bits) in FIELDS.items():
        for one in [structure] + SAME_FIELDS.get(name, []):
            good, found = header.check_field(one, field, at, bits)
            wrong += [] if good else [f"{name}: {one}.{field} is at {found}, not at {hex(at)}, {bits} bits"]
    for name, (structure, field, at) in PLACES.items():
        for one, its in [(structure, field)] + SAME_PLACES.get(name, []):
            good, found = header.check_place(one, its, at)
            wrong += [] if good else [f"{name}: {one}.{its} is at bit {found}, not at byte {at}"]
    for name, (its, value) in NUMBERS.items():
        if header.numbers.get(its) != value:
            wrong.append(f"{name}: {its} is {header.numbers.get(its)}, not {value}")
    return [f"{path}: {text}" for text in wrong]


def main():
    found = sys.argv[2:] or sorted(glob.glob("/usr/src/*/include/linux/mlx5/mlx5_ifc.h") +
                                   glob.glob("/lib/modules/*/source/include/linux/mlx5/mlx5_ifc.h"))
    wrong = compare_own(sys.argv[1])
    for path in found[-1:]:
        wrong += compare_header(path)
        print(f"compared with {path}")
    if not found:
        print("no mlx5_ifc.h here: the table was not compared with Linux's")
    print("\n".join(wrong))
    return len(wrong) > 0


sys.exit(main())
