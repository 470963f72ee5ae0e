import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { parseSeed } from "../../src/service/seed/file.ts";
import { applySeed } from "../../src/service/seed/seed.ts";
import { Running } from "../service/support/running.ts";
import { TestService } from "../service/support/service.ts";

const folder = join(import.meta.dirname, "..", "..", "deploy", "service");

it("the deployed seed can be planted, with a key that works", () => {
  const service = new TestService();
  const seed = parseSeed(readFileSync(join(folder, "seed.yaml"), "utf8"), "seed.yaml");
  service.core.change((context, at) => applySeed(context, seed, at));
  expect(service.send("ana-key", "GET /projects/shiny-wind-028834").status).toBe(200);
});

it.each([
  ["compose.yaml", () => composed()],
  ["kubernetes.yaml", () => inKubernetes()],
])("the command of %s is one that the service takes", async (_file, words) => {
  const [command, ...flags] = words();
  expect(command).toBe("service");
  // With Postgres it runs in test/deploy/service-image.verify.test.ts.
  const here = flags
    .filter((flag) => !/^--(port|postgres|data)/.test(flag))
    .map((flag) =>
      flag.replace(/=\/(seed\/)?seed.yaml/, `=${join(folder, "seed.yaml")}`).replace("0.0.0.0", "127.0.0.1"),
    );
  const running = new Running("--port", "0", ...here);
  expect((await fetch((await running.listening()).replace("/api/v2", "/healthz"))).status).toBe(200);
  expect(await running.stop()).toBe(0);
});

it("the service is not the first process of its container, which takes in what a killed server leaves", () => {
  expect(parse(readFileSync(join(folder, "compose.yaml"), "utf8"))).toHaveProperty("services.service.init", true);
  const [deployment] = parseAllDocuments(readFileSync(join(folder, "kubernetes.yaml"), "utf8"))
    .map((document) => document.toJS())
    .filter(({ kind }) => kind === "Deployment");
  expect(deployment).toHaveProperty("spec.template.spec.shareProcessNamespace", true);
});

it("the service of kubernetes.yaml is in the namespace and under the name that it advertises", () => {
  const [namespace, service] = parseAllDocuments(readFileSync(join(folder, "kubernetes.yaml"), "utf8")).map(
    (document) => Named.parse(document.toJS()).metadata.name,
  );
  expect(inKubernetes()).toContain(`--postgres-advertise=${service}.${namespace}:5432`);
  expect(readFileSync(join(folder, "kustomization.yaml"), "utf8")).toContain(`\nnamespace: ${namespace}\n`);
});

it("the sample for testcontainers has a command that begins as the image's", () => {
  const sample = readFileSync(join(folder, "testcontainers.mjs"), "utf8");
  const dockerfile = readFileSync(join(folder, "..", "..", "Dockerfile"), "utf8");
  const words = z.array(z.string()).parse(JSON.parse(/^CMD (\["service".*\])$/m.exec(dockerfile)?.[1] ?? ""));
  for (const word of words.filter((one) => !one.startsWith("--data="))) expect(sample).toContain(`"${word}"`);
  expect(sample).toContain('withTarget("service")');
  execFileSync(process.execPath, ["--check", join(folder, "testcontainers.mjs")]);
});

const Named = z.looseObject({ metadata: z.looseObject({ name: z.string() }) });

function composed(): string[] {
  const { services } = z
    .object({ services: z.object({ service: z.looseObject({ command: z.array(z.string()) }) }) })
    .parse(parse(readFileSync(join(folder, "compose.yaml"), "utf8")));
  return services.service.command;
}

function inKubernetes(): string[] {
  const Container = z.looseObject({ args: z.array(z.string()) });
  const Deployment = z.object({
    kind: z.literal("Deployment"),
    spec: z.looseObject({ template: z.looseObject({ spec: z.looseObject({ containers: z.array(Container) }) }) }),
  });
  for (const document of parseAllDocuments(readFileSync(join(folder, "kubernetes.yaml"), "utf8"))) {
    const { data } = Deployment.safeParse(document.toJS());
    if (data !== undefined) return data.spec.template.spec.containers[0]?.args ?? [];
  }
  throw new Error("kubernetes.yaml has no Deployment");
}
