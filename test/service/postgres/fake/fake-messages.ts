import { message } from "../../../../src/service/postgres/session/messages.ts";
import type { Rows } from "./fake-sql.ts";

/** An error, as a server sends it. */
export function refusal(error: Error): Buffer {
  const code = "code" in error ? String(error.code) : "42601";
  return message("E", `SERROR\0C${code}\0M${error.message}\0\0`);
}

/** Rows with their end, as a server sends them. */
export function table(rows: Rows): Buffer {
  const described = (rows[0] ?? []).map((_, index) => {
    const about = Buffer.alloc(18);
    about.writeUInt32BE(25, 6);
    return Buffer.concat([Buffer.from(`c${index}\0`), about]);
  });
  const lines = rows.map((row) => message("D", counted(row.map(textOf))));
  return Buffer.concat([message("T", counted(described)), ...lines, message("C", `SELECT ${rows.length}\0`)]);
}

function counted(parts: readonly Buffer[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeUInt16BE(parts.length);
  return Buffer.concat([count, ...parts]);
}

function textOf(value: string | null): Buffer {
  const length = Buffer.alloc(4);
  if (value === null) return Buffer.from([255, 255, 255, 255]);
  length.writeUInt32BE(Buffer.byteLength(value));
  return Buffer.concat([length, Buffer.from(value)]);
}

/** The values of a Bind message whose portal and statement have no names, and whose formats are given once at most. */
export function valuesIn(body: Buffer): (string | null)[] {
  let at = 2;
  at += 2 + 2 * body.readUInt16BE(at);
  const values: (string | null)[] = [];
  const count = body.readUInt16BE(at);
  at += 2;
  for (let index = 0; index < count; index += 1) {
    const length = body.readInt32BE(at);
    at += 4;
    values.push(length < 0 ? null : body.toString("utf8", at, at + length));
    at += Math.max(0, length);
  }
  return values;
}
