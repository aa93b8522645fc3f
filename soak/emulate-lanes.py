"""Runs native/p256_lanes.c, compiled to a shared object, on an emulated processor with AVX-512 IFMA (Bochs, by bochscpu).

Reads from the standard input {"file", "prepare", "agree", "trace", "batches"}: a shared object, the addresses of prepare_lanes and
agree_lanes in it, and batches of [private key, peer's point] in hex, 1 to 64 each. Writes for each batch {"failed", "results", "trace"}:
the lanes that met an exception, [public key, secret, whether the peer is a point] in hex, and, if asked for, {"instructions", "hash",
"masked"}: how many instructions ran, and a hash of their addresses and of those of all memory that they read and wrote. Instructions
with a mask stand apart, since the emulator touches only the lanes that the mask has, and a processor the line: "masked" has the
64-byte line that each of them touched, by its number in the sequence.
"""

import ctypes
import hashlib
import json
import os
import struct
import sys

import bochscpu
import bochscpu.cpu
import bochscpu.memory

PAGE = 4096
IMAGE, STUBS, DATA, STACK, PAGE_TABLES = 0x10000000, 0x20000000, 0x30000000, 0x40000000, 0x1000000
STACK_BYTES, DATA_BYTES = 1 << 20, 1 << 16
AGREEMENT_BYTES, POINT_BYTES = 152, 65  # native/p256.h
# What a compiler calls, and what native/ has in other files.
CODE = {
    "memcpy": "4889f84889d1f3a4c3",
    "memmove": "4889f84889d1f3a4c3",
    "memset": "4989f889f04889d1f3aa4c89c0c3",
    "OPENSSL_cleanse": "31c04889f1f3aac3",
    "is_in_field": "b801000000c3",
    "memcmp": "4887f731c04889d14839c9f3a60f97c083d800c3",
    "return": "f4",  # hlt, to which the function returns
    "missing": "f4",
}


class Machine:
    def __init__(self, file):
        self.pages, self.prefixes = {}, {}
        self.tables = bochscpu.memory.PageMapLevel4Table()
        self.session = bochscpu.Session()
        self.session.missing_page_handler = lambda address: fail(f"no memory at {address:#x}")
        self.load(file)
        self.map(DATA, DATA_BYTES)
        self.map(STACK, STACK_BYTES)
        for host, address in self.tables.commit(PAGE_TABLES):
            bochscpu.memory.page_insert(address, host)

    def map(self, start, length):
        for address in range(start // PAGE * PAGE, start + length, PAGE):
            if address not in self.pages:
                self.pages[address] = bochscpu.memory.allocate_host_page()
                ctypes.memset(self.pages[address], 0, PAGE)
                bochscpu.memory.page_insert(address, self.pages[address])
                self.tables.insert(address, address, 7)

    def write(self, address, data):
        while data:
            offset = address % PAGE
            part = data[: PAGE - offset]
            ctypes.memmove(self.pages[address - offset] + offset, part, len(part))
            address, data = address + len(part), data[len(part) :]

    def read(self, address, length):
        data = b""
        while len(data) < length:
            offset = (address + len(data)) % PAGE
            host = self.pages[address + len(data) - offset] + offset
            data += ctypes.string_at(host, min(PAGE - offset, length - len(data)))
        return data

    def load(self, file):
        """The segments of an ELF file, with its relocations done."""
        with open(file, "rb") as opened:
            image = opened.read()
        self.map(STUBS, PAGE)
        stubs, at = {}, STUBS
        for name, code in CODE.items():
            self.write(at, bytes.fromhex(code))
            stubs[name] = at
            at += 32
        self.stop = stubs["return"]
        headers, size, count = struct.unpack_from("<Q", image, 32)[0], *struct.unpack_from("<HH", image, 54)
        tags = {}
        for i in range(count):
            kind, _, offset, address, _, in_file, in_memory, _ = struct.unpack_from("<IIQQQQQQ", image, headers + i * size)
            if kind == 1:
                self.map(IMAGE + address, in_memory)
                self.write(IMAGE + address, image[offset : offset + in_file])
            elif kind == 2:
                tags = dict(struct.iter_unpack("<qQ", image[offset : offset + in_file // 16 * 16]))
        strings, symbols = IMAGE + tags[5], IMAGE + tags[6]
        for table, length in ((7, 8), (23, 2)):
            for i in range(0, tags.get(length, 0), 24):
                place, info, addend = struct.unpack("<QQq", self.read(IMAGE + tags[table] + i, 24))
                name, _, _, section, value, _ = struct.unpack("<IBBHQQ", self.read(symbols + 24 * (info >> 32), 24))
                text = self.read(strings + name, 40).split(b"\0")[0].decode()
                target = IMAGE + value if section else stubs.get(text, stubs["missing"])
                values = {8: IMAGE + addend, 6: target, 7: target, 1: target + addend}
                self.write(IMAGE + place, struct.pack("<Q", values[info & 0xFFFFFFFF]))

    def prefix_at(self, address):
        if address not in self.prefixes:
            self.prefixes[address] = self.read(address, 4)
        return self.prefixes[address]

    def call(self, function, first=0, second=0, trace=False):
        """Calls a function of the file; returns its result, and what the trace has found."""
        state = bochscpu.State()
        bochscpu.cpu.set_long_mode(state)
        state.cr0 &= ~(1 << 16)  # all pages can be written to
        state.cr3 = PAGE_TABLES
        state.cr4 |= 1 << 9 | 1 << 10 | 1 << 18  # SSE, its exceptions, XSAVE
        state.xcr0 = 0xE7
        state.rflags = 2
        code, data = bochscpu.Segment(), bochscpu.Segment()
        for segment, selector, attributes in ((code, 0x10, 0xA09B), (data, 0x18, 0xC093)):
            segment.base, segment.limit, segment.present = 0, 0xFFFFFFFF, True
            segment.selector, segment.attr = selector, attributes
        state.cs = code
        state.ds = state.es = state.ss = state.fs = state.gs = data
        state.rdi, state.rsi, state.rip = first, second, IMAGE + function
        state.rsp = STACK + STACK_BYTES - 64 - 8
        self.write(state.rsp, struct.pack("<Q", self.stop))
        cpu = self.session.cpu
        cpu.state = state
        hook, faults, hashed, count, masked, is_masked = bochscpu.Hook(), [], hashlib.sha256(), 0, {}, False

        def stop(session, *_):
            session.stop()

        def stop_at_fault(session, _, vector, error):
            faults.append(f"exception {vector} ({error}) at {cpu.rip:#x}")
            session.stop()

        def at_instruction(*_):
            nonlocal count, is_masked
            count += 1
            hashed.update(cpu.rip.to_bytes(8, "little"))
            prefix = self.prefix_at(cpu.rip)
            is_masked = prefix[0] == 0x62 and prefix[3] & 7 != 0

        def at_memory(_, __, linear, ___, length, ____, access):
            if is_masked:
                if masked.setdefault(count, linear >> 6) != linear >> 6:
                    fail(f"the instruction at {cpu.rip:#x} touches two lines")
            else:
                hashed.update(struct.pack("<QIB", linear, length, access))

        hook.hlt, hook.exception = stop, stop_at_fault
        if trace:
            hook.before_execution, hook.lin_access = at_instruction, at_memory
        self.session.run([hook])
        if faults or cpu.rip != self.stop + 1:
            fail(faults[0] if faults else f"it ended at {cpu.rip:#x}")
        return cpu.rax, {"instructions": count, "hash": hashed.hexdigest(), "masked": masked} if trace else None


def fail(what):
    # an exception would end in the emulator, which cannot pass it on
    print(what, file=sys.stderr, flush=True)
    os._exit(1)


def main():
    job = json.load(sys.stdin)
    machine = Machine(job["file"])
    machine.call(job["prepare"])
    peers = DATA + 64 * AGREEMENT_BYTES
    answers = []
    for batch in job["batches"]:
        for i, (private_key, peer) in enumerate(batch):
            machine.write(peers + i * POINT_BYTES, bytes.fromhex(peer))
            fields = bytes.fromhex(private_key).ljust(136, b"\0") + struct.pack("<QQ", peers + i * POINT_BYTES, 0)
            machine.write(DATA + i * AGREEMENT_BYTES, fields)
        failed, trace = machine.call(job["agree"], DATA, len(batch), job.get("trace", False))
        results = []
        for i in range(len(batch)):
            data = machine.read(DATA + i * AGREEMENT_BYTES, AGREEMENT_BYTES)
            results.append([data[32:97].hex(), data[97:129].hex(), bool(data[144])])
        answers.append({"failed": failed & 0xFF, "results": results, "trace": trace})
    print(json.dumps(answers))


main()
