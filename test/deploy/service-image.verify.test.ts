import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { z } from "zod";
import { lastRows, nodePostgres } from "../service/postgres/node-postgres.ts";
import type { Child } from "../support/child.ts";
import { commandLines } from "../support/process-list.ts";
import { ServiceImage, serviceUid } from "./service-image.ts";

let image: ServiceImage;
let service: Child;
let api: string;
beforeAll(async () => {
  image = await ServiceImage.build();
  writeFileSync(
    join(image.data, "seed.yaml"),
    stringify({
      accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale", apiKeys: [{ name: "x", key: "ana-key" }] }],
      projects: [{ id: "shop", owner: "acc-ana", pgVersion: 15, endpoints: [] }],
    }),
  );
  service = await image.start(["--port=0", "--postgres-port=0", "--seed=/data/seed.yaml", "--no-rate-limits"]);
  api = (await service.waitForLine(/^Listening on (\S+)$/, 120_000))[1] ?? "";
});
afterAll(async () => {
  await service?.stop(30_000);
  image?.[Symbol.dispose]();
});

async function call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const headers = { authorization: "Bearer ana-key" };
  const answer = await fetch(`${api}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return z.record(z.string(), z.unknown()).parse(await answer.json());
}

/** Makes a branch with a compute; answers what its clients connect with. */
async function branchAt(branch: object): Promise<string> {
  const made = await call("POST", "/projects/shop/branches", { branch, endpoints: [{ type: "read_write" }] });
  const [{ connection_uri } = { connection_uri: "" }] = z
    .array(z.looseObject({ connection_uri: z.string() }))
    .parse(made["connection_uris"] ?? [], { error: () => JSON.stringify(made) });
  return connection_uri;
}

async function query(uri: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const { Client } = nodePostgres();
  const client = new Client({ connectionString: uri });
  await client.connect();
  return lastRows(client, statements);
}

describe("the service's image", () => {
  let uri: string;
  let then: string;

  it("the service's image has no shell, and runs as a user with a number", () => {
    for (const shell of ["/bin/sh", "/usr/bin/sh", "/bin/bash", "/usr/bin/env"]) {
      expect(existsSync(join(image.data, "..", shell))).toBe(false);
    }
    expect(statSync(join(image.data, "state.db")).uid).toBe(serviceUid);
  });

  it("serves computes from the template that was made with it, with a password of its own", async () => {
    uri = await branchAt({ name: "one" });
    const rows = await query(uri, "CREATE TABLE item AS SELECT 42 AS n", "SELECT n, version() FROM item");
    expect(rows).toMatchObject([{ n: 42, version: expect.stringContaining("PostgreSQL 15.") }]);
  });

  it("serves pooled hosts by its PgBouncer", async () => {
    expect(await query(uri.replace(/(endpoint%3D[\w-]+)/, "$1-pooler"), "SELECT n FROM item")).toEqual([{ n: 42 }]);
    expect(commandLines().some((line) => line.startsWith("/usr/sbin/pgbouncer /data/state.db.postgres"))).toBe(true);
  });

  it("copies branches, and recovers one to a time", async () => {
    then = new Date().toISOString();
    await query(uri, "INSERT INTO item VALUES (43)");
    const { branches } = await call("GET", "/projects/shop/branches?search=one");
    const [{ id } = { id: "" }] = z.array(z.looseObject({ id: z.string() })).parse(branches);
    const count = async (branch: object) => {
      for (;;) {
        const { operations } = await call("GET", "/projects/shop/operations?limit=20");
        if (!JSON.stringify(operations).includes('"running"')) break;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return (await query(await branchAt(branch), "SELECT count(*)::int AS n FROM item"))[0]?.["n"];
    };
    expect(await count({ parent_id: id })).toBe(2);
    expect(await count({ parent_id: id, parent_timestamp: then })).toBe(1);
  });

  it("leaves no server when it is killed", async () => {
    const servers = () => commandLines().filter((line) => line.includes(" -D /data/state.db.postgres"));
    expect(servers().length).toBeGreaterThan(0);
    await service.kill();
    await expect.poll(servers, { timeout: 30_000 }).toEqual([]);
  });
});

it("the service's image is what Compose builds, and its command is the image's with flags of its own", () => {
  const compose = readFileSync("deploy/service/compose.yaml", "utf8");
  expect(compose).toContain("target: service");
  const command = /^CMD (\["service".*\])$/m.exec(readFileSync("Dockerfile", "utf8"))?.[1] ?? "";
  for (const flag of z.array(z.string()).parse(JSON.parse(command))) expect(compose).toContain(`- ${flag}\n`);
});
