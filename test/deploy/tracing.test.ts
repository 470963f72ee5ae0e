import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { Collector } from "../operator/tracing/collector.ts";
import { Child } from "../support/child.ts";
import { temporaryDirectory } from "../support/guardian.ts";

// What a process of the bundle loads, as V8 itself reports it.

const files = temporaryDirectory("tracing");
const bundle = join(files.path, "dist");
const kubeconfig = join(files.path, "kubeconfig");
beforeAll(() => {
  execFileSync(process.execPath, ["scripts/bundle.ts", bundle], { stdio: "pipe" });
  const server = { name: "none", cluster: { server: "https://127.0.0.1:1" } };
  const context = { name: "none", context: { cluster: "none", user: "none" } };
  const users = [{ name: "none", user: {} }];
  const config = { clusters: [server], users, contexts: [context], "current-context": "none" };
  writeFileSync(kubeconfig, JSON.stringify(config));
});
afterAll(() => files.remove());

const coverage = z.object({ result: z.array(z.object({ url: z.string() })) });

/** The files of the bundle that an operator with this environment has loaded by its end, and what it logged. */
async function loadedWith(name: string, env: NodeJS.ProcessEnv): Promise<{ loaded: string[]; log: string }> {
  const reports = join(files.path, name);
  mkdirSync(reports);
  const child = await Child.start({
    name: "compute-operator",
    command: process.execPath,
    args: [join(bundle, "compute-operator.js"), "run", "--kubeconfig", kubeconfig, "--http-port", "0"],
    env: { PATH: process.env["PATH"], NODE_V8_COVERAGE: reports, ...env },
  });
  await child.waitForLine(/Started/);
  child.signal("SIGTERM");
  expect(await child.end).toEqual({ status: 0, signal: null });
  const scripts = readdirSync(reports).flatMap(
    (file) => coverage.parse(JSON.parse(readFileSync(join(reports, file), "utf8"))).result,
  );
  const own = scripts.map(({ url }) => url).filter((url) => url.includes(bundle));
  return { loaded: [...new Set(own.map((url) => basename(url)))].toSorted(), log: child.tail(100) };
}

it.each([
  ["nothing asks for traces", {}],
  ["the variable is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
  ["OpenTelemetry is switched off", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_SDK_DISABLED: "true" }],
])("an operator loads nothing of OpenTelemetry where %s", async (name, env) => {
  expect((await loadedWith(name, env)).loaded).toEqual(["compute-operator.js"]);
});

it("an operator loads the file for tracing where a collector is named, which need not be there", async () => {
  const { loaded } = await loadedWith("on", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
  expect(loaded).toEqual(["compute-operator.js", "tracing.js"]);
});

it("the bundled file sends spans, with the flags that the image gives Node", async () => {
  await using collector = await Collector.start();
  const script = `
    const { OpenTelemetryTracer } = await import(${JSON.stringify(join(bundle, "tracing.js"))});
    const after = (ms, task) => { const timer = setTimeout(task, ms); return () => clearTimeout(timer); };
    const clock = { now: () => Date.now(), monotonic: () => performance.now(), after };
    const tracer = new OpenTelemetryTracer({ url: "${collector.endpoint}/v1/traces", clock, log: console });
    const request = { to: "service", method: "GET", route: "/auth", code: "200", seconds: 0.1 };
    await tracer.reconcile({ kind: "connection", uid: "u", waitedMs: 0 }, async () => {
      tracer.requested(request);
      return "ok";
    });
    await tracer.close();`;
  const flags = ["--disallow-code-generation-from-strings", "--input-type=module"];
  const child = await Child.start({ name: "tracing", command: process.execPath, args: [...flags, "-e", script] });
  expect(await child.end).toEqual({ status: 0, signal: null });
  expect(collector.requests.map(({ path }) => path)).toEqual(["/v1/traces"]);
  expect(collector.spans.map(({ name }) => name).toSorted()).toEqual([
    "GET /auth",
    "reconcile connection",
    "wait in queue",
  ]);
});

it("an operator that cannot use the collector's address says so and runs without traces", async () => {
  const { loaded, log } = await loadedWith("grpc", { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" });
  expect(loaded).toEqual(["compute-operator.js"]);
  expect(log).toContain("OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL");
});
