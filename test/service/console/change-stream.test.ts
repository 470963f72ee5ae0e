import { beforeEach, expect, it } from "vitest";
import { ListeningShop } from "../support/listening.ts";
import { keys, main, primary, project, Shop } from "../support/shop.ts";
import { textOf, Visitor } from "./visitor.ts";

const branchPath = `/app/projects/${project}/branches/${main}`;
const computePath = `${branchPath}/computes/${primary}`;

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

/** A page that follows the service's changes: the numbers it was sent, and whether the service ended it. */
class Follower {
  readonly counts: number[] = [];
  /** How often the service ended it. */
  ends = 0;
  readonly close: () => void;

  get ended(): boolean {
    return this.ends > 0;
  }

  constructor(visitor: Visitor) {
    const exchange = exchangeOf(visitor);
    if (exchange.kind !== "stream") throw new Error(`no stream, but ${exchange.kind}`);
    this.close = exchange.open({
      send: (event) => this.counts.push(Number(/^event: changes\ndata: (\d+)\n\n$/.exec(event)?.[1])),
      end: () => {
        this.ends += 1;
      },
    });
  }
}

function exchangeOf({ cookie }: Visitor, more: Readonly<Record<string, string>> = {}) {
  const headers = { ...more, ...(cookie !== undefined && { cookie }) };
  return shop.core.exchange({ method: "GET", path: "/app/changes", headers });
}

function statusOf(visitor: Visitor): number | undefined {
  const exchange = exchangeOf(visitor);
  return exchange.kind === "answer" ? exchange.reply.status : undefined;
}

const signedIn = () => new Visitor(shop.core).signIn("acc-ana");
const changesOf = (html: string) => Number(/<main [^>]*data-changes="(\d+)"/.exec(html)?.[1]);

it("the stream of changes begins with the number that a page has, and reports every change until it is closed", () => {
  const ana = signedIn();
  const shown = changesOf(ana.get(branchPath).html);
  const follower = new Follower(ana);
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  shop.ana(`GET /projects/${project}/endpoints`);
  expect(follower.counts).toEqual([shown, shown + 1]);
  shop.finishOperations();
  shop.core.settle();
  expect(follower.counts).toEqual([shown, shown + 1, shown + 2]);
  expect(changesOf(ana.get(branchPath).html)).toBe(shown + 2);
  follower.close();
  shop.active();
  expect([follower.counts.length, follower.ended]).toEqual([3, false]);
});

it("a stream that a page has closed is not ended once more with all others", () => {
  shop = new Shop({ testControls: { applySeed: () => {}, advance: () => {} } });
  const [closed, open] = [new Follower(signedIn()), new Follower(signedIn())];
  closed.close();
  shop.send(undefined, "POST /_reset");
  expect([closed.ends, open.ends]).toEqual([0, 1]);
});

it("the stream is for those who are signed in, and ends with the session", () => {
  expect(exchangeOf(new Visitor(shop.core))).toMatchObject({
    kind: "answer",
    reply: { status: 401, headers: {} },
    delayMs: 0,
  });
  const bob = new Visitor(shop.core, { remote: "10.0.0.7", headers: { host: "computes.example" } });
  bob.get("/");
  bob.post("/app/sign-in", { key: keys.bob });
  const follower = new Follower(bob);
  const [key] = shop.core.context.store.keys.ofAccount("acc-bob");
  shop.send(keys.bob, `DELETE /api_keys/${key?.id}`);
  expect([follower.counts.length, follower.ended]).toEqual([1, true]);
  expect(statusOf(bob)).toBe(401);
});

it("the stream ends as its person signs out on another page, though nothing else happens", () => {
  const ana = signedIn();
  const follower = new Follower(ana);
  ana.post("/app/sign-out");
  expect([follower.counts.length, follower.ended]).toEqual([1, true]);
});

it("the stream of a session that has ended is ended once, follows no further change and gives its place to another", () => {
  const ana = signedIn();
  const crowd = crowdOf(3).flatMap((_, index) => pagesOf(`acc-${index}`, 50));
  const followers = Array.from({ length: 4 }, () => new Follower(ana));
  crowd.push(...pagesOf("acc-bob", 23));
  const bob = new Visitor(shop.core).signIn("acc-bob");
  expect([crowd.length, statusOf(bob)]).toEqual([173, 503]);
  ana.post("/app/sign-out");
  for (let changes = 0; changes < 3; changes += 1) shop.core.change(() => undefined);
  expect(followers.map(({ counts, ends }) => [counts.length, ends])).toEqual(followers.map(() => [1, 1]));
  expect(statusOf(bob)).toBeUndefined();
  shop.core.close();
  expect(followers.filter(({ ends }) => ends !== 1)).toEqual([]);
});

it("the stream ends with a reset of the service, which ends its sessions", () => {
  shop = new Shop({ testControls: { applySeed: () => {}, advance: () => {} } });
  const ana = signedIn();
  const follower = new Follower(ana);
  expect(shop.send(undefined, "POST /_reset").status).toBe(204);
  expect([follower.ended, statusOf(ana)]).toEqual([true, 401]);
});

it("the stream reports an advance of the clock, for the times on a page, also where nothing comes due in it", () => {
  shop = new Shop({ testControls: { applySeed: () => {}, advance: (ms) => shop.time.pass(ms) } });
  const ana = signedIn();
  const follower = new Follower(ana);
  shop.ana("GET /auth");
  const [before = 0] = follower.counts;
  expect(shop.send(undefined, "POST /_clock/advance", { seconds: 60 }).status).toBe(200);
  expect(follower.counts).toEqual([before, before + 1]);
});

/** So many further people, signed in. */
function crowdOf(count: number): Visitor[] {
  const accounts = Array.from({ length: count }, (_, index) => ({
    id: `acc-${index}`,
    email: `p${index}@example.com`,
  }));
  shop.applySeed({ accounts });
  return accounts.map(({ id }) => new Visitor(shop.core).signIn(id));
}

/** So many open pages of an account, in as few sessions as may be. */
function pagesOf(account: string, count: number): Follower[] {
  let visitor = new Visitor(shop.core).signIn(account);
  return Array.from({ length: count }, (_, index) => {
    if (index > 0 && index % 4 === 0) visitor = new Visitor(shop.core).signIn(account);
    return new Follower(visitor);
  });
}

it("the stream is refused to the fifth page of a session, as browsers open six connections, and given when another is closed", () => {
  const ana = signedIn();
  const followers = Array.from({ length: 4 }, () => new Follower(ana));
  expect([statusOf(ana), statusOf(signedIn())]).toEqual([503, undefined]);
  followers[0]?.close();
  expect(new Follower(ana).counts).toHaveLength(1);
  expect(statusOf(ana)).toBe(503);
});

it("however many pages follow, an account has its share of what others have left", () => {
  const full = crowdOf(6).map((one) => {
    let count = 0;
    while (statusOf(one) === undefined) count += 1;
    return count;
  });
  expect(full).toEqual([100, 50, 25, 12, 6, 3]);
  expect(statusOf(signedIn())).toBeUndefined();
});

it("HEAD cannot ask for the stream", () => {
  const { cookie = "" } = signedIn();
  const exchange = shop.core.exchange({ method: "GET", head: true, path: "/app/changes", headers: { cookie } });
  expect(exchange).toMatchObject({ kind: "answer", reply: { status: 404 } });
});

it("over HTTP the stream is kept back by no proxy, stops with its page, and ends with the service", async () => {
  await using listening = await ListeningShop.start();
  const { host, origin } = new URL(listening.baseURL);
  const { cookie = "" } = new Visitor(listening.core, { headers: { host } }).signIn("acc-ana");
  const open = (signal?: AbortSignal) =>
    fetch(`${origin}/app/changes`, { headers: { cookie }, ...(signal && { signal }) });
  const page = new AbortController();
  const { headers, body } = await open(page.signal);
  expect(headers.get("content-type")).toBe("text/event-stream");
  expect(headers.get("x-accel-buffering")).toBe("no");
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const event = /^event: changes\ndata: \d+\n\n$/;
  expect((await reader?.read())?.value).toMatch(event);
  listening.core.change(() => undefined);
  expect((await reader?.read())?.value).toMatch(event);
  for (let others = 0; others < 3; others += 1) expect((await open()).status).toBe(200);
  expect((await open()).status).toBe(503);
  page.abort();
  await expect(reader?.read()).rejects.toThrow("aborted");
  await expect.poll(async () => (await open()).status).toBe(200);
  // Some stay open: the service does not wait for them when it ends.
});

it("a page fetched again by its script leaves what is shown once to the person", () => {
  const ana = signedIn();
  const { status } = ana.postOnly(`${computePath}/start`);
  expect(status).toBe(303);
  const refreshing = new Visitor(shop.core, { headers: { "x-console-refresh": "1" } });
  refreshing.cookie = ana.cookie;
  expect(refreshing.get(computePath).status).toBe(200);
  expect(textOf(ana.get(computePath))).toContain(`${primary} is starting.`);
  expect(textOf(ana.get(computePath))).not.toContain("is starting.");
});

it("a page with a refused form is not fetched again: to fetch it would be another page", () => {
  const ana = signedIn();
  ana.post(`${computePath}/start`);
  expect(changesOf(ana.post(`${computePath}/restart`).html)).toBeNaN();
  expect(changesOf(ana.get("/app/keys").html)).toBeNaN();
  expect(changesOf(ana.get(computePath).html)).toBeGreaterThan(0);
});

it("a page of another port or a sister domain, with which browsers send the cookie, gets no stream", () => {
  const ana = signedIn();
  const exchange = exchangeOf(ana, { "sec-fetch-site": "same-site" });
  expect(exchange).toMatchObject({ kind: "answer", reply: { status: 403 } });
  expect(exchangeOf(ana, { "sec-fetch-site": "same-origin" }).kind).toBe("stream");
});
