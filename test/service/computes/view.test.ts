import { expect, it } from "vitest";
import { preview, primary, project, Shop } from "../support/shop.ts";

const path = `/projects/${project}/endpoints/${primary}`;

it("a compute has the service's own domain in both its hosts, where the service has one, else the vendor's", () => {
  const hosts = (shop: Shop) => {
    const { host, proxy_host } = shop.get(primary);
    return [host, proxy_host];
  };
  expect(hosts(new Shop({ domain: "db.example.com" }))).toEqual([`${primary}.db.example.com`, "db.example.com"]);
  expect(hosts(new Shop())).toEqual([`${primary}.us-east-2.aws.neon.tech`, "us-east-2.aws.neon.tech"]);
});

it("a compute shows that it was made in the console, as the public service does, and nothing of it by the letter", () => {
  expect(new Shop().ana(`GET ${path}`).body["endpoint"]).toMatchObject({ creation_source: "console" });
  const strict = new Shop({ strictSpec: true }).list()[0];
  expect(strict?.id).toBe(primary);
  for (const unspecified of ["creation_source", "started_at", "suspend_timeout_seconds"]) {
    expect(strict).not.toHaveProperty(unspecified);
  }
});

const wanted = { branch_id: preview, type: "read_write" };

it("an operation shows how long it took once it has ended", () => {
  const shop = new Shop();
  const [operation] = shop.create(wanted).operations;
  const begun = shop.time.now();
  const due = shop.core.nextDue() ?? 0;
  expect(operation).toMatchObject({ status: "running", failures_count: 0, total_duration_ms: 0 });
  expect(shop.finishOperations().operations()).toEqual([
    { ...operation, status: "finished", updated_at: new Date(due).toISOString(), total_duration_ms: due - begun },
  ]);
});

it.each([
  ["a month after it began, as after a long rest of the service", 30 * 86_400_000, 2 ** 31 - 1],
  ["before it began, as where the clock was set back", -60_000, 0],
])("an operation that ends %s shows a duration that the public API has", (_, after, shown) => {
  const shop = new Shop();
  const [operation] = shop.create(wanted).operations;
  shop.core.change(({ store }, at) => {
    for (const { seq } of store.operations.page(project, { beforeSeq: undefined, limit: 1 }))
      store.operations.setStatus(seq, "finished", at + after, undefined);
  });
  const found = shop.operations().find(({ id }) => id === operation?.id);
  expect(found).toMatchObject({ status: "finished", total_duration_ms: shown });
});

it("an operation that is to fail shows why once it has failed, and not before", () => {
  const shop = new Shop();
  const id = shop.create(wanted).operations[0]?.id ?? "";
  const shown = () => shop.operations().find((one) => one.id === id);
  shop.core.change(({ store }) => store.operations.forceFailure(id, "no room"));
  expect(shown()).not.toHaveProperty("error");
  shop.finishOperations();
  expect(shown()).toMatchObject({ status: "failed", error: "no room" });
});

it("an operation that has ended well is made to fail no more", () => {
  const shop = new Shop();
  const id = shop.create(wanted).operations[0]?.id ?? "";
  const { operations } = shop.core.context.store;
  shop.finishOperations().core.settle();
  shop.core.change(() => operations.forceFailure(id, "too late"));
  expect(operations.get(project, id)).toMatchObject({ status: "finished", error: undefined });
});

it("an operation shows no duration by the letter of the specification", () => {
  const shop = new Shop({ strictSpec: true });
  const { endpoint, operations } = shop.create(wanted);
  const now = new Date(shop.time.now()).toISOString();
  expect(operations).toEqual([
    {
      id: expect.any(String),
      project_id: project,
      branch_id: preview,
      endpoint_id: endpoint.id,
      action: "start_compute",
      status: "running",
      failures_count: 0,
      created_at: now,
      updated_at: now,
    },
  ]);
});

it("a compute shows when it was started, suspended and last active, each as it was", () => {
  const shop = new Shop();
  const { started_at } = shop.active();
  expect(shop.connect(primary, 60).status).toBe(200);
  shop.time.pass(60_000);
  const { last_active, ...active } = shop.get(primary);
  expect([active.started_at, "suspended_at" in active]).toEqual([started_at, false]);
  expect(Date.parse(last_active ?? "") - Date.parse(started_at ?? "")).toBeGreaterThan(60_000);
  shop.time.pass(10_000);
  shop.write(`POST ${path}/suspend`);
  const asked = shop.time.now();
  shop.finishOperations();
  const idle = shop.get(primary);
  expect([idle.started_at, idle.last_active]).toEqual([started_at, last_active]);
  expect(Date.parse(idle.suspended_at ?? "")).toBeGreaterThan(asked);
});
