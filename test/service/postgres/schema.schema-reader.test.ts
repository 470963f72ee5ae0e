import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SchemaReader } from "../../../src/service/postgres/schema/schema-reader.ts";
import { SqlClient } from "../../../src/service/postgres/sql-client.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { main, Shop } from "../support/shop.ts";

/** AuthenticationOk and ReadyForQuery. */
const welcome = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");

it("a client that leaves while the session for its schema opens has nothing read", async () => {
  const directory = temporaryDirectory("schema-reader");
  const socket = join(directory.path, "socket");
  const heard: string[] = [];
  const server = createServer((connection) => {
    let isLoggedIn = false;
    connection.on("data", (chunk) => {
      if (isLoggedIn) {
        heard.push(chunk.toString("latin1"));
        connection.end();
      } else connection.write(welcome);
      isLoggedIn = true;
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  const gone = new AbortController();
  const connect = async (database: string) => {
    const client = await SqlClient.connect({ socket, user: "cloud_admin", password: "", database });
    gone.abort();
    return client;
  };
  const reader = new SchemaReader({
    store: new Shop().core.context.store,
    fleet: { reading: (_branch, _version, act) => act(connect) },
    copies: { ensure: () => Promise.resolve() },
  });
  await expect(reader.read(main, "stock", gone.signal)).rejects.toThrow("cannot be read now");
  await expect.poll(() => heard).toEqual(["X\0\0\0\x04"]);
});
