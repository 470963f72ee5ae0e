import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ServiceSessions } from "../../../src/service/postgres/service-sessions.ts";
import { Sockets } from "../../../src/service/postgres/sockets.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

it("gives up a session that a server does not open, as where a client holds a lock on the database", async () => {
  const directory = temporaryDirectory("service-sessions");
  const [sockets, clock] = [new Sockets(directory.path), new VirtualClock()];
  const arrived = Promise.withResolvers<void>();
  const server = createServer((socket) => socket.on("error", () => {}).on("data", () => arrived.resolve()));
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  await new Promise<void>((resolve) => server.listen(sockets.path(1), resolve));
  const sessions = new ServiceSessions({ sockets, password: "secret", clock });
  const opening = sessions.open({ port: 1, major: 17 }, "stock").catch(String);
  await arrived.promise;
  await clock.advance(20_000);
  expect(await opening).toMatch(/database "stock" takes no session: a client may hold a lock on it/);
});
