import { expect, it } from "vitest";
import { inSession } from "../../../src/service/postgres/driver/client-session.ts";

/** A session that notes what is done with it. */
function noting(done: string[]) {
  return Object.assign(JSON.parse("{}"), { cancel: () => done.push("cancel"), close: () => done.push("close") });
}

it("a session whose login has ended by the time that it is open runs no statement, and is closed", async () => {
  const done: string[] = [];
  const client = noting(done);
  const admission = Object.assign(JSON.parse("{}"), { logout: AbortSignal.abort() });
  const act = () => Promise.resolve(done.push("statement"));
  await expect(inSession(client, admission, undefined, act)).rejects.toThrow("a password of the branch was reset");
  expect(done).toEqual(["close"]);
});

it("a session whose client has left by the time that it is open is cancelled before its statement, and closed", async () => {
  const done: string[] = [];
  const client = noting(done);
  const admission = Object.assign(JSON.parse("{}"), { logout: new AbortController().signal });
  await inSession(client, admission, AbortSignal.abort(), () => Promise.resolve(done.push("statement")));
  expect(done).toEqual(["cancel", "statement", "close"]);
});

it("a client that leaves after its statement has nothing cancelled: another's process may have the number by then", async () => {
  const done: string[] = [];
  const client = noting(done);
  const admission = Object.assign(JSON.parse("{}"), { logout: new AbortController().signal });
  const gone = new AbortController();
  await inSession(client, admission, gone.signal, () => Promise.resolve(done.push("statement")));
  gone.abort();
  expect(done).toEqual(["statement", "close"]);
});
