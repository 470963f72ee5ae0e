import { expect, it, onTestFinished, vi } from "vitest";
import { EndpointAnswer } from "../../../src/api/endpoint.ts";
import { elapsed } from "../../../src/service/clock.ts";
import type { Reached } from "../../../src/service/http/reached.ts";
import type { SqlAccess, SqlCall } from "../../../src/service/http/sql-access.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { realClock } from "../../support/real-clock.ts";
import { Visitor } from "../console/visitor.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys, main, primary, project } from "../support/shop.ts";
import { Wire } from "../support/wire.ts";

const MiB = 1024 ** 2;
const limits = { depth: 10, width: 10, values: 10, string: 1_000_000, escapes: 10, names: 10_000 };

/** Answers with the length of a body that has at most a megabyte, if the client logs in as `app`. */
class Access implements SqlAccess {
  readonly refreshed: Reached[] = [];
  /** Number of pieces of bodies that have waited for room. */
  waits = 0;
  readonly networks = new Set<string>();
  refresh = (reached: Reached) => {
    this.refreshed.push(reached);
    return Promise.resolve();
  };
  upgrade = () => {};

  async answer(call: SqlCall) {
    const user = call.headers["neon-connection-string"];
    this.networks.add(call.from);
    if (user === "broken") throw new Error("a mistake of ours");
    if (user === "long") return { status: 200, headers: {}, pieces: ["one, ", "two"].map((text) => Buffer.from(text)) };
    if (user === "large") {
      call.hold("ep-1").take(1000);
      return { status: 200, headers: {}, body: "x".repeat(16 * 1024 ** 2) };
    }
    if (user === "failing") {
      call.hold("ep-1");
      return { status: 400, headers: {}, body: "x".repeat(40_000_000) };
    }
    if (user !== "app") return { status: 400, headers: {}, body: "{}" };
    const holding = call.hold("ep-1");
    const room = (amount: number) => {
      this.waits += 1;
      return holding.room(amount);
    };
    const body = await call.body({ holding: { ...holding, room }, longest: 1_000_000, limits });
    return { status: 200, headers: {}, body: String(body.length) };
  }
}

function start(bytes: Shares, access = new Access()): Promise<ListeningShop> {
  return ListeningShop.start({}, { bytes, requestTimeoutMs: 600_000 }, access);
}

/** The answer to a body, its status and whether a page of another site may read it. */
async function answered(
  shop: ListeningShop,
  user: string,
  length: number,
  part = "x",
): Promise<[number, string | null]> {
  const headers = { "neon-connection-string": user };
  const { status, headers: given } = await fetch(new URL("/sql", shop.baseURL), {
    method: "POST",
    headers,
    body: part.repeat(length),
  });
  return [status, given.get("access-control-allow-origin")];
}

it("nothing of a body is read before its sender has logged in, and one without room waits for that of another", async () => {
  const bytes = new Shares(1_000_000);
  await using shop = await start(bytes);
  const unfinished = ["stranger", "app"].map((user) => {
    const wire = new Wire(shop);
    wire.send(
      `POST /sql HTTP/1.1\r\nHost: localhost\r\nNeon-Connection-String: ${user}\r\nContent-Length: 900000\r\n\r\n`,
    );
    wire.send("x".repeat(400_000));
    return wire;
  });
  expect(await unfinished[0]?.answer()).toMatch(/^HTTP\/1\.1 400 /);
  await unfinished[0]?.ended;
  await expect.poll(() => bytes.all).toBe(400_000);
  let isAnswered = false;
  const waiting = answered(shop, "app", 110_000).finally(() => (isAnswered = true));
  expect(await answered(shop, "app", 10_000)).toEqual([200, "*"]);
  expect(isAnswered).toBe(false);
  unfinished[1]?.socket.destroy();
  expect(await waiting).toEqual([200, "*"]);
  await expect.poll(() => bytes.all).toBe(0);
});

it("a body of which each piece waits for room, also the last one after its end has come, is read whole", async () => {
  const bytes = new Shares(1_000_000);
  const access = new Access();
  await using shop = await start(bytes, access);
  const [most, rest] = [bytes.of("ep-1"), bytes.of("ep-1")];
  expect([most.take(450_000), rest.take(40_000)]).toEqual([true, true]);
  const wire = new Wire(shop);
  wire.send("POST /sql HTTP/1.1\r\nHost: localhost\r\nNeon-Connection-String: app\r\nContent-Length: 60000\r\n\r\n");
  wire.send("x".repeat(30_000));
  await expect.poll(() => access.waits).toBe(1);
  wire.send("y".repeat(30_000));
  rest.release();
  await expect.poll(() => bytes.all).toBe(480_000);
  await elapsed(realClock, 50);
  most.release();
  expect(await wire.answer()).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\n60000$/);
  wire.socket.destroy();
});

it("what Node reads of those who have not logged in counts in the share of their network until they are answered", async () => {
  const bytes = new Shares(7 * 131_072);
  const refused = Promise.withResolvers<void>();
  const answer = async () => {
    await refused.promise;
    return { status: 400, headers: {} };
  };
  await using shop = await start(bytes, Object.assign(new Access(), { answer }));
  const wires = Array.from({ length: 5 }, (_, index) => new Wire(shop, index === 4 ? "127.0.0.2" : "127.0.0.1"));
  for (const wire of wires) {
    wire.send(`POST /sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n${"x".repeat(200_000)}`);
  }
  // One of them is beyond the share of its network.
  await expect.poll(() => wires.filter(({ received }) => received.startsWith("HTTP/1.1 503 ")).length).toBe(1);
  await expect.poll(() => bytes.all).toBe(4 * 131_072);
  refused.resolve();
  await expect.poll(() => wires.filter(({ received }) => received.startsWith("HTTP/1.1 400 ")).length).toBe(4);
  await expect.poll(() => bytes.all).toBe(0);
});

it("an answer in pieces arrives whole, with its length", async () => {
  const access = new Access();
  await using shop = await start(new Shares(), access);
  const headers = { "neon-connection-string": "long" };
  const answer = await fetch(new URL("/sql", shop.baseURL), { method: "POST", headers });
  expect([answer.headers.get("content-length"), await answer.text()]).toEqual(["8", "one, two"]);
  expect([...access.networks]).toEqual(["127.0.0.1"]);
});

it("what a request holds is given back when its answer was taken, or its client has left, and not before", async () => {
  const bytes = new Shares();
  await using shop = await start(bytes);
  const wire = new Wire(shop);
  wire.socket.pause();
  wire.send("POST /sql HTTP/1.1\r\nHost: localhost\r\nNeon-Connection-String: large\r\n\r\n");
  await expect.poll(() => bytes.all).toBe(1000 + 16 * 1024 ** 2);
  await elapsed(realClock, 50);
  expect(bytes.all).toBe(1000 + 16 * 1024 ** 2);
  wire.socket.destroy();
  await expect.poll(() => bytes.all).toBe(0);
});

it("long errors that are not taken count in the share of their compute, and a further one is none of them", async () => {
  const bytes = new Shares(130_000_000);
  await using shop = await start(bytes);
  const failing = async () => {
    const wire = new Wire(shop);
    wire.socket.once("data", () => wire.socket.pause());
    wire.send("POST /sql HTTP/1.1\r\nHost: localhost\r\nNeon-Connection-String: failing\r\n\r\n");
    return { socket: wire.socket, status: (await wire.answer()).slice(9, 12) };
  };
  const [one, other] = [await failing(), await failing()];
  expect([one.status, other.status]).toEqual(["400", "503"]);
  expect(bytes.all).toBe(40_000_000);
  one.socket.destroy();
  other.socket.destroy();
  await expect.poll(() => bytes.all).toBe(0);
});

it("a client that has sent all of its body keeps nothing waiting that was refused or answered", async () => {
  await using shop = await start(new Shares());
  const after = vi.spyOn(shop.core.context.clock, "after");
  onTestFinished(() => after.mockRestore());
  expect(await answered(shop, "app", 1000)).toEqual([200, "*"]);
  expect(await answered(shop, "stranger", 0)).toEqual([400, "*"]);
  expect(after).not.toHaveBeenCalled();
});

it("every refusal of SQL may be read by the page that sent it, and no other answer of the service", async () => {
  await using shop = await start(new Shares());
  expect(await answered(shop, "stranger", 2)).toEqual([400, "*"]);
  expect(await answered(shop, "app", 1_000_001)).toEqual([413, "*"]);
  expect(await answered(shop, "app", 11, "0,")).toEqual([400, "*"]);
  expect(await answered(shop, "broken", 2)).toEqual([500, "*"]);
  for (const path of ["/api/v2/projects", "/healthz", "/", "/sql/", "/v2"]) {
    const headers = { origin: "https://shop.example", "access-control-request-method": "POST" };
    for (const method of ["GET", "POST", "OPTIONS"]) {
      const { headers: given } = await fetch(new URL(path, shop.baseURL), { method, headers });
      expect([...given.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    }
  }
});

it("a page may send with SQL what the vendor's driver sends: one method and its headers", async () => {
  await using shop = await start(new Shares());
  const asked = async (method: string) => {
    const headers = { origin: "https://shop.example", "access-control-request-method": method };
    return (await fetch(new URL("/sql", shop.baseURL), { method: "OPTIONS", headers })).headers;
  };
  const given = await asked("POST");
  expect(given.get("access-control-allow-origin")).toBe("*");
  expect(given.get("access-control-allow-methods")).toBe("POST");
  expect(given.get("access-control-max-age")).toBe("86400");
  expect(given.get("access-control-allow-credentials")).toBeNull();
  expect(given.get("access-control-allow-headers")?.split(", ").toSorted()).toEqual([
    "Authorization",
    "Content-Type",
    "Neon-Array-Mode",
    "Neon-Batch-Deferrable",
    "Neon-Batch-Isolation-Level",
    "Neon-Batch-Read-Only",
    "Neon-Connection-String",
    "Neon-Raw-Text-Output",
  ]);
  expect((await asked("DELETE")).get("access-control-allow-origin")).toBeNull();
});

it("servers are asked for roles and databases by a caller with the right to see them, and by nobody else", async () => {
  const access = new Access();
  await using shop = await ListeningShop.start({}, {}, access);
  const roles = `/projects/${project}/branches/${main}/roles`;
  const call = async (path: string, key: string | undefined, method = "GET") => {
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const { status } = await fetch(`${shop.baseURL}${path}`, { method, headers });
    return status;
  };
  expect(await call(roles, undefined)).toBe(401);
  expect(await call(roles, "wrong")).toBe(401);
  expect(await call(roles, keys.eve)).toBe(404);
  expect(await call(roles, keys.other)).toBe(404);
  expect(await call(`/projects/${project}/branches/${main}/roles/x/y`, keys.ana)).toBe(404);
  expect(await call(roles, keys.ana, "PUT")).toBe(404);
  expect(await call("/projects", keys.ana)).toBe(200);
  expect(access.refreshed).toEqual([]);
  const reached = {
    path: "/projects/{project_id}/branches/{branch_id}/roles",
    params: { project_id: project, branch_id: main },
  };
  // A path means the same with its characters encoded.
  for (const path of [roles, roles.replaceAll("-", "%2D")]) expect(await call(path, keys.bob)).toBe(200);
  expect(access.refreshed).toEqual([reached, reached]);
  // A viewer sees them, and changes nothing.
  shop.core.change(({ store }, joinedAt) =>
    store.accounts.putMember({ organizationId: "org-shop", accountId: "acc-bob", role: "viewer", joinedAt }),
  );
  expect([await call(roles, keys.bob, "POST"), access.refreshed.length]).toEqual([403, 2]);
  expect([await call(roles, keys.bob), access.refreshed.length]).toEqual([200, 3]);
});

it("servers are asked for roles and databases by pages and forms of a person who may read them, and of nobody else", async () => {
  const access = new Access();
  await using shop = await ListeningShop.start({}, {}, access);
  const origin = new URL(shop.baseURL).origin;
  const page = `/app/projects/${project}/branches/${main}/roles`;
  const send = async (person: Visitor | undefined, path: string, method = "GET") => {
    const headers: Record<string, string> = person?.cookie === undefined ? {} : { cookie: person.cookie };
    const { status } = await fetch(`${origin}${path}`, { method, headers });
    return status;
  };
  const own = { headers: { host: new URL(shop.baseURL).host } };
  const [ana, eve] = ["acc-ana", "acc-eve"].map((account) => new Visitor(shop.core, own).signIn(account));
  expect([await send(undefined, page), await send(eve, page), access.refreshed]).toEqual([401, 404, []]);
  expect([await send(ana, page), await send(ana, `${page}/delete`, "POST")]).toEqual([200, 403]);
  const reached = {
    path: "/app/projects/{project_id}/branches/{branch_id}/roles",
    params: { project_id: project, branch_id: main },
  };
  expect(access.refreshed).toEqual([reached, { ...reached, path: `${reached.path}/delete` }]);
  await send(ana, "/app/projects");
  expect(access.refreshed).toHaveLength(2);
});

it("servers are asked for nothing by a call that the limits of its account refuse", async () => {
  const access = new Access();
  const rateLimits = { perMinute: 100, perSecondAndRoute: 2 };
  await using shop = await ListeningShop.start({ rateLimits, timeScale: 0.001 }, {}, access);
  const statuses: number[] = [];
  for (let sent = 0; sent < 4; sent += 1) {
    const headers = { authorization: `Bearer ${keys.ana}` };
    const answer = await fetch(`${shop.baseURL}/projects/${project}/branches/${main}/roles`, { headers });
    statuses.push(answer.status);
  }
  expect([statuses, access.refreshed.length]).toEqual([[200, 200, 429, 429], 2]);
});

it("all computes of an owner hold one part of the bytes, and those of another their own", async () => {
  const held = Promise.withResolvers<number[]>();
  const computes = [primary];
  const answer = (call: SqlCall) => {
    const parts = computes.map((id) => call.hold(id));
    held.resolve(parts.map((part) => Array.from({ length: 96 }, () => part.take(MiB)).filter(Boolean).length));
    return Promise.resolve({ status: 200, headers: {} });
  };
  const access = { answer, refresh: () => Promise.resolve(), upgrade: () => {} };
  await using shop = await ListeningShop.start({}, { bytes: new Shares(96 * MiB) }, access);
  const make = (key: string, projectId: string, body: object) => {
    const call = { method: "POST", path: `/api/v2/projects/${projectId}/endpoints`, body: JSON.stringify(body) };
    const { body: text = "" } = shop.core.call({ ...call, headers: { authorization: `Bearer ${key}` } });
    computes.push(EndpointAnswer.parse(JSON.parse(text)).endpoint.id);
  };
  make(keys.ana, project, { endpoint: { branch_id: main, type: "read_only" } });
  make(keys.ana, "shop-two", { endpoint: { branch_id: "br-two", type: "read_only" } });
  make(keys.bob, "bob-own", { endpoint: { branch_id: "br-bob", type: "read_only" } });
  computes.push("ep-gone", "ep-gone-too");
  await fetch(new URL("/sql", shop.baseURL), { method: "POST" });
  expect(await held.promise).toEqual([48, 0, 0, 24, 12, 6]);
});

it.each([
  ["is refused", "POST", 400],
  ["asks what it may send", "OPTIONS", 200],
])(
  "the connection of a client that %s before its body is read ends where that comes in tiny pieces",
  async (_, method, status) => {
    await using shop = await start(new Shares());
    // Without the end of the time that the sender has to read its answer.
    const after = vi.spyOn(shop.core.context.clock, "after").mockImplementation(() => () => {});
    onTestFinished(() => after.mockRestore());
    const wire = new Wire(shop);
    wire.send(`${method} /sql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`);
    expect(await wire.answer()).toContain(`HTTP/1.1 ${status} `);
    wire.send("1\r\n \r\n".repeat(100_000));
    // Well before it would end as an idle one.
    await expect.poll(() => wire.socket.destroyed).toBe(true);
  },
);
