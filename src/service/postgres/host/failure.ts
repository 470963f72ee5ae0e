/** Something that a person can act on stands in the way: the message says what, and what to do. */
export class PostgresUnusable extends Error {
  override name = "PostgresUnusable";
}

/** A server or its data could not do what an operation asked for. The message becomes that operation's error. */
export class ServerFailed extends Error {
  override name = "ServerFailed";
}

/** Of what is not begun any more, or is broken off, as the service ends. */
export function serviceEnds(): ServerFailed {
  return new ServerFailed("the service ends");
}

/** Clients of a server keep a role or a database from being changed: it has to start again. */
export class Held extends ServerFailed {
  override name = "Held";
}

/** True of a disk without room, and of a quota that is used up. */
export function isFullDisk(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
