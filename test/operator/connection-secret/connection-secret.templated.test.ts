import { describe, expect, test } from "vitest";
import { compute, endpoint } from "../../support/builders.ts";
import { json } from "../../support/scripted-service.ts";
import { bound, host, self, setUp, withDatabase } from "./keeping.ts";

describe("a connection Secret with a template", () => {
  const withTemplate = (template: object) =>
    compute({
      namespace: "default",
      spec: { connectionSecret: { ...withDatabase.connectionSecret, template } },
    });
  const template = {
    data: { DATABASE_URL: "{uri}", SHARD: "eu" },
    labels: { team: "shop" },
    annotations: { "example.com/reload": "yes" },
  };

  test("a templated Secret has its keys, labels and annotations besides the operator's", async () => {
    const { keep, read, stored, writes } = setUp();
    await keep(self);
    const plain = read();
    expect(await keep(withTemplate(template))).toEqual(bound);
    expect(read()).toEqual({ ...plain, DATABASE_URL: plain?.["uri"], SHARD: "eu" });
    expect(stored()[0]?.metadata).toMatchObject({
      labels: { team: "shop", "app.kubernetes.io/managed-by": "compute-operator" },
      annotations: { "example.com/reload": "yes" },
    });
    expect(await keep(withTemplate(template))).toEqual(bound);
    expect(writes()).toEqual(["POST", "PATCH"]);
  });

  test("a templated Secret is made with them", async () => {
    const { keep, read, stored } = setUp();
    await keep(withTemplate(template));
    expect(read()).toMatchObject({ DATABASE_URL: expect.stringContaining("p%40ss"), SHARD: "eu" });
    expect(stored()[0]?.metadata).toMatchObject({ labels: template.labels, annotations: template.annotations });
  });

  test("a templated Secret is not made where its template comes to more than a Secret holds", async () => {
    const { keep, service, stored } = setUp();
    service.script = () => json(200, { uri: `postgresql://app:x@${host}/shop?${"%".repeat(16_000)}` });
    const data = Object.fromEntries(["A", "B", "C"].map((key) => [key, `x://${"{uri}".repeat(200)}`]));
    expect(await keep(withTemplate({ data }))).toEqual({
      kind: "failed",
      reason: "Rejected",
      message: expect.stringMatching(
        /template\.data comes to more than a Secret holds, 1 MiB, .* Use fewer placeholders\.$/,
      ),
    });
    expect(stored()).toEqual([]);
  });

  test("loses what its template no longer has, and keeps the labels of others", async () => {
    const { keep, read, stored, change } = setUp();
    await keep(withTemplate(template));
    change([{ op: "add", path: "/metadata/labels/theirs", value: "x" }]);
    expect(await keep(withTemplate({ data: { SHARD: "us" } }))).toEqual(bound);
    expect(read()).toMatchObject({ SHARD: "us" });
    expect(read()).not.toHaveProperty("DATABASE_URL");
    const { labels = {}, annotations = {} } = stored()[0]?.metadata ?? {};
    expect([labels["team"], labels["theirs"], annotations["example.com/reload"]]).toEqual([undefined, "x", undefined]);
    expect(await keep(self)).toEqual(bound);
    expect(read()).not.toHaveProperty("SHARD");
  });

  test.each([
    ["label", [{ op: "replace", path: "/metadata/labels/team", value: "other" }]],
    ["annotation", [{ op: "remove", path: "/metadata/annotations/example.com~1reload" }]],
    ["key", [{ op: "remove", path: "/data/SHARD" }]],
  ])("gets its %s back", async (_, ops) => {
    const { keep, stored, change } = setUp();
    await keep(withTemplate(template));
    const before = stored()[0];
    change(ops);
    expect(await keep(withTemplate(template))).toMatchObject({ ...bound, event: { reason: "SecretUpdated" } });
    const { metadata, data } = stored()[0] ?? {};
    expect([metadata?.labels, metadata?.annotations, data]).toEqual([
      before?.metadata.labels,
      before?.metadata.annotations,
      before?.data,
    ]);
  });

  test("follows a new password in every key", async () => {
    const { keep, read, service } = setUp();
    const requested = { ...withTemplate(template) };
    await keep(requested);
    service.script = () => json(200, { uri: "postgresql://app:new@ep-one.aws.example.com/shop" });
    await keep(requested, endpoint({ host, branch_id: "br-preview" }));
    expect(read()?.["DATABASE_URL"]).toBe("postgresql://app:new@ep-one.aws.example.com/shop");
  });

  test("a templated Secret is not written where the service shows no value for a placeholder", async () => {
    const { keep, stored } = setUp();
    const other = endpoint({ host: "db.example.com" });
    expect(await keep(withTemplate({ data: { HOST: "{pooled-host}" } }), other)).toEqual({
      kind: "failed",
      reason: "Rejected",
      message:
        'The service shows no value for {pooled-host}, which key "HOST" of spec.connectionSecret.template.data has. Remove it from the template.',
    });
    expect(stored()).toEqual([]);
  });
});
