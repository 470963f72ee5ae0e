import { asFullDisk } from "../server/temporary-disk.ts";
import { MessageFilter, message } from "../session/messages.ts";

const types = { error: 0x45, key: 0x4b, ready: 0x5a } as const;

/** The longest error that is looked at, in bytes: a client may raise one of a gigabyte. */
const longestError = 1024 ** 2;

/**
 * Follows the messages of a server after its login: puts another key for cancelling in the place of its own, which
 * `onKey` receives, and has a full temporary disk look as one.
 */
export function serverMessages(key: Buffer, onKey: (key: Buffer) => void): MessageFilter {
  // Keys come before the first `ReadyForQuery`.
  let isReady = false;
  return new MessageFilter({
    holds(type, length) {
      isReady ||= type === types.ready;
      return (type === types.error && length <= longestError) || (type === types.key && !isReady);
    },
    replaced(type, body) {
      if (type === types.error) return changedError(body);
      onKey(Buffer.from(body));
      return message("K", key);
    },
  });
}

/** The error as the client is to see it; `undefined` where it stays as it is. */
function changedError(body: Buffer): Buffer | undefined {
  // Most errors are none of these: the code is found without taking all fields apart.
  if (!body.includes("C53400\0", 0, "latin1")) return undefined;
  const fields = body
    .toString("utf8")
    .split("\0")
    .filter((field) => field !== "");
  const valueOf = (type: string) => fields.find((field) => field.startsWith(type))?.slice(1);
  const full = asFullDisk({ code: valueOf("C"), message: valueOf("M") ?? "" });
  if (!full) return undefined;
  const shown: Readonly<Record<string, string>> = { C: full.code, M: full.message };
  const changed = fields.map((field) => `${field.charAt(0)}${shown[field.charAt(0)] ?? field.slice(1)}\0`).join("");
  return message("E", `${changed}\0`);
}
