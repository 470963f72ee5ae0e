import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

const job = z.object({
  needs: z.string().optional(),
  uses: z.string().optional(),
  "timeout-minutes": z.number().optional(),
  steps: z.array(z.object({ uses: z.string().optional(), run: z.string().optional() })).optional(),
});
const workflow = z.object({ on: z.record(z.string(), z.unknown()), jobs: z.record(z.string(), job) });

const files = globSync(".github/workflows/*.yaml").toSorted();
const read = (file: string) => workflow.parse(parse(readFileSync(file, "utf8")));

describe("the workflows of a contributor", () => {
  test.each(files)("%s pins every action by its commit, with the version beside it", (file) => {
    const used = [...readFileSync(file, "utf8").matchAll(/uses: (\S+)(.*)$/gm)].filter(
      ([, name]) => !name?.startsWith("./"),
    );
    const loose = used.filter(([, name = "", rest = ""]) => !/@[0-9a-f]{40}$/.test(name) || !/^ # v\d/.test(rest));
    expect(loose.map(([line]) => line)).toEqual([]);
  });

  test("a pull request runs .ci/run", () => {
    const { on, jobs } = read(".github/workflows/ci.yaml");
    expect(Object.keys(on)).toEqual(expect.arrayContaining(["pull_request", "workflow_call"]));
    const runs = Object.values(jobs).flatMap(({ steps = [] }) => steps.map(({ run = "" }) => run));
    expect(runs.filter((run) => run.endsWith("bash .ci/run"))).toHaveLength(1);
  });

  test("a release publishes nothing before .ci/run has passed", () => {
    const { jobs } = read(".github/workflows/release.yaml");
    expect(jobs["ci"]?.uses).toBe("./.github/workflows/ci.yaml");
    const others = Object.entries(jobs).filter(([name]) => name !== "ci");
    expect(others.filter(([, { needs }]) => needs !== "ci")).toEqual([]);
  });
});

test("an update of dependencies comes in groups, for each kind that the repository has", () => {
  const updates = z
    .object({
      updates: z.array(z.object({ "package-ecosystem": z.string(), groups: z.record(z.string(), z.unknown()) })),
    })
    .parse(parse(readFileSync(".github/dependabot.yml", "utf8"))).updates;
  expect(updates.map((each) => each["package-ecosystem"])).toEqual(["npm", "github-actions", "docker", "gomod"]);
});

test("an editor, a shell and a container get the Node that package.json asks for", () => {
  const { engines }: { engines: { node: string } } = JSON.parse(readFileSync("package.json", "utf8"));
  const major = /\d+/.exec(engines.node)?.[0] ?? "";
  expect(readFileSync(".nvmrc", "utf8").trim()).toBe(major);
  expect(readFileSync(".devcontainer/Dockerfile", "utf8")).toContain(`FROM node:${major}-`);
});
