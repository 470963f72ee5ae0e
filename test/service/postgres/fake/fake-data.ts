import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { placeAt, segmentBytes } from "../../../../src/service/postgres/data/segments.ts";

const Content = z.object({
  roles: z.record(z.string(), z.object({ login: z.boolean(), password: z.string(), memberOf: z.array(z.string()) })),
  /** By name: the owner. */
  databases: z.record(z.string(), z.string()),
  rows: z.array(z.string()),
});
/** All that a fake server knows: roles, databases, and rows, which are words here. */
export type Content = z.infer<typeof Content>;

const Change = z.object({ at: z.number(), position: z.number(), content: Content });

/** States of a server in its control file. */
const states = { shutDown: 1, inProduction: 6 } as const;

/** Size of what stands before the changes of a segment, in bytes. */
const headerBytes = 16;

/** Where a recovery ends. */
export interface RecoveryTarget {
  at: number;
  position: number;
}

/** A data directory as far as the service reads it, with the content of its databases in one file. */
export class FakeData {
  readonly directory: string;
  /** Of the last change in the log. */
  position: number;

  constructor(directory: string) {
    this.directory = directory;
    this.position = Number(readFileSync(join(directory, "global", "pg_control")).readBigUInt64LE(32));
  }

  /** Makes a directory as `initdb` does. */
  static initialise(directory: string): void {
    const empty = ["global", "pg_wal/archive_status", "pg_twophase", "pg_replslot"];
    for (const name of empty) mkdirSync(join(directory, name), { recursive: true });
    writeFileSync(join(directory, "PG_VERSION"), "17\n");
    writeFileSync(join(directory, "global", "pg_control"), controlText(states.shutDown, segmentBytes));
    const content: Content = {
      roles: { cloud_admin: { login: true, password: "", memberOf: [] } },
      databases: { postgres: "cloud_admin", template1: "cloud_admin", template0: "cloud_admin" },
      rows: [],
    };
    const data = new FakeData(directory);
    data.#write(content);
    data.#log("");
  }

  get content(): Content {
    return Content.parse(JSON.parse(readFileSync(join(this.directory, "content.json"), "utf8")));
  }

  /** The position as an LSN. */
  get lsn(): string {
    return `0/${this.position.toString(16).toUpperCase()}`;
  }

  /** The name of the segment of the log that is written now. */
  get segmentName(): string {
    return `00000001${placeAt(BigInt(this.position))}`;
  }

  get segment(): string {
    return join(this.directory, "pg_wal", this.segmentName);
  }

  begin(): void {
    writeFileSync(join(this.directory, "global", "pg_control"), controlText(states.inProduction, this.position));
    this.#log("");
  }

  end(): void {
    writeFileSync(join(this.directory, "global", "pg_control"), controlText(states.shutDown, this.position));
  }

  change(at: number, act: (content: Content) => void): void {
    const { content } = this;
    act(content);
    this.position += 16;
    this.#write(content);
    this.#log(`${JSON.stringify({ at, position: this.position, content })}\n`);
  }

  /** Ends the segment that is written: it is ready to be kept. */
  switchLog(): string {
    const ended = this.lsn;
    writeFileSync(join(this.directory, "pg_wal", "archive_status", `${this.segmentName}.ready`), "");
    this.position = (Math.floor(this.position / segmentBytes) + 1) * segmentBytes;
    this.#log("");
    return ended;
  }

  /** Each segment begins with its place, as Postgres's do. */
  #log(text: string): void {
    const header = Buffer.alloc(headerBytes);
    header.writeBigUInt64LE(BigInt(Math.floor(this.position / segmentBytes) * segmentBytes), 8);
    writeFileSync(this.segment, existsSync(this.segment) ? text : Buffer.concat([header, Buffer.from(text)]), {
      flag: "a",
    });
  }

  /** Takes the changes of the log over, up to a target. */
  recover(target: RecoveryTarget): void {
    const log = join(this.directory, "pg_wal");
    const segments = readdirSync(log).filter((name) => /^[0-9A-F]{24}$/.test(name));
    for (const name of segments.toSorted()) {
      for (const line of readFileSync(join(log, name)).subarray(headerBytes).toString().split("\n")) {
        if (line === "") continue;
        const { at, position, content } = Change.parse(JSON.parse(line));
        if (at > target.at || position > target.position || position <= this.position) continue;
        this.position = position;
        this.#write(content);
      }
    }
    rmSync(join(this.directory, "standby.signal"));
  }

  #write(content: Content): void {
    writeFileSync(join(this.directory, "content.json"), JSON.stringify(content));
  }
}

function controlText(state: number, checkpoint: number): Buffer {
  const control = Buffer.alloc(512);
  control.writeUInt32LE(state, 16);
  control.writeBigUInt64LE(BigInt(checkpoint), 32);
  return control;
}
