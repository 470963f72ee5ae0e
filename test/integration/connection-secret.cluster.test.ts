import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { conditions, said } from "./conditions/conditions.ts";
import { keySecret } from "./support/manifests.ts";
import type { Scenario } from "./support/scenario.ts";
import { goodKey, preview, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;

describe.concurrent("a connection Secret", () => {
  const database = { name: "shop-db", database: "neondb", role: "neondb_owner" };
  const read = async (shop: Scenario) => {
    const { data = {}, ...secret } = await shop.cluster.get("Secret", shop.namespace, "shop-db");
    const text = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]);
    const fields: Record<string, string> = Object.fromEntries(text);
    return { ...secret, fields };
  };

  it("holds a URI that parses and whose host is the status's, and is owned", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { connectionSecret: database });
    const { status, metadata } = await shop.ready("db");
    expect(status.binding).toEqual({ name: "shop-db" });
    const { type, fields, metadata: meta } = await read(shop);
    expect(type).toBe("servicebinding.io/postgresql");
    expect(meta.ownerReferences).toMatchObject([{ kind: "Compute", uid: metadata.uid }]);
    const uri = new URL(fields["uri"] ?? "");
    expect([uri.hostname, uri.username, uri.pathname]).toEqual([status.host, "neondb_owner", "/neondb"]);
    expect(new URL(fields["pooled-uri"] ?? "").hostname).toBe(status.poolerHost);
    expect(fields).toMatchObject({
      host: status.host,
      "pooled-host": status.poolerHost,
      port: "5432",
      "endpoint-id": status.endpointID,
      username: uri.username,
      password: uri.password,
      database: "neondb",
    });
  });

  it("takes its template's keys, labels and annotations, and gives them up again", async () => {
    const shop = await stage().scenario();
    const template = {
      data: { DATABASE_URL: "{pooled-uri}", JDBC_URL: "jdbc:postgresql://{host}:{port}/{database}?user={username}" },
      labels: { "example.com/team": "shop" },
      annotations: { "example.com/reload": "yes" },
    };
    await shop.compute("db", { connectionSecret: { ...database, template } });
    const { status } = await shop.ready("db");
    const made = await read(shop);
    expect(made.fields).toMatchObject({
      DATABASE_URL: made.fields["pooled-uri"],
      JDBC_URL: `jdbc:postgresql://${status.host}:5432/neondb?user=neondb_owner`,
    });
    expect(made.metadata).toMatchObject({ labels: template.labels, annotations: template.annotations });
    await shop.edit("db", { connectionSecret: { ...database, template: null } });
    const plain = await eventually("the Secret without its template", async () => {
      const secret = await read(shop);
      return secret.fields["DATABASE_URL"] === undefined ? secret : undefined;
    });
    expect(plain.fields).not.toHaveProperty("JDBC_URL");
    expect(plain.metadata.labels).not.toHaveProperty(["example.com/team"]);
    expect(plain.metadata.annotations).not.toHaveProperty(["example.com/reload"]);
  });

  it("a connection Secret is repaired, made again, and goes when it is no longer wanted", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { connectionSecret: database });
    const { status } = await shop.ready("db");
    await shop.cluster.modify("Secret", shop.namespace, "shop-db", (secret) => {
      secret.data = { host: Buffer.from("elsewhere").toString("base64") };
    });
    await eventually("the repair", async () => (await read(shop)).fields["host"] === status.host || undefined);
    await shop.cluster.delete("Secret", shop.namespace, "shop-db");
    await eventually("another", async () => (await read(shop)).fields["host"] === status.host || undefined);
    await shop.edit("db", { connectionSecret: undefined });
    await eventually("its end", async () =>
      (await shop.cluster.find("Secret", shop.namespace, "shop-db")) === undefined ? true : undefined,
    );
    const after = await shop.until("db", "no binding", (db) => db.status.binding === undefined);
    expect(after.status.endpointID).toBe(status.endpointID);
  });

  it("follows the host of an endpoint that was created again", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { connectionSecret: database });
    const { status } = await shop.ready("db");
    shop.console("DELETE", `${endpoints}/${status.endpointID}`);
    const after = await shop.until(
      "db",
      "another",
      (db) => db.status.state === "Active" && db.status.host !== status.host,
    );
    const followed = await eventually("the new host", async () => {
      const { fields } = await read(shop);
      return fields["host"] === after.status.host ? fields : undefined;
    });
    expect(followed["endpoint-id"]).toBe(after.status.endpointID);
  });

  it("a Secret that is not ours is never written over", async () => {
    const shop = await stage().scenario();
    const theirs = { ...keySecret("mine", "shop-db"), type: "Opaque" };
    await shop.cluster.create("Secret", shop.namespace, theirs);
    await shop.compute("db", { connectionSecret: database });
    const refused = await shop.reason("db", "Conflict");
    expect(conditions(refused)).toMatchObject({ Ready: "False", Stalled: "True" });
    expect(said(refused)).toContain('Secret "shop-db" exists and does not belong to this Compute');
    expect((await read(shop)).fields).toEqual({ "api-key": "mine" });
    await shop.cluster.delete("Secret", shop.namespace, "shop-db");
    await shop.annotate("db", "reconcileRequestedAt", "now");
    await shop.ready("db");
    expect((await read(shop)).fields["host"]).toBeDefined();
  });

  it("follows a move to another branch, whose role has another password", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { connectionSecret: database });
    await shop.ready("db");
    const before = (await read(shop)).fields;
    await shop.edit("db", { branchID: preview });
    await shop.ready("db");
    const after = await eventually("the other password", async () => {
      const { fields } = await read(shop);
      return fields["password"] === before["password"] ? undefined : fields;
    });
    expect(after["host"]).toBe(before["host"]);
    expect(new URL(after["uri"] ?? "").password).toBe(after["password"]);
  });

  it("a Secret that somebody made immutable is not changed, and the condition says what to do", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { connectionSecret: database });
    await shop.ready("db");
    await shop.cluster.modify("Secret", shop.namespace, "shop-db", (secret) => {
      Object.assign(secret, { immutable: true });
    });
    await shop.edit("db", { connectionSecret: { ...database, database: "stock" } });
    const refused = await shop.reason("db", "Rejected");
    expect(said(refused)).toMatch(
      /refused to store Secret "shop-db": .*immutable.* delete it; the operator then creates it/,
    );
    await shop.cluster.delete("Secret", shop.namespace, "shop-db");
    await shop.ready("db");
    expect((await read(shop)).fields["database"]).toBe("stock");
  });

  it("shows the key of no connection, and no event or condition does", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { connectionSecret: database });
    await shop.ready("db");
    const events = JSON.stringify(await shop.cluster.list("Event", shop.namespace));
    const everything = `${events}${JSON.stringify(shop.history("db"))}${stage().log.join("\n")}`;
    const { fields } = await read(shop);
    for (const secret of [goodKey, fields["password"] ?? ""]) expect(everything).not.toContain(secret);
  });
});
