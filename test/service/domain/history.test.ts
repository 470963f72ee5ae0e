import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { lsnOf, positionOf } from "../../../src/service/domain/history-point.ts";
import type { Answer } from "../support/service.ts";
import { main, preview, project, Shop, staging } from "../support/shop.ts";

const base = `/projects/${project}/branches`;
const messageOf = ({ status, body }: Answer) => [status, body["message"]];

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
  // Servers keep what each branch was, from times of its own on.
  const begun = new Map([
    [main, { since: shop.time.now() + 60_000, position: 0x200n }],
    [preview, { since: shop.time.now() + 600_000, position: 0x1_0000_0000n }],
    [staging, { since: shop.time.now(), position: 0n }],
  ]);
  const history = vi.spyOn(shop.core.context.backend, "history").mockImplementation((id) => {
    const found = begun.get(id);
    return found && { ...found, bytes: 0 };
  });
  onTestFinished(() => history.mockRestore());
  shop.time.pass(3_600_000);
});

it.each(["0/0", "0/1E19478", "1A/FFFFFFFF", "FFFFFFFF/2BCDEF"])(
  "the position %s is written as Postgres writes it",
  (lsn) => {
    expect(lsnOf(positionOf(lsn))).toBe(lsn);
  },
);

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

/** What is asked of a branch's past; each is in the history of `main`, and some not in that of `preview`. */
const points = [
  ["a time", ["timestamp", at(120_000)], at(30_000), at(660_000)],
  ["an LSN", ["lsn", "0/300"], "0/100", "1/1"],
] as const;

it.each(points)("a branch begins at %s in the history of its parent, whatever others keep", (_, point, early, late) => {
  const [kind, value] = point;
  const create = (parent_id: string, when: string) =>
    messageOf(shop.ana(`POST ${base}`, { branch: { parent_id, [`parent_${kind}`]: when } }));
  expect(create(main, value)).toEqual([201, undefined]);
  shop.finishOperations();
  expect(create(main, early)).toEqual([
    422,
    `parent_${kind} lies before the history of the branch, which begins at ${at(60_000)}`,
  ]);
  expect(create(preview, value)).toEqual([
    422,
    `parent_${kind} lies before the history of the branch, which begins at ${at(600_000)}`,
  ]);
  expect(create(preview, late)).toEqual([201, undefined]);
});

it("a point is kept in the time of the servers, where that of the service is ahead of it", () => {
  const { catalog, clock } = shop.core.context;
  const copied = vi.spyOn(catalog, "copyToNew");
  Object.assign(clock, { wallOf: (time: number) => time - 1000 });
  onTestFinished(() => void Object.assign(clock, { wallOf: undefined }));
  const branch = { parent_id: main, parent_timestamp: at(120_000) };
  expect(shop.ana(`POST ${base}`, { branch }).status).toBe(201);
  const point = { kind: "time", at: Date.parse(at(119_000)) };
  expect(copied.mock.calls[0]?.[3]).toEqual({ point, schemaOnly: false });
});

it.each(points)(
  "a branch is restored to %s in the history of its source, whatever it keeps itself",
  (_, point, early) => {
    const [kind, value] = point;
    const restore = (id: string, source_branch_id: string, when: string) =>
      messageOf(shop.ana(`POST ${base}/${id}/restore`, { source_branch_id, [`source_${kind}`]: when }));
    expect(restore(staging, preview, value)).toEqual([
      422,
      `source_${kind} lies before the history of the branch, which begins at ${at(600_000)}`,
    ]);
    expect(restore(staging, main, early)).toEqual([
      422,
      `source_${kind} lies before the history of the branch, which begins at ${at(60_000)}`,
    ]);
    // Its own history begins later.
    expect(restore(preview, main, value)).toEqual([200, undefined]);
  },
);

it("the first moment of a history, and its first position, are in it", () => {
  const create = (fields: object) => shop.ana(`POST ${base}`, { branch: fields }).status;
  expect(create({ parent_timestamp: at(60_000) })).toBe(201);
  shop.finishOperations();
  expect(create({ parent_lsn: "0/200" })).toBe(201);
  shop.finishOperations();
  expect(create({ parent_id: preview, parent_lsn: "1/0" })).toBe(201);
});
