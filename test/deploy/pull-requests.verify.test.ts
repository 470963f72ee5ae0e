import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { Shell, type Typed } from "../docs/shell.ts";
import { asRoot } from "../service/postgres/rig.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { ServiceProcess } from "../support/processes.ts";

// The samples for pipelines without a cluster, step by step in the shell that runs them, on real Postgres. The programs
// of GitHub and GitLab are others here. What a pipeline installs is never typed: this machine has it, and keeps it.

const samples = "deploy/samples/pull-requests";
const key = "org-key";
let service: ServiceProcess;

beforeAll(async () => {
  const seed = readFileSync("deploy/samples/service-seed.yaml", "utf8");
  service = await ServiceProcess.start({ seed, args: ["--postgres", "--postgres-port", "0", ...asRoot] });
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** A line that installs something on the machine that it runs on. */
const installs = (line: string) => /^\s*(apt-get|npm)\b/.test(line);

/** The lines of a script that may be typed here. Throws where an installation hides in another line. */
function typable(script: string): string {
  const kept = script.split("\n").filter((line) => !installs(line));
  const hidden = kept.filter((line) => /\b(apt-get|apt|sudo|npm install)\b/.test(line));
  if (hidden.length > 0) throw new Error(`not typed on this machine: ${hidden.join("; ")}`);
  return kept.join("\n");
}

/** The clone of a pipeline, with the templates where the sample wants them. */
class Clone implements Disposable {
  readonly #directory = temporaryDirectory("pipeline");
  readonly path = join(this.#directory.path, "clone");
  readonly temp = join(this.#directory.path, "temp");

  constructor() {
    mkdirSync(this.temp, { recursive: true });
    cpSync(join(samples, "templates"), join(this.path, "previews"), { recursive: true });
  }

  write(file: string, text: string): void {
    mkdirSync(join(this.path, file, ".."), { recursive: true });
    writeFileSync(join(this.path, file), text);
  }

  /** A program in place of another one. */
  program(name: string, script: string): string {
    const path = join(this.temp, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return path;
  }

  [Symbol.dispose](): void {
    this.#directory.remove();
  }
}

const Branches = z.object({ branches: z.array(z.object({ name: z.string() })) });
const Uri = z.object({ uri: z.string() });

async function asked<T>(path: string, answer: z.ZodType<T>): Promise<T> {
  return answer.parse(await service.call("GET", `/projects/shiny-wind-028834/${path}`, undefined, key));
}

const branches = async () => (await asked("branches", Branches)).branches.map(({ name }) => name).toSorted();

/** Runs a statement on the project's default branch. */
async function onMain(sql: string): Promise<string> {
  const { uri } = await asked("connection_uri?database_name=neondb&role_name=neondb_owner", Uri);
  using shell = new Shell({}, {});
  const { status, output } = await shell.type(`psql '${uri}' -X -qAt -c "${sql}"`);
  expect({ status, output }).toMatchObject({ status: 0 });
  return output;
}

const createOrders = "CREATE TABLE IF NOT EXISTS orders (id int PRIMARY KEY);";
const addNote =
  "ALTER TABLE orders ADD COLUMN IF NOT EXISTS note text; INSERT INTO orders VALUES (1) ON CONFLICT DO NOTHING;";

beforeEach(async () => {
  await onMain("DROP TABLE IF EXISTS kept, orders; CREATE TABLE kept AS SELECT 1 AS here");
});

const Job = z.object({
  env: z.record(z.string(), z.string()),
  steps: z.array(
    z.object({
      name: z.string().optional(),
      if: z.string().optional(),
      uses: z.string().optional(),
      run: z.string().optional(),
    }),
  ),
});
const Workflow = z.object({ jobs: z.object({ databases: Job }) });

/** GitHub Actions as far as the workflow uses it: the steps of one run, each with a shell of its own. */
class GitHub implements Disposable {
  readonly clone = new Clone();
  readonly #gh: string;

  constructor() {
    const { temp } = this.clone;
    const comment = `cp "$5" '${temp}/comment'`;
    this.#gh = this.clone.program(
      "gh",
      `case "$1" in\npr) case "$2" in list) cat '${temp}/open' ;; comment) ${comment} ;; esac ;;\nesac`,
    );
  }

  get comment(): string {
    return readFileSync(join(this.clone.temp, "comment"), "utf8");
  }

  /** Runs the steps for an event of pull request 7, while those of `open` are open. */
  async event(action: string, open: readonly number[]): Promise<(Typed & { name: string })[]> {
    const { temp, path } = this.clone;
    writeFileSync(join(temp, "open"), open.map((number) => `${number}\n`).join(""));
    rmSync(join(temp, "previews"), { recursive: true, force: true });
    const { env: named, steps } = Workflow.parse(parse(readFileSync(join(samples, "workflow.yaml"), "utf8"))).jobs
      .databases;
    const given: Readonly<Record<string, string>> = {
      "secrets.COMPUTE_OPERATOR_API_KEY": key,
      "github.token": "token",
      "github.event.number": "7",
    };
    const filled = Object.entries(named).map(([name, value]) => {
      const expression = /^\$\{\{ (.*) \}\}$/.exec(value)?.[1];
      if (expression !== undefined && given[expression] === undefined) throw new Error(`no value for ${expression}`);
      return [name, expression === undefined ? value : given[expression]];
    });
    const env = { ...Object.fromEntries(filled), BASE_URL: service.baseURL, GITHUB_ACTIONS: "true", RUNNER_TEMP: temp };
    using shell = new Shell({ gh: this.#gh }, env, path);
    const done: (Typed & { name: string })[] = [];
    for (const { name = "", if: condition, run } of steps) {
      if (run === undefined || !holds(condition, action)) continue;
      writeFileSync(join(temp, "step"), typable(run));
      const typed = await shell.type(`bash -e '${temp}/step'`);
      done.push({ name, ...typed });
      if (typed.status !== 0) break;
    }
    return done;
  }

  [Symbol.dispose](): void {
    this.clone[Symbol.dispose]();
  }
}

/** The conditions that the workflow has. */
function holds(condition: string | undefined, action: string): boolean {
  if (condition === undefined) return true;
  const [, operator, value] = /^github\.event\.action (==|!=) '(\w+)'$/.exec(condition) ?? [];
  if (operator === undefined) throw new Error(`the condition ${condition} is not known here`);
  return (action === value) === (operator === "==");
}

describe("the workflow of GitHub Actions", () => {
  it("goes from an open pull request to a migrated branch and a comment, and deletes the branch with the pull request", async () => {
    using github = new GitHub();
    github.clone.write("pull-request/migrations/1.sql", createOrders);
    const opened = await github.event("opened", [7]);
    expect(opened.map(({ name, status }) => `${name} ${status}`)).toEqual([
      "Install 0",
      "Render 0",
      "Plan 0",
      "Show the plan 0",
      "Result 0",
      "Apply 0",
      "Migrate 0",
      "Show the result 0",
    ]);
    expect(await branches()).toEqual(["main", "preview", "preview/pr-7"]);
    expect(github.comment).toContain("| Branch `previews/pr-7` | create |");
    expect(github.comment).toContain("### Database `preview/pr-7` is migrated\n```\nkept\norders\n```\n");
    // The second push: the branch stays, and what it holds.
    github.clone.write("pull-request/migrations/2.sql", addNote);
    const pushed = await github.event("synchronize", [7]);
    expect(pushed.at(-1)).toMatchObject({ name: "Show the result", status: 0 });
    expect(github.comment).toContain("unchanged");
    expect(await onMain("SELECT to_regclass('orders') IS NULL")).toBe("t\n");
    const closed = await github.event("closed", []);
    expect(closed.map(({ name, status }) => `${name} ${status}`).slice(5)).toEqual([
      "Apply 0",
      "After the end 0",
      "Show the result 0",
    ]);
    expect(github.comment).toContain("### Database `preview/pr-7` is deleted");
    expect(await branches()).toEqual(["main", "preview"]);
  });

  it("prints no password that is not masked first, and none at all into the comment", async () => {
    using github = new GitHub();
    github.clone.write("pull-request/migrations/1.sql", createOrders);
    const steps = await github.event("opened", [7]);
    const migrate = steps.find(({ name }) => name === "Migrate")?.output ?? "";
    const [, password = ""] = /^::add-mask::(\S+)$/m.exec(migrate) ?? [];
    expect(password.length).toBeGreaterThan(8);
    const shown = steps.flatMap(({ output }) => output.split("\n").filter((line) => !line.startsWith("::add-mask::")));
    expect(shown.filter((line) => line.includes(password))).toEqual([]);
    expect(github.comment).not.toContain(password);
    await github.event("closed", []);
  });

  it("a migration that fails ends the run with its error, and no comment says that it is migrated", async () => {
    using github = new GitHub();
    github.clone.write("pull-request/migrations/1.sql", "CREATE TABLE half (id int); SELECT nothing FROM nowhere;");
    const steps = await github.event("opened", [7]);
    expect(steps.at(-1)).toMatchObject({ name: "Migrate", output: expect.stringContaining("nowhere") });
    expect(steps.at(-1)?.status).not.toBe(0);
    expect(github.comment).not.toContain("is migrated");
    await github.event("closed", []);
  });
});

const Script = z.object({ script: z.array(z.string()) });
const Pipeline = z.object({
  variables: z.record(z.string(), z.string()),
  ".preview": z.object({ variables: z.record(z.string(), z.string()), before_script: z.array(z.string()) }),
  preview: Script,
  "stop-preview": Script,
});

/** A job of GitLab CI: all its lines in one shell, which ends with the first that fails. */
async function job(name: "preview" | "stop-preview", clone: Clone): Promise<Typed> {
  const pipeline = Pipeline.parse(parse(readFileSync(join(samples, "gitlab-ci.yml"), "utf8")));
  const common = pipeline[".preview"];
  const predefined: Readonly<Record<string, string>> = {
    CI_API_V4_URL: "https://gitlab.example.com/api/v4",
    CI_PROJECT_ID: "3",
    CI_MERGE_REQUEST_IID: "9",
    GITLAB_TOKEN: "token",
    COMPUTE_OPERATOR_API_KEY: key,
  };
  const own = Object.entries({ ...pipeline.variables, ...common.variables }).map(([variable, text]) => [
    variable,
    text.replaceAll(/\$(\w+)/g, (_, of: string) => predefined[of] ?? `no ${of}`),
  ]);
  const env = { ...predefined, ...Object.fromEntries(own), BASE_URL: service.baseURL };
  const curl = clone.program("curl", `printf '%s\\n' "$@" > '${clone.temp}/note'`);
  using shell = new Shell({ curl }, env, clone.path);
  rmSync(join(clone.path, "rendered"), { recursive: true, force: true });
  const lines = [...common.before_script, ...pipeline[name].script];
  writeFileSync(join(clone.temp, "job"), typable(lines.join("\n")));
  // Its programs are there until it has ended.
  const typed = await shell.type(`bash -eo pipefail '${clone.temp}/job'`);
  return typed;
}

describe("the pipeline of GitLab CI", () => {
  it("goes from a merge request to a migrated branch and a note, and deletes the branch with its environment", async () => {
    using clone = new Clone();
    clone.write("migrations/1.sql", createOrders);
    clone.write("migrations/2.sql", addNote);
    const opened = await job("preview", clone);
    expect(opened).toMatchObject({ status: 0, output: expect.stringContaining("Applied: 3 as declared.") });
    expect(await branches()).toEqual(["main", "preview", "preview/pr-9"]);
    const note = () => readFileSync(join(clone.temp, "note"), "utf8");
    expect(note()).toContain("body=Database preview/pr-9 is migrated.");
    expect(note()).toContain("https://gitlab.example.com/api/v4/projects/3/merge_requests/9/notes");
    expect(opened.output).not.toContain("postgresql://");
    expect(existsSync(join(clone.path, "rendered", "mr.yaml"))).toBe(true);
    const stopped = await job("stop-preview", clone);
    expect({ status: stopped.status, output: stopped.output }).toMatchObject({ status: 0 });
    expect(note()).toContain("body=Database preview/pr-9 is deleted.");
    expect(await branches()).toEqual(["main", "preview"]);
  });
});
