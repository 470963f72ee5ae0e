import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { requestCancel } from "../../../../src/service/postgres/session/cancel-request.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";

test("a request to end a statement stays open until its server closes it: an older PgBouncer would end", async () => {
  const directory = temporaryDirectory("cancel-request");
  const path = join(directory.path, "socket");
  const heard: string[] = [];
  const held: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("end", () => heard.push("left"));
    socket.once("data", (packet) => {
      heard.push(String(packet));
      if (String(packet) === "first") held.push(socket);
      else socket.end();
    });
  });
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const first = requestCancel(path, Buffer.from("first"));
  await expect.poll(() => heard).toEqual(["first"]);
  await requestCancel(path, Buffer.from("second"));
  // Of the second one, whose connection its server has closed.
  await expect.poll(() => heard).toEqual(["first", "second", "left"]);
  held[0]?.end();
  await first;
  await expect.poll(() => heard).toEqual(["first", "second", "left", "left"]);
});
