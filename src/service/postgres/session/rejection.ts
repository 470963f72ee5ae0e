import { message as newMessage } from "./messages.ts";

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
  return new Rejection("57P01", "terminating connection: a password of the branch was reset, or the role deleted");
}

/** The error as Postgres sends it. */
export function errorResponse({ sqlState, message }: Rejection): Buffer {
  const fields = [`SFATAL`, `VFATAL`, `C${sqlState}`, `M${message.replaceAll("\0", "")}`];
  return newMessage("E", `${fields.join("\0")}\0\0`);
}
