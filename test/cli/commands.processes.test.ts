import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main, project } from "../service/support/shop.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { ServiceProcess, startCommand } from "../support/processes.ts";
import { compute, connection, documents, baseURL as placeholder } from "./texts.ts";

const seed = `accounts: [{id: acc-ana, email: ana@example.com, plan: scale, apiKeys: [{name: laptop, key: org-key}]}]
projects:
  - {id: ${project}, owner: acc-ana, branches: [{id: ${main}, name: main, default: true}, {id: br-preview-1, name: preview}]}
`;

let service: ServiceProcess;
let directory: ReturnType<typeof temporaryDirectory>;
beforeAll(async () => {
  service = await ServiceProcess.start({ seed, timeScale: 50 });
  directory = temporaryDirectory("commands");
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  directory.remove();
});

/** Runs a command as a process: its exit status and all its lines. */
async function run(...args: readonly string[]): Promise<{ status: number | null; text: string }> {
  // The machine may have a kubeconfig, whose cluster plan would compare with.
  const env = { ...process.env, HOME: directory.path, KUBECONFIG: "", COMPUTE_OPERATOR_API_KEY: "org-key" };
  const child = await startCommand(args[0] ?? "", args, env);
  const { status } = await child.end;
  return { status, text: child.lines.join("\n") };
}

test("plan, apply and export do together, as processes of their own over HTTP, what they say", {
  timeout: 300_000,
}, async () => {
  const file = join(directory.path, "shop.yaml");
  const connected = connection.replace(placeholder, service.baseURL);
  writeFileSync(file, documents(connected, compute("shop-preview", "computeUnits: {min: 1, max: 1}")));
  expect(await run("plan", "-f", file)).toMatchObject({
    status: 2,
    text: expect.stringContaining("Plan: 1 to create."),
  });
  expect(await run("apply", "-f", file)).toMatchObject({ status: 1, text: expect.stringContaining("pass --yes") });
  const applied = await run("apply", "-f", file, "--yes");
  expect(applied).toMatchObject({ status: 0, text: expect.stringContaining("Applied: 1 as declared.") });
  expect(await run("plan", "-f", file)).toMatchObject({
    status: 0,
    text: expect.stringContaining("Plan: 1 unchanged."),
  });
  const exported = await run("export", "--project", project, "--base-url", service.baseURL);
  expect(exported.status).toBe(0);
  const whole = join(directory.path, "whole.yaml");
  writeFileSync(whole, exported.text);
  const again = await run("plan", "-f", whole, "--base-url", service.baseURL);
  expect(again).toMatchObject({ status: 0, text: expect.stringContaining("Plan: 2 unchanged.") });
  expect(await run("plan", "-f", whole, "--base-url", "http://127.0.0.1:1/api/v2")).toMatchObject({
    status: 1,
    text: expect.stringContaining("ECONNREFUSED"),
  });
});
