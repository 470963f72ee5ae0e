import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isSegment, numberOf, placeAt, placeOf, segmentBytes } from "../data/segments.ts";
import { namesIn, unlessGone } from "../host/each-file.ts";

/** The size of a page of the log, in bytes. Each begins with a header that says where in the log it lies. */
const pageBytes = 8192;

/** Sizes of headers in bytes: of a page, of the first page of a segment, and of a record. */
const headers = { page: 24, longPage: 40, record: 24 };

/** Flags of a page: it begins with the rest of a record, and its header is a long one. */
const flags = { continued: 1, long: 2 };

/** The bytes of a record that are kept: enough for the time of a transaction's end. */
const keptBytes = 64;

/** The kind of records about transactions, and those of them that end one, a prepared one too. */
const transactions = 1;
const ends: readonly number[] = [0x00, 0x20, 0x30, 0x40];

/** Milliseconds from 1970 to 2000, from where Postgres counts microseconds. */
const epochMs = 946_684_800_000;

/** The log from a place on. */
export interface LogPart {
  /** The directory of the segments. */
  directory: string;
  /** The names of its segments. */
  names: readonly string[];
  /** The place of the first segment. */
  place: string;
  /** Positions before this one do not count. */
  from: bigint;
}

/**
 * The position in the log at which the last transaction had ended by a time, in milliseconds since the epoch: what
 * follows is of later ones. A recovery to the time itself goes on until the first later end, and does what that
 * transaction did before: `DROP DATABASE` removes files. Answers `undefined` where the log has no later end, or another
 * form.
 */
export async function positionBy(time: number, log: LogPart): Promise<bigint | undefined> {
  let reached = log.from;
  for await (const { at, position } of endsIn(log)) {
    if (at > time) return reached;
    if (position > reached) reached = position;
  }
  return undefined;
}

/** The most by which the time of a file is behind the clock, in milliseconds. */
const fileTimeMs = 1000;

/**
 * The time of the newest end of a transaction in those segments of a directory that were written since a time; 0 where
 * there is none.
 */
export async function newestEnd(directory: string, since: number): Promise<number> {
  const names = (await namesIn(directory)).filter(isSegment);
  const written: string[] = [];
  for (const name of names) {
    const found = await stat(join(directory, name)).catch(unlessGone);
    if (found && found.mtimeMs > since - fileTimeMs) written.push(placeOf(name));
  }
  const [place] = written.toSorted();
  let newest = 0;
  if (place === undefined) return newest;
  for await (const { at } of endsIn({ directory, names, place })) newest = Math.max(newest, at);
  return newest;
}

/** The ends of transactions, each with its time in milliseconds since the epoch and the position after its record. */
async function* endsIn(log: Omit<LogPart, "from">): AsyncGenerator<{ at: number; position: bigint }> {
  let record: LogRecord | undefined;
  for await (const { page, position } of pagesOf(log)) {
    const bits = page.readUInt16LE(2);
    let at = (bits & flags.long) === 0 ? headers.page : headers.longPage;
    if ((bits & flags.continued) === 0) record = undefined;
    else {
      const rest = Math.min(page.readUInt32LE(16), pageBytes - at);
      record?.take(page.subarray(at, at + rest));
      at += aligned(rest);
    }
    for (;;) {
      const ended = record?.isWhole === true ? record.endOfTransaction() : undefined;
      if (ended !== undefined) yield { at: ended, position: position + BigInt(at) };
      const length = at < pageBytes ? page.readUInt32LE(at) : 0;
      if (length === 0) break;
      record = new LogRecord(length);
      const part = Math.min(length, pageBytes - at);
      record.take(page.subarray(at, at + part));
      at += aligned(part);
    }
  }
}

/** The pages of a log until one that is none of it. A segment that was ended early has no more of them. */
async function* pagesOf({
  directory,
  names,
  place,
}: Omit<LogPart, "from">): AsyncGenerator<{ page: Buffer; position: bigint }> {
  for (let number = numberOf(place); ; number += 1n) {
    const start = number * BigInt(segmentBytes);
    // Of one place the last timeline's is this log's: it begins with what the one before has up to there.
    const [name] = names.filter((one) => one.endsWith(placeAt(start))).toSorted((one, other) => (one < other ? 1 : -1));
    if (name === undefined) return;
    const segment = await readFile(join(directory, name));
    for (let offset = 0; offset + pageBytes <= segment.length; offset += pageBytes) {
      const page = segment.subarray(offset, offset + pageBytes);
      const position = page.readBigUInt64LE(8);
      if (position === 0n && offset > 0) break;
      if (position !== start + BigInt(offset)) return;
      yield { page, position };
    }
  }
}

/** A record of the log, as far as its pages were read. */
class LogRecord {
  readonly #length: number;
  readonly #bytes = Buffer.alloc(keptBytes);
  #taken = 0;

  constructor(length: number) {
    this.#length = length;
  }

  take(part: Buffer): void {
    if (this.#taken < keptBytes) part.copy(this.#bytes, this.#taken);
    this.#taken += part.length;
  }

  get isWhole(): boolean {
    return this.#taken >= this.#length;
  }

  /** The time of a transaction's end, in milliseconds since the epoch; `undefined` in any other record. */
  endOfTransaction(): number | undefined {
    const bytes = this.#bytes;
    if (bytes[17] !== transactions || !ends.includes(bytes.readUInt8(16) & 0x70)) return undefined;
    let at = headers.record;
    // Before the data: where a replicated transaction comes from, and the whole of which a transaction is a part.
    if (bytes[at] === 253) at += 3;
    if (bytes[at] === 252) at += 5;
    at += bytes[at] === 255 ? 2 : 5;
    return Number(bytes.readBigInt64LE(at)) / 1000 + epochMs;
  }
}

/** Records begin at multiples of eight bytes. */
function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}
