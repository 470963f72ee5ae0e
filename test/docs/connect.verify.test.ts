import { mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { asRoot } from "../service/postgres/rig.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { ServiceProcess } from "../support/processes.ts";
import { commandsFor } from "./commands.ts";
import { Shell } from "./shell.ts";

// What docs/connect.md types where there is no cluster, with real Postgres behind the service.

const directory = temporaryDirectory("connect");
let service: ServiceProcess;
let shell: Shell;

beforeAll(async () => {
  const seed = readFileSync("deploy/samples/service-seed.yaml", "utf8");
  service = await ServiceProcess.start({ seed, args: ["--postgres", "--postgres-port", "0", ...asRoot] });
  const clone = join(directory.path, "clone");
  mkdirSync(clone);
  symlinkSync(join(process.cwd(), "deploy"), join(clone, "deploy"));
  shell = new Shell({}, { BASE_URL: service.baseURL, COMPUTE_OPERATOR_API_KEY: "org-key" }, clone);
});

afterAll(async () => {
  shell?.[Symbol.dispose]();
  await service?.[Symbol.asyncDispose]();
  directory.remove();
});

it("the lines that docs/connect.md types without a cluster lead from a manifest to a session of the role", async () => {
  const [apply = "", ...lines] = commandsFor("test/docs/connect.verify.test.ts").map(({ text }) => text);
  expect(apply).toContain("--connection-file connections.json");
  const applied = await shell.type(apply);
  expect(applied).toMatchObject({ status: 0, output: expect.stringContaining("Written to connections.json") });
  const file = join(directory.path, "clone", "connections.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { password } = JSON.parse(readFileSync(file, "utf8"))["shop/pr"];
  expect(applied.output).not.toContain(password);
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    const { status, output } = await shell.type(line);
    expect({ line, status, output }).toEqual({ line, status: 0, output: expect.stringContaining("neondb_owner") });
  }
});
