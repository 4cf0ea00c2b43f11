#!/usr/bin/env python3
"""Makes a small ELF file of an interpreter: a seed for gil_sites_fuzz.

    condense.py INTERPRETER SITES OUTPUT

SITES is what giltrace keeps in its cache for the interpreter. Kept are the functions that hold a site,
unless they are large, their entries in .eh_frame, the PLT, and the relocations of the functions of
pthread. The finder finds the sites in it that it finds in the whole, but for those of large functions.
"""

import bisect
import json
import struct
import sys

LARGEST_FUNCTION = 6000
SHT_PROGBITS, SHT_STRTAB, SHT_RELA, SHT_DYNSYM = 1, 3, 4, 11
SHF_ALLOC, SHF_EXECINSTR = 2, 4


class Elf:
    def __init__(self, image):
        self.image = image
        self.machine = struct.unpack_from("<H", image, 18)[0]
        table, size, count, names = (
            struct.unpack_from("<Q", image, 40)[0],
            *struct.unpack_from("<HHH", image, 58),
        )
        headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]
        self.sections = {}
        for header in headers:
            name = self.text(headers[names][4] + header[0])
            self.sections.setdefault(name, header)

    def text(self, offset):
        return self.image[offset : self.image.index(b"\0", offset)].decode()

    def content(self, name):
        """The address and the bytes of a section."""
        header = self.sections[name]
        return header[3], self.image[header[4] : header[4] + header[5]]


def read_frames(elf):
    """(start, end, bytes of the CIE, bytes of the FDE) of each function."""
    address, table = elf.content(".eh_frame")
    frames, offset = [], 0
    while offset + 8 <= len(table):
        length, identifier = struct.unpack_from("<II", table, offset)
        if length == 0:
            break
        end = offset + 4 + length
        if identifier:
            common = offset + 4 - identifier
            common_end = common + 4 + struct.unpack_from("<I", table, common)[0]
            # All of these use pcrel and sdata4.
            distance, size = struct.unpack_from("<iI", table, offset + 8)
            start = address + offset + 8 + distance
            frames.append((start, start + size, table[common:common_end], table[offset:end]))
        offset = end
    return sorted(frames)


def write_frames(frames, address):
    table = b""
    for start, _, common, entry in frames:
        table += common
        offset = len(table)
        table += entry[:4] + struct.pack("<I", len(common) + 4)
        table += struct.pack("<i", start - (address + offset + 8)) + entry[12:]
    return table + bytes(4)


def read_imports(elf):
    """(address of the slot, type, name) of the functions of pthread."""
    _, relocations = elf.content(".rela.plt")
    _, symbols = elf.content(".dynsym")
    names = elf.sections[".dynstr"][4]
    for slot, info, _ in struct.iter_unpack("<QQq", relocations):
        name = elf.text(names + struct.unpack_from("<I", symbols, (info >> 32) * 24)[0])
        if name.startswith(("pthread_cond_", "pthread_mutex_")):
            yield slot, info & 0xFFFFFFFF, name


class Output:
    """An ELF file that is put together of sections, each in a segment of its own."""

    def __init__(self, machine):
        self.machine = machine
        self.sections = []

    def add(self, name, kind, flags, address, content, link=0, entry_size=0):
        self.sections.append((name, kind, flags, address, content, link, entry_size))

    def image(self):
        names = b"\0" + b"".join(s[0].encode() + b"\0" for s in self.sections) + b".shstrtab\0"
        self.add(".shstrtab", SHT_STRTAB, 0, 0, names)
        loaded = [s for s in self.sections if s[2] & SHF_ALLOC]
        offset = 64 + 56 * len(loaded)
        segments, headers, contents = b"", bytes(64), b""
        for name, kind, flags, address, content, link, entry_size in self.sections:
            size = len(content)
            if flags & SHF_ALLOC:
                rights = 4 | (1 if flags & SHF_EXECINSTR else 0)
                segments += struct.pack(
                    "<IIQQQQQQ", 1, rights, offset, address, address, size, size, 8
                )
            headers += struct.pack(
                "<IIQQQQIIQQ",
                names.index(name.encode() + b"\0"),
                kind,
                flags,
                address,
                offset,
                size,
                link,
                0,
                8,
                entry_size,
            )
            content += bytes(-len(content) % 8)
            contents += content
            offset += len(content)
        header = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack(
            "<HHIQQQIHHHHHH",
            2,
            self.machine,
            1,
            0,
            64,
            offset,
            0,
            64,
            56,
            len(loaded),
            64,
            len(self.sections) + 1,
            len(self.sections),
        )
        return header + segments + contents + headers


def condense(elf, offsets):
    frames = read_frames(elf)
    starts = [frame[0] for frame in frames]
    text = elf.sections[".text"]
    kept = set()
    for offset in offsets:
        address = offset - text[4] + text[3]
        frame = frames[bisect.bisect(starts, address) - 1]
        if frame[1] - frame[0] <= LARGEST_FUNCTION:
            kept.add(frame)
    output = Output(elf.machine)
    strings, symbols, relocations = b"\0", bytes(24), b""
    for index, (slot, kind, name) in enumerate(read_imports(elf), 1):
        symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 0, 0, 0)
        strings += name.encode() + b"\0"
        relocations += struct.pack("<QQq", slot, index << 32 | kind, 0)
    output.add(".dynstr", SHT_STRTAB, 0, 0, strings)
    output.add(".dynsym", SHT_DYNSYM, 0, 0, symbols, link=1, entry_size=24)
    output.add(".rela.plt", SHT_RELA, 0, 0, relocations, link=2, entry_size=24)
    for frame in sorted(kept):
        start = text[4] + frame[0] - text[3]
        code = elf.image[start : start + frame[1] - frame[0]]
        output.add(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, frame[0], code)
    output.add(".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, *elf.content(".plt"))
    address = elf.sections[".eh_frame"][3]
    output.add(".eh_frame", SHT_PROGBITS, SHF_ALLOC, address, write_frames(sorted(kept), address))
    address, runtime = elf.content(".PyRuntime")
    output.add(".PyRuntime", SHT_PROGBITS, SHF_ALLOC, address, runtime[:64])
    return output.image()


def main():
    interpreter, sites, output = sys.argv[1:]
    with open(interpreter, "rb") as file:
        elf = Elf(file.read())
    with open(sites) as file:
        found = json.load(file)
    offsets = found["take"] + found["acquired"] + found["release"] + found["switched"]
    with open(output, "wb") as file:
        file.write(condense(elf, offsets))


main()
