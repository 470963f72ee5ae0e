import { message as newMessage } from "./messages.ts";
import { identifier } from "./quoting.ts";

/** A client is refused before it reaches a server. */
export class Rejection extends Error {
  override name = "Rejection";
  readonly sqlState: string;

  constructor(sqlState: string, message: string) {
    super(message);
    this.sqlState = sqlState;
  }
}

/** The end of a session whose login holds no more. */
export function loggedOut(): Rejection {
  return new Rejection(
    "57P01",
    "terminating connection: a password of the branch was reset, or the role or compute deleted",
  );
}

/** The reason of a server that opens no session in time. */
export function noSession(database: string): string {
  return `database ${identifier(database)} takes no session: a client may hold a lock on it`;
}

/** The error as Postgres sends it. */
export function errorResponse({ sqlState, message }: Rejection): Buffer {
  const fields = [`SFATAL`, `VFATAL`, `C${sqlState}`, `M${message.replaceAll("\0", "")}`];
  return newMessage("E", `${fields.join("\0")}\0\0`);
}
