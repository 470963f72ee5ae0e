import { StringDecoder } from "node:string_decoder";

/** A name as SQL shows it. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The longest name, in bytes. */
const longestName = 63;

/** A name as a server takes it: its first bytes, in whole characters. */
export function cutName(name: string): string {
  return new StringDecoder("utf8").write(Buffer.from(name).subarray(0, longestName));
}

/** A text as SQL shows it, after a space. */
export function literal(text: string): string {
  return ` E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
