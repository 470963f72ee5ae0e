import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { placeAt, segmentBytes } from "../../../src/service/postgres/data/segments.ts";
import { newestEnd, positionBy } from "../../../src/service/postgres/history/commits.ts";
import { temporaryDirectory } from "../../support/guardian.ts";

const page = 8192;
const first = 3 * segmentBytes;
const noon = Date.UTC(2026, 0, 1, 12);

/** A log of whole segments as Postgres writes one, as far as its form goes. */
class Log {
  readonly #segments = new Map<number, Buffer>();
  #at = first;

  /** The position after the last record. */
  get end(): bigint {
    return BigInt(this.#at);
  }

  /** A record of a kind with these bytes. */
  add(kind: number, info: number, data: Buffer): bigint {
    const record = Buffer.concat([Buffer.alloc(24), data]);
    record.writeUInt32LE(record.length, 0);
    record.writeUInt8(info, 16);
    record.writeUInt8(kind, 17);
    for (let taken = 0; taken < record.length; ) {
      const offset = this.#at % page;
      if (offset === 0) this.#begin(record.length - taken, taken > 0);
      else {
        const part = record.subarray(taken, taken + page - offset);
        part.copy(this.#segment(), this.#at % segmentBytes);
        taken += part.length;
        this.#at += part.length;
      }
    }
    this.#at = Math.ceil(this.#at / 8) * 8;
    return this.end;
  }

  /** The end of a transaction so many milliseconds after noon; `before` and `more` stand around its data. */
  commit(ms: number, { info = 0, before = [] as number[], more = 0 } = {}): bigint {
    const data = Buffer.alloc(16);
    data.writeUInt8(255, 0);
    data.writeUInt8(8, 1);
    data.writeBigInt64LE(BigInt(noon + ms - 946_684_800_000) * 1000n, 2);
    return this.add(1, info, Buffer.concat([Buffer.from(before), data, Buffer.alloc(more)]));
  }

  /** The end of a transaction of which a crash has left the first page alone. */
  breakOff(ms: number): void {
    const kept = 96;
    this.add(10, 0, Buffer.alloc(page - (this.#at % page) - kept - 24));
    const next = this.#at + kept;
    this.commit(ms, { more: 200 });
    this.#at = next;
    this.#segment().fill(0, next % segmentBytes, (next % segmentBytes) + page);
  }

  /** Ends the segment. */
  switch(): void {
    this.#at = (Math.floor(this.#at / segmentBytes) + 1) * segmentBytes;
  }

  write(directory: string, timeline = 1): string[] {
    return [...this.#segments].map(([number, bytes]) => {
      const name = `0000000${timeline}${placeAt(BigInt(number * segmentBytes))}`;
      writeFileSync(join(directory, name), bytes);
      return name;
    });
  }

  #segment(): Buffer {
    const number = Math.floor(this.#at / segmentBytes);
    const known = this.#segments.get(number) ?? Buffer.alloc(segmentBytes);
    this.#segments.set(number, known);
    return known;
  }

  #begin(rest: number, isContinued: boolean): void {
    const isFirst = this.#at % segmentBytes === 0;
    const header = this.#segment().subarray(this.#at % segmentBytes);
    header.writeUInt16LE((isContinued ? 1 : 0) + (isFirst ? 2 : 0), 2);
    header.writeBigUInt64LE(BigInt(this.#at), 8);
    header.writeUInt32LE(isContinued ? rest : 0, 16);
    this.#at += isFirst ? 40 : 24;
  }
}

let directory: ReturnType<typeof temporaryDirectory>;
let log: Log;
beforeEach(() => {
  directory = temporaryDirectory("log");
  log = new Log();
});
afterEach(() => directory.remove());

const place = placeAt(BigInt(first));
/** Where the last transaction had ended so many milliseconds after noon. */
const by = (ms: number, names: readonly string[], from = BigInt(first)) =>
  positionBy(noon + ms, { directory: directory.path, names, place, from });

describe("the position of a time in the log", () => {
  it("the position is the end of the last transaction that had ended by then, whatever others have done since", async () => {
    const early = log.commit(10);
    log.add(4, 0x20, Buffer.alloc(100));
    log.commit(20);
    const names = log.write(directory.path);
    expect([await by(10, names), await by(19.9, names), await by(9, names)]).toEqual([early, early, BigInt(first)]);
  });

  it.each([
    ["a rollback", { info: 0x20 }],
    ["the commit of a prepared transaction, with more to tell", { info: 0xb0 }],
    ["the rollback of a prepared transaction", { info: 0x40 }],
    ["a transaction that was replicated, and is a part of one", { before: [253, 0, 1, 252, 0, 0, 0, 0] }],
  ])("%s counts too", async (_, form) => {
    const early = log.commit(10, form);
    log.commit(20, form);
    expect(await by(15, log.write(directory.path))).toBe(early);
  });

  it("a transaction that was prepared and had not ended does not count", async () => {
    const early = log.commit(10);
    log.commit(12, { info: 0x10 });
    log.commit(20);
    expect(await by(15, log.write(directory.path))).toBe(early);
  });

  it("a transaction whose end a crash has broken off does not count, although its time is there", async () => {
    const early = log.commit(10);
    log.breakOff(12);
    log.commit(20);
    expect(await by(15, log.write(directory.path))).toBe(early);
  });

  it("the position is found over pages and segments, in records of any length, and after a segment that was ended early", async () => {
    const found: [number, bigint][] = [];
    for (let n = 0; n < 300; n += 1) {
      log.add(10, 0, Buffer.alloc((n * 997) % 20_000, 7));
      found.push([n, log.commit(n)]);
      if (n % 60 === 59) log.switch();
    }
    log.commit(1000);
    const names = log.write(directory.path);
    expect(names.length).toBeGreaterThan(5);
    for (const [ms, end] of found.filter((_, index) => index % 23 === 0)) expect(await by(ms, names)).toBe(end);
  });

  it("the log is read of the last timeline of each segment", async () => {
    log.commit(10);
    log.commit(20);
    const former = log.write(directory.path);
    log = new Log();
    const early = log.commit(10);
    const other = log.commit(15);
    log.commit(30);
    const names = [...former, ...log.write(directory.path, 2)];
    expect([await by(12, names), await by(20, names)]).toEqual([early, other]);
  });

  it("the position is not known where the log has no later end, lacks a segment, or has another form", async () => {
    log.commit(10);
    log.switch();
    log.commit(20);
    const names = log.write(directory.path);
    mkdirSync(join(directory.path, "other"));
    writeFileSync(join(directory.path, "other", names[0] ?? ""), Buffer.alloc(segmentBytes, 1));
    const other = { directory: join(directory.path, "other"), names, place, from: BigInt(first) };
    expect([await by(20, names), await by(15, names.slice(0, 1)), await positionBy(noon, other)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("the newest end of a transaction", () => {
  const write = (...all: readonly number[]) => {
    for (const ms of all) log.commit(ms);
    return log.write(directory.path).map((name) => join(directory.path, name));
  };

  it("the newest end is found among all of the segments that were written since", async () => {
    write(10, 30, 20);
    log.switch();
    write(25);
    expect(await newestEnd(directory.path, 0)).toBe(noon + 30);
  });

  it("a segment that was last written long before does not count, one of the last second does", async () => {
    const [before = ""] = write(30);
    log.switch();
    const after = write(20).at(-1) ?? "";
    const written = (file: string, ms: number) => utimesSync(file, (noon + ms) / 1000, (noon + ms) / 1000);
    written(before, 30);
    written(after, 5000);
    const since = (ms: number) => newestEnd(directory.path, noon + ms);
    expect([await since(1000), await since(2000), await since(7000)]).toEqual([noon + 30, noon + 20, 0]);
  });

  it("a directory that is not there has none", async () => {
    expect(await newestEnd(join(directory.path, "none"), 0)).toBe(0);
  });
});
