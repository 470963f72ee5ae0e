import { beforeEach, expect, it } from "vitest";
import type { ServiceReply } from "../../src/service/http/message.ts";
import { Unanswered } from "../../src/service/unanswered.ts";
import { Visitor } from "./console/visitor.ts";
import { keys, primary, project, Shop } from "./support/shop.ts";

let shop: Shop;
/** The server's words about settings, where they are there. */
let words: { refusal: string | undefined } | undefined;
let say: (refusal: string | undefined) => void;
let asked: number;
beforeEach(() => {
  shop = new Shop({ faults: true, rateLimits: { perMinute: 100, perSecondAndRoute: 3 } });
  words = undefined;
  asked = 0;
  const said = new Promise<void>((resolve) => {
    say = (refusal) => {
      words = { refusal };
      resolve();
    };
  });
  shop.core.context.backend.settingsProblem = () => {
    if (words) return words.refusal;
    asked += 1;
    throw new Unanswered(said);
  };
});

const call = {
  method: "PATCH",
  path: `/api/v2/projects/${project}/endpoints/${primary}`,
  headers: { authorization: `Bearer ${keys.ana}` },
  body: JSON.stringify({ endpoint: { settings: { pg_settings: { work_mem: "8MB" } } } }),
};
const stored = () => shop.core.context.store.endpoints.byId(primary)?.settings.pg_settings;

async function answerTo(reply: ServiceReply): Promise<[status: number, body: string]> {
  const { status, body = "" } = (await reply.later) ?? reply;
  return [status, body];
}

it("a call that needs a server's words changes nothing before they are there, and is carried out then", async () => {
  const reply = shop.core.call(call);
  expect([reply.body, stored()]).toEqual([undefined, {}]);
  say(undefined);
  expect((await answerTo(reply))[0]).toBe(200);
  expect([stored(), asked]).toEqual([{ work_mem: "8MB" }, 1]);
});

it("a call that needs a server's words is refused with them", async () => {
  const reply = shop.core.call(call);
  say("work_mem must not be so");
  expect(await answerTo(reply)).toEqual([400, expect.stringContaining("work_mem must not be so")]);
  expect(stored()).toEqual({});
});

it("a call that waited counts once against the limits of its account", async () => {
  const replies = [shop.core.call(call), shop.core.call(call), shop.core.call(call)];
  expect(shop.core.call(call).status).toBe(429);
  say(undefined);
  expect(await Promise.all(replies.map(async (reply) => (await answerTo(reply))[0]))).toEqual([200, 200, 200]);
});

it("a call whose key is revoked while it waits is refused", async () => {
  const reply = shop.core.call(call);
  const [key] = shop.core.context.store.keys.ofAccount("acc-ana");
  shop.core.change(({ store }, at) => store.keys.revoke(key?.id ?? 0, at));
  say(undefined);
  expect([(await answerTo(reply))[0], stored()]).toEqual([401, {}]);
});

it("a fault that fails the operations of a call fails those of one that waited", async () => {
  shop.active();
  shop.core.setFaults([{ method: "PATCH", route: "*", kind: "fail-operations" }]);
  const exchange = shop.core.exchange(call);
  if (exchange.kind !== "answer") throw new Error(exchange.kind);
  say(undefined);
  expect((await answerTo(exchange.reply))[0]).toBe(200);
  shop.core.setFaults([]);
  shop.finishOperations();
  expect(shop.operations().map(({ status }) => status)).toContain("failed");
});

it("a call that is never answered is carried out again 20 times and no more, and changes nothing", async () => {
  let times = 0;
  shop.core.context.backend.settingsProblem = () => {
    times += 1;
    if (times < 100) throw new Unanswered(Promise.resolve());
    return undefined;
  };
  const refused = [400, expect.stringContaining("too many different settings of Postgres")];
  expect(await answerTo(shop.core.call(call))).toEqual(refused);
  expect([times, stored()]).toEqual([21, {}]);
});

it("a call with 20 different settings waits for a server's words about each of them", async () => {
  const made = {
    ...call,
    method: "POST",
    path: `/api/v2/projects/${project}/branches`,
    body: JSON.stringify({
      endpoints: Array.from({ length: 20 }, (_, at) => ({
        type: "read_only",
        settings: { pg_settings: { work_mem: `${at + 1}MB` } },
      })),
    }),
  };
  const known = new Set<string>();
  shop.core.context.backend.settingsProblem = (_, settings) => {
    const key = JSON.stringify(settings);
    if (known.has(key)) return undefined;
    throw new Unanswered(Promise.resolve().then(() => void known.add(key)));
  };
  expect([(await answerTo(shop.core.call(made)))[0], known.size]).toEqual([201, 20]);
});

it("a form of the console waits for a server's words, and is carried out then", async () => {
  const ana = new Visitor(shop.core).signIn("acc-ana");
  ana.get(`/app/projects/${project}/branches/br-aged-salad-637688`);
  const body = new URLSearchParams({ token: ana.token, type: "read_only", size: "1" }).toString();
  const headers = {
    host: "localhost",
    cookie: ana.cookie ?? "",
    "content-type": "application/x-www-form-urlencoded",
  };
  const path = `/app/projects/${project}/branches/br-aged-salad-637688/computes`;
  const reply = shop.core.call({ method: "POST", path, body, headers, remote: "127.0.0.1" });
  const before = shop.core.context.store.endpoints.list(project).length;
  say(undefined);
  expect((await answerTo(reply))[0]).toBe(303);
  expect(shop.core.context.store.endpoints.list(project).length - before).toBe(1);
});
