import { expect, it } from "vitest";
import { answerWith } from "../../../src/service/http/exchange.ts";
import { Fault } from "../../../src/service/http/faults.ts";
import { keys, project, Shop } from "../support/shop.ts";

const asked = { headers: { "retry-after": "7" } };
const page = expect.stringContaining("upstream timed out");
const refused = (message: string) => JSON.stringify({ request_id: "fault", code: "", message });

/** By kind: whether the request is carried out, and the exchange; `own` is the answer of the service. */
const rows: readonly [kind: string, carriedOut: boolean, exchange: object][] = [
  ["refuse", false, { kind: "dropped" }],
  ["drop-before", false, { kind: "dropped" }],
  ["drop-after", true, { kind: "dropped" }],
  ["cut", true, { kind: "cut", reply: { status: 200 } }],
  [
    "html",
    true,
    { kind: "answer", reply: { status: 503, headers: { "content-type": "text/html; charset=utf-8" }, body: page } },
  ],
  ["delay", true, { kind: "answer", reply: { status: 200 } }],
  ["fail-operations", true, { kind: "answer", reply: { status: 200 } }],
  [
    "423",
    false,
    {
      kind: "answer",
      reply: {
        ...asked,
        status: 423,
        body: refused("project already has running conflicting operations, scheduling of new ones is prohibited"),
      },
    },
  ],
  ["429", false, { kind: "answer", reply: { ...asked, status: 429, body: refused("rate limit exceeded") } }],
  ["500", false, { kind: "answer", reply: { ...asked, status: 500, body: refused("internal error") } }],
  [
    "503",
    false,
    { kind: "answer", reply: { ...asked, status: 503, body: refused("service temporarily unavailable") } },
  ],
];

it.each(rows)("a request that the fault %s affects is carried out: %s", (kind, carriedOut, exchange) => {
  for (const [ms, delayMs] of [
    [undefined, 0],
    [250, 250],
  ]) {
    let carried = 0;
    const failed: string[] = [];
    const answer = answerWith(
      Fault.parse({ kind, ms, retryAfter: 7 }),
      () => {
        carried += 1;
        return { status: 200, headers: {}, body: '{"operations":[{"id":"op-1"},{"id":"op-2"}]}' };
      },
      (ids) => failed.push(...ids),
    );
    expect(answer).toMatchObject({ ...exchange, delayMs });
    expect([carried, failed]).toEqual([Number(carriedOut), kind === "fail-operations" ? ["op-1", "op-2"] : []]);
  }
});

it("a request that no fault affects has its own answer, at once", () => {
  const reply = { status: 201, headers: {}, body: "{}" };
  expect(
    answerWith(
      undefined,
      () => reply,
      () => {},
    ),
  ).toEqual({ kind: "answer", reply, delayMs: 0 });
});

it("operations fail too where the answer has to be waited for, and a refusal says nothing of when to ask again", async () => {
  const failed: string[] = [];
  const late = { status: 200, headers: {}, body: '{"operations":[{"id":"op-1"}]}' };
  const own = { status: 200, headers: {}, later: Promise.resolve(late) };
  const answer = answerWith(
    Fault.parse({ kind: "fail-operations" }),
    () => own,
    (ids) => failed.push(...ids),
  );
  expect(failed).toEqual([]);
  expect("reply" in answer && (await answer.reply.later)).toEqual(late);
  expect(failed).toEqual(["op-1"]);
  const busy = answerWith(
    Fault.parse({ kind: "429" }),
    () => own,
    () => {},
  );
  expect("reply" in busy && Object.keys(busy.reply.headers)).not.toContain("retry-after");
});

it("an operation that has ended before is not made to fail by an answer that lists it", () => {
  const shop = new Shop({ faults: true });
  shop.active();
  shop.core.setFaults([Fault.parse({ kind: "fail-operations" })]);
  const exchange = shop.core.exchange({
    method: "GET",
    path: `/api/v2/projects/${project}/operations`,
    headers: { authorization: `Bearer ${keys.ana}` },
  });
  expect("reply" in exchange && exchange.reply.body).toContain('"status":"finished"');
  const [operation] = shop.operations();
  expect(shop.core.context.store.operations.get(project, operation?.id ?? "")?.error).toBeUndefined();
});
