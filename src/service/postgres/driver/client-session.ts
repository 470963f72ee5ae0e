import type { Admission } from "../proxy/admission.ts";
import { type AnswerLimit, type Login, SqlClient } from "../sql-client.ts";

/** Opens a session in a compute's server for a client that is let in, as the client's own role. */
export async function openClientSession(
  { socket, leave }: Admission,
  login: Omit<Login, "socket">,
  limit: AnswerLimit,
): Promise<SqlClient> {
  const client = await SqlClient.connect({ ...login, socket }, limit).catch((error: unknown) => {
    leave();
    throw error;
  });
  void client.closed.then(leave);
  return client;
}
