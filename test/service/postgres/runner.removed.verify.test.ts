import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PostgresRig, primary, project } from "./rig.ts";

it("a project that is deleted has its server stopped, its clients sent away, and its data removed", async () => {
  await using rig = await PostgresRig.start(["--no-project-lock"]);
  const uri = await rig.uri();
  const client = await rig.client(uri);
  const ended = new Promise((resolve) => client.on("error", resolve));
  const data = join(`${rig.data}.postgres`, "branches");
  expect(readdirSync(data)).not.toEqual([]);
  expect((await rig.call("DELETE", `/projects/${project}`)).status).toBe(200);
  await ended;
  await expect(rig.client(uri)).rejects.toThrow(`there is no compute ${primary}`);
  await expect.poll(() => readdirSync(data), { timeout: 30_000 }).toEqual([]);
}, 120_000);
