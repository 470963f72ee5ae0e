import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { ProjectsAnswer } from "../../src/api/project.ts";
import { Changes } from "../../src/service/changes.ts";
import { parseSeed, readSeed } from "../../src/service/seed/file.ts";
import { applySeed } from "../../src/service/seed/seed.ts";
import { Service } from "../../src/service/service.ts";
import { Store } from "../../src/service/store/store.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { Running } from "./support/running.ts";
import { TestService } from "./support/service.ts";

let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  directory = temporaryDirectory("run");
});
afterEach(() => directory.remove());

async function projectsOf(baseURL: string, key: string): Promise<string[]> {
  const answer = await fetch(`${baseURL}/projects`, { headers: { authorization: `Bearer ${key}` } });
  return ProjectsAnswer.parse(await answer.json()).projects.map(({ name = "" }) => name);
}

const Organizations = z.object({ organizations: z.array(z.looseObject({ id: z.string() })) });

describe("without a seed", () => {
  it("makes an account with one project, and shows the first key, once", async () => {
    const data = join(directory.path, "service.sqlite");
    const first = new Running("--port", "0", "--data", data);
    const baseURL = await first.listening();
    const [key = ""] = first.out.map((line) => /^API key \(shown once\): (\S+)$/.exec(line)?.[1] ?? "");
    expect(key).toMatch(/^[A-Za-z0-9]{64}$/);
    expect(await projectsOf(baseURL, key)).toEqual(["first-project"]);
    expect(await first.stop()).toBe(0);
    const second = new Running("--port", "0", "--data", data);
    expect(await projectsOf(await second.listening(), key)).toEqual(["first-project"]);
    expect(second.out.join()).not.toContain("API key");
    expect(await second.stop()).toBe(0);
  });

  it("under --rules neon makes an organization for the project, by which the first key lists it", async () => {
    const running = new Running("--port", "0", "--rules", "neon");
    const baseURL = await running.listening();
    const [key = ""] = running.out.map((line) => /^API key \(shown once\): (\S+)$/.exec(line)?.[1] ?? "");
    const get = async (path: string) => {
      const answer = await fetch(`${baseURL}${path}`, { headers: { authorization: `Bearer ${key}` } });
      return { status: answer.status, body: await answer.json() };
    };
    expect(await get("/projects")).toMatchObject({ status: 400 });
    const { organizations } = Organizations.parse((await get("/users/me/organizations")).body);
    expect(organizations).toHaveLength(1);
    const listed = await get(`/projects?org_id=${organizations[0]?.id}`);
    expect(ProjectsAnswer.parse(listed.body).projects).toMatchObject([{ name: "first-project" }]);
    expect(await running.stop()).toBe(0);
  });

  it("says key, address and console, each on a line of its own, and that in this order", async () => {
    const running = new Running("--port", "0");
    const baseURL = await running.listening();
    const { origin } = new URL(baseURL);
    expect(running.out).toEqual([
      expect.stringMatching(/^API key \(shown once\): \S{64}$/),
      `Listening on ${origin}/api/v2`,
      `Console: ${origin}/`,
    ]);
    expect(await (await fetch(`${origin}/`)).text()).toContain("Compute console");
    expect(await running.stop()).toBe(0);
  });
});

describe("with a seed", () => {
  const ana = "accounts: [{id: a, email: a@b.cd, plan: scale}";
  const p = "id: p, owner: a, branches: [{id: br-a}]";
  const onA = "branchID: br-a, type: read_only";

  it("a service with a seed has what the seed names", async () => {
    const seed = join(directory.path, "seed.yaml");
    writeFileSync(
      seed,
      `accounts:
  - {id: acc-ana, email: ana@example.com, plan: scale, apiKeys: [{name: laptop, key: ana-key}]}
  - {id: acc-bob, email: bob@example.com, plan: free}
organizations:
  - id: org-shop
    name: Shop
    plan: scale
    members: [{account: acc-ana, role: admin}, {account: acc-bob, role: member}]
    apiKeys: [{name: ci, key: org-key}, {name: one-project, key: scoped-key, projectID: shiny-wind-028834}]
projects:
  - {id: shiny-wind-028834, name: shop, owner: org-shop, regionID: aws-us-east-2, pgVersion: 17,
     branches: [{id: br-aged-salad-637688, name: main, default: true}, {id: br-preview-1, name: preview}],
     endpoints: [{branchID: br-aged-salad-637688, type: read_write}]}
`,
    );
    const running = new Running("--port", "0", "--seed", seed);
    const baseURL = await running.listening();
    for (const key of ["ana-key", "org-key", "scoped-key"]) expect(await projectsOf(baseURL, key)).toEqual(["shop"]);
    expect(running.out[0]).toBe(`Listening on ${baseURL}`);
    expect(await running.stop()).toBe(0);
  });

  it("takes the one that docs/service.md shows", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "service.md"), "utf8");
    const [, yaml = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    const service = new TestService();
    service.core.change((context, at) => applySeed(context, parseSeed(yaml, "docs/service.md"), at));
    expect(service.send("scoped-key", "GET /projects/shiny-wind-028834/endpoints/ep-shop").status).toBe(200);
  });

  test.each([
    ["projects: [{id: p, owner: nobody}]", "seed.yaml: project p, owner: account or organization nobody not found"],
    ["accounts: [{id: a, email: x}]", "accounts.0.email"],
    ["", "seed.yaml is empty: a seed has accounts"],
    ["accounts: [{id: a}]", "accounts.0.email: is needed: string"],
    [
      "projects: [{id: p, ownr: a}]",
      'projects.0: unknown "ownr": allowed here are branches, endpoints, id, name, owner,',
    ],
    [`${ana}, {id: a, email: b@b.cd}]`, "two accounts or organizations have the id a"],
    [`${ana}]\nprojects: [{id: p, owner: a}, {id: p, owner: a}]`, "two projects have the id p"],
    [`${ana}]\nprojects: [{id: p, owner: a, branches: [{id: br-a}, {id: br-a}]}]`, "two branches have the id br-a"],
    [
      `${ana}]\nprojects: [{id: p, owner: a, branches: [{name: br-one}, {id: br-one}]}]`,
      "two branches of project p have the name br-one",
    ],
    [
      `${ana}]\norganizations: [{id: o, members: [{account: a, role: admin}, {account: a, role: viewer}]}]`,
      "organization o names account a twice",
    ],
    [
      `${ana}]\nprojects: [{id: p, owner: a, branches: [{default: true}, {default: true}]}]`,
      "project p has more than one",
    ],
    [
      `${ana}]\nprojects: [{${p}, endpoints: [{id: ep-a, ${onA}}, {id: ep-a, ${onA}}]}]`,
      "two computes have the id ep-a",
    ],
    [
      `${ana}]\nprojects: [{${p}, endpoints: [{${onA}, autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 2}]}]`,
      "a compute of project p on branch br-a: the minimum of 4 CU is larger than the maximum of 2 CU",
    ],
    ["accounts: [", "is not YAML"],
    ["organizations: [{id: o, members: [{account: gone, role: admin}]}]", "account gone, which does not exist"],
    [
      "accounts: [{id: a, email: a@b.cd}]\nprojects: [{id: p, owner: a, endpoints: [{branchID: br-x, type: read_write}]}]",
      "names branch br-x, which is not in that project",
    ],
  ])("a wrong seed ends the service with what is wrong: %s", async (yaml, message) => {
    const seed = join(directory.path, "seed.yaml");
    writeFileSync(seed, yaml);
    const running = new Running("--port", "0", "--seed", seed);
    expect(await running.status).toBe(1);
    expect(running.err.join("\n")).toContain(message);
  });

  it("a seed that cannot be planted to its end leaves nothing in the store", async () => {
    const [seed, data] = [join(directory.path, "seed.yaml"), join(directory.path, "service.sqlite")];
    writeFileSync(seed, "accounts: [{id: a, email: a@b.cd}]\nprojects: [{id: p, owner: nobody}]");
    expect(await new Running("--port", "0", "--data", data, "--seed", seed).status).toBe(1);
    const next = new Running("--port", "0", "--data", data);
    await next.listening();
    expect(next.out.join("\n")).toContain("API key (shown once)");
    expect(await next.stop()).toBe(0);
  });

  it("a service is not in one turn with what was deleted where its seed has a project to plant", async () => {
    const [seed, data] = [join(directory.path, "seed.yaml"), join(directory.path, "service.sqlite")];
    writeFileSync(seed, `accounts: [{id: a, email: a@b.cd, apiKeys: [{name: one, key: k}]}]\nprojects: [{${p}}]`);
    const service = new TestService({ file: data });
    service.core.change((context, at) => applySeed(context, readSeed(seed), at));
    expect(service.send("k", "DELETE /projects/p").status).toBe(200);
    service.core.close();
    const running = new Running("--port", "0", "--data", data, "--seed", seed);
    await vi.waitFor(() => expect(running.clock.pending).toBe(1));
    expect(running.out).toEqual([]);
    await running.clock.advance(0);
    expect(await projectsOf(await running.listening(), "k")).toEqual(["p"]);
    expect(await running.stop()).toBe(0);
  });

  it("a seed with the same key twice ends the service with both names, and not the key", async () => {
    const seed = join(directory.path, "seed.yaml");
    const keys = "apiKeys: [{name: laptop, key: s3cret}, {name: phone, key: s3cret}]";
    writeFileSync(seed, `accounts: [{id: a, email: a@b.cd, ${keys}}]`);
    const running = new Running("--port", "0", "--seed", seed);
    expect(await running.status).toBe(1);
    expect(running.err.join("\n")).toContain("the API keys laptop and phone are the same: each needs one of its own");
    expect(running.err.join("\n")).not.toContain("s3cret");
  });

  it("a seed that is no YAML ends the service with the place, and not what stands there, for that may be a key", async () => {
    const seed = join(directory.path, "seed.yaml");
    writeFileSync(seed, "accounts:\n  - {id: a, email: a@b.cd, apiKeys: [{name: laptop, key: s3cret]}\n");
    const running = new Running("--port", "0", "--seed", seed);
    expect(await running.status).toBe(1);
    expect(running.err.join("\n")).toMatch(/seed\.yaml is not YAML: .* at line 2, column \d+$/);
    expect(running.err.join("\n")).not.toContain("s3cret");
  });

  it("a seed that is not there ends the service with a message that says so", async () => {
    const running = new Running("--port", "0", "--seed", join(directory.path, "none.yaml"));
    expect(await running.status).toBe(1);
    expect(running.err[0]).toContain("cannot read the seed");
  });
});

describe("flags", () => {
  test.each([
    [["--port", "high"], "--port must be a whole number from 0 to 65535"],
    [["--port", "65536"], "--port must be a whole number from 0 to 65535"],
    [["--domain", "a_b.test"], "--domain must be a domain in lower case such as db.example.com"],
    [
      ["--domain", ["a", "b", "c"].map((letter) => letter.repeat(60)).join(".")],
      "--domain must be a domain in lower case",
    ],
    [["--domain", "*.test"], "--domain must be a domain in lower case such as db.example.com"],
    [["--time-scale", "0"], "--time-scale must be a number greater than 0"],
    [["--rules", "strict"], '--rules must be specification or neon, not "strict"'],
    [["--rules", "neon", "--strict-spec"], "it cannot be given with --rules neon"],
    [["--prot", "1"], "--prot"],
    [["extra"], "extra"],
    [["--postgres-port", "5433"], "--postgres-port needs --postgres"],
    [["--temporary-disk-scale=0.1"], "--temporary-disk-scale needs --postgres"],
    [["--test-controls", "--host", "0.0.0.0"], "--test-controls needs a --host of this machine alone"],
  ])("the flags %j are refused, with the way to the help", async (args, message) => {
    const running = new Running(...args);
    expect(await running.status).toBe(1);
    expect(running.err[0]).toContain(message);
    expect(running.err[0]).toContain("See compute-operator service --help.");
  });

  it("--help shows them all", async () => {
    const running = new Running("--help");
    expect(await running.status).toBe(0);
    for (const flag of [
      "--port",
      "--host",
      "--data",
      "--seed",
      "--time-scale",
      "--faults",
      "--strict-spec",
      "--ready-file",
    ]) {
      expect(running.out[0]).toContain(flag);
    }
  });

  it("a domain alone changes nothing about the API's address, which is plain HTTP on the host", async () => {
    const running = new Running("--port", "0", "--domain", "db.test");
    const baseURL = await running.listening();
    expect(running.out).toContain(`Console: ${new URL(baseURL).origin}/`);
    expect(await (await fetch(new URL("/healthz", baseURL))).json()).toEqual({ status: "ok" });
    expect(await running.stop()).toBe(0);
  });

  it("a port in use ends the service with what to do, and costs no key", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => {
      taken.listen(0, "127.0.0.1", resolve);
    });
    const address = taken.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const data = join(directory.path, "service.sqlite");
    const running = new Running("--port", String(port), "--data", data);
    expect(await running.status).toBe(1);
    expect(running.err[0]).toMatch(
      /cannot listen on 127\.0\.0\.1, port \d+: .*EADDRINUSE.* Choose others with --host and --port\./,
    );
    expect(running.out).toEqual([]);
    taken.close();
    const again = new Running("--port", "0", "--data", data);
    await again.listening();
    expect(again.out[0]).toContain("API key (shown once): ");
    expect(await again.stop()).toBe(0);
  });

  it("a store that cannot be used ends the service with what it must be", async () => {
    const running = new Running("--port", "0", "--data", directory.path);
    expect(await running.status).toBe(1);
    expect(running.err[0]).toContain("must be a writable SQLite file");
  });
});

/** Starts a service with the data, and in it the start of the first project's compute; answers that compute's id. */
async function starting(running: Running): Promise<string> {
  const baseURL = await running.listening();
  const headers = { authorization: `Bearer ${running.out[0]?.split(": ")[1]}` };
  const { projects } = ProjectsAnswer.parse(await (await fetch(`${baseURL}/projects`, { headers })).json());
  const path = `${baseURL}/projects/${projects[0]?.id}/endpoints`;
  const [id = ""] = /ep-[a-z0-9-]+/.exec(await (await fetch(path, { headers })).text()) ?? [];
  expect((await fetch(`${path}/${id}/start`, { method: "POST", headers })).status).toBe(200);
  return id;
}

it("time passes while nobody calls: operations finish in the store", async () => {
  const data = join(directory.path, "s.sqlite");
  const running = new Running("--port", "0", "--data", data);
  const id = await starting(running);
  await running.clock.advance(1000);
  expect(await running.stop()).toBe(0);
  const store = Store.open(data);
  expect(store.endpoints.byId(id)?.currentState).toBe("active");
  store.close();
});

it("an operation that was under way ends although the clock was set back before the next start", async () => {
  const data = join(directory.path, "s.sqlite");
  const first = new Running("--port", "0", "--data", data);
  await first.listening();
  await first.clock.advance(3_600_000);
  const id = await starting(first);
  await first.stop();
  const again = new Running("--port", "0", "--data", data);
  await again.listening();
  await again.clock.advance(1000);
  expect(await again.stop()).toBe(0);
  const store = Store.open(data);
  expect(store.endpoints.byId(id)?.currentState).toBe("active");
  store.close();
});

it("a compute that was active suspends although the clock was set back before the next start, and its time counts", async () => {
  const data = join(directory.path, "s.sqlite");
  const first = new Running("--port", "0", "--data", data);
  await first.listening();
  await first.clock.advance(3_600_000);
  const id = await starting(first);
  const { origin } = new URL(await first.listening());
  expect((await fetch(`${origin}/_connect/${id}?seconds=60`, { method: "POST" })).status).toBe(200);
  await first.clock.advance(1000);
  await first.stop();
  const again = new Running("--port", "0", "--data", data);
  await again.listening();
  for (const ms of [60_000, 300_000, 1000]) await again.clock.advance(ms);
  expect(await again.stop()).toBe(0);
  const store = Store.open(data);
  const { currentState, projectId = "", suspendedAt = 0 } = store.endpoints.byId(id) ?? {};
  const active = store.projects.get(projectId)?.activeMs ?? 0;
  expect([currentState, suspendedAt < again.clock.now(), Math.round(active / 1000)]).toEqual(["idle", true, 360]);
  store.close();
});

it("what is under way ends in its time although the clock of the machine is set back, and calls come then", async () => {
  const data = join(directory.path, "s.sqlite");
  const running = new Running("--port", "0", "--data", data);
  const id = await starting(running);
  running.clock.stepWall(-3_600_000);
  const headers = { authorization: `Bearer ${running.out[0]?.split(": ")[1]}` };
  const made = fetch(`${await running.listening()}/api_keys`, { method: "POST", headers, body: '{"key_name":"ci"}' });
  expect((await made).status).toBe(200);
  await running.clock.advance(3000);
  running.clock.stepWall(-3_600_000);
  for (const ms of [301_000, 301_000]) await running.clock.advance(ms);
  expect(await running.stop()).toBe(0);
  const store = Store.open(data);
  const { currentState, startedAt = 0, suspendedAt = 0 } = store.endpoints.byId(id) ?? {};
  expect([currentState, startedAt > 0, suspendedAt > 0 && suspendedAt <= running.clock.now()]).toEqual([
    "idle",
    true,
    true,
  ]);
  store.close();
});

it("a store with data of real servers is refused without them: what a model does would be lost upon it", async () => {
  const data = join(directory.path, "s.sqlite");
  const model = new Running("--port", "0", "--data", data);
  await model.listening();
  await model.stop();
  const store = Store.open(data);
  const [branchId = ""] = store.branchData.missing();
  const limits = { maxConnections: 1, maxWorkerProcesses: 1, maxLocks: 1 };
  store.branchData.put({ branchId, generation: "1", catalog: "{}", ...limits });
  store.close();
  const running = new Running("--port", "0", "--data", data);
  expect(await running.status).toBe(1);
  expect(running.err[0]).toContain(`${data} has branches with data of real servers: start with --postgres`);
});

it("a service that has ended follows its changes no more", async () => {
  let followers = 0;
  const followed = vi.spyOn(Changes.prototype, "follow").mockImplementation(() => {
    followers += 1;
    return () => {
      followers -= 1;
    };
  });
  onTestFinished(() => followed.mockRestore());
  const running = new Running("--port", "0");
  await running.listening();
  expect(followers).toBe(2);
  expect([await running.stop(), followers]).toEqual([0, 0]);
});

it("a service that ends while something is due leaves no timer", async () => {
  const running = new Running("--port", "0");
  await starting(running);
  expect(running.clock.pending).toBe(1);
  expect([await running.stop(), running.clock.pending]).toEqual([0, 0]);
});

it("a service waits with one timer for what is due next, however often something has changed", async () => {
  const running = new Running("--port", "0");
  await starting(running);
  const headers = { authorization: `Bearer ${running.out[0]?.split(": ")[1]}` };
  const keys = `${await running.listening()}/api_keys`;
  for (const key_name of ["one", "two", "three"]) {
    const made = await fetch(keys, { method: "POST", headers, body: JSON.stringify({ key_name }) });
    expect(made.status).toBe(200);
  }
  expect(running.clock.pending).toBe(1);
  await running.stop();
});

it("what was deleted is cleared in turns while nobody calls, with a rest between two, however often something changes", async () => {
  const running = new Running("--port", "0");
  const baseURL = await running.listening();
  const headers = { authorization: `Bearer ${running.out[0]?.split(": ")[1]}` };
  const { projects } = ProjectsAnswer.parse(await (await fetch(`${baseURL}/projects`, { headers })).json());
  let turns = 0;
  const cleared = vi.spyOn(Service.prototype, "clear").mockImplementation(function (this: Service) {
    turns += 1;
    if (turns === 3) this.change(({ store }) => void store.removed.clearSome());
    if (turns === 4) throw new Error("broken");
  });
  onTestFinished(() => cleared.mockRestore());
  expect((await fetch(`${baseURL}/projects/${projects[0]?.id}`, { method: "DELETE", headers })).status).toBe(200);
  const after = async (ms: number) => {
    for (const key_name of ["one", "two"]) {
      const body = JSON.stringify({ key_name });
      await fetch(`${baseURL}/api_keys`, { method: "POST", headers, body });
    }
    await running.clock.advance(ms);
    return turns;
  };
  expect([await after(0), await after(24), await after(1), await after(24), await after(1)]).toEqual([1, 1, 2, 2, 3]);
  expect([await after(25), running.err, running.clock.pending]).toEqual([4, [expect.stringContaining("broken")], 1]);
  cleared.mockRestore();
  await running.clock.advance(1000);
  expect([running.clock.pending, await running.stop()]).toEqual([0, 0]);
});

it("a store that cannot be read for a while keeps nothing that is due from happening afterwards", async () => {
  const data = join(directory.path, "s.sqlite");
  const running = new Running("--port", "0", "--data", data);
  const id = await starting(running);
  const broken = () => {
    throw new Error("disk I/O error");
  };
  const settled = vi.spyOn(Service.prototype, "settle").mockImplementationOnce(broken);
  const read = vi.spyOn(Service.prototype, "nextDue").mockImplementationOnce(broken);
  onTestFinished(() => [settled, read].forEach((spy) => spy.mockRestore()));
  for (const ms of [700, 1000]) await running.clock.advance(ms);
  expect([running.err.length, running.clock.pending]).toEqual([2, 1]);
  await running.clock.advance(1000);
  expect(await running.stop()).toBe(0);
  const store = Store.open(data);
  expect(store.endpoints.byId(id)?.currentState).toBe("active");
  store.close();
});

it("a mistake of ours in what is due is logged as text for a terminal, and it is tried again a second later", async () => {
  const data = join(directory.path, "s.sqlite");
  const running = new Running("--port", "0", "--data", data);
  const id = await starting(running);
  const settled = vi.spyOn(Service.prototype, "settle").mockImplementationOnce(() => {
    throw new Error("broken \u001b[2J\nListening on http://elsewhere");
  });
  onTestFinished(() => settled.mockRestore());
  await running.clock.advance(700);
  const logged = "internal error: Error: broken  [2J\n  Listening on http://elsewhere\n";
  expect(running.err).toEqual([expect.stringContaining(logged)]);
  await running.clock.advance(1000);
  expect(await running.stop()).toBe(0);
  const store = Store.open(data);
  expect(store.endpoints.byId(id)?.currentState).toBe("active");
  store.close();
});
