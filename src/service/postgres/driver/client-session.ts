import type { Admission } from "../proxy/admission.ts";
import { loggedOut } from "../session/rejection.ts";
import { type Login, SqlClient } from "../session/sql-client.ts";

/**
 * Opens a session in a compute's server for a client that is let in, as the client's own role. It counts before that:
 * the client may have its process wait for a lock. `longestAnswers`: the most bytes of its answers together.
 */
export async function openClientSession(
  { socket, enter, leave }: Admission,
  login: Omit<Login, "socket">,
  longestAnswers: number,
): Promise<SqlClient> {
  try {
    const path = await socket(login.database);
    enter();
    const client = await SqlClient.connect({ ...login, socket: path }, longestAnswers);
    void client.closed.then(leave);
    return client;
  } catch (error) {
    leave();
    throw error;
  }
}

/** Runs `act` in a client's session, and ends the session; a statement of a client that has left is cancelled. */
export async function inSession<Result>(
  client: SqlClient,
  { logout }: Admission,
  gone: AbortSignal | undefined,
  act: () => Promise<Result>,
): Promise<Result> {
  const cancel = () => client.cancel();
  logout.addEventListener("abort", () => client.destroy(loggedOut()));
  gone?.addEventListener("abort", cancel);
  if (gone?.aborted) cancel();
  try {
    if (logout.aborted) throw loggedOut();
    return await act();
  } finally {
    gone?.removeEventListener("abort", cancel);
    client.close();
  }
}
