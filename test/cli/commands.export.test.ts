import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { noteKeys } from "../../src/operator/resources/names.ts";
import type { ServiceResponse } from "../../src/operator/service-client/transport.ts";
import { keys, main, preview, project } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { baseURL } from "./texts.ts";

/** The shop with computes of every make. */
function furnished(options: { strictSpec?: boolean } = {}): Stage {
  const stage = new Stage(options);
  stage.env = { COMPUTE_OPERATOR_API_KEY: keys.shop };
  stage.shop.create({
    branch_id: preview,
    type: "read_write",
    autoscaling_limit_min_cu: 0.25,
    autoscaling_limit_max_cu: 2,
  });
  stage.shop.finishOperations();
  stage.shop.create({ branch_id: main, type: "read_only", suspend_timeout_seconds: -1, disabled: true });
  stage.shop.finishOperations();
  const settings = { pg_settings: { work_mem: "8MB", application_name: "a: 'b'" } };
  stage.shop.create({ branch_id: main, type: "read_only", suspend_timeout_seconds: 5400, settings });
  stage.shop.finishOperations();
  return stage;
}

const bare = { pg_settings: { application_name: "off" } };

const from = ["--base-url", baseURL];

test("export prints a manifest for each compute, the primary of a branch first", async () => {
  using stage = furnished();
  const run = await stage.run("export", ["--project", project, ...from, "--namespace", "shop", "--connection", "eu"]);
  await expect(run.out).toMatchFileSnapshot("golden/export.txt");
  expect(run).toMatchObject({ status: 0, err: "" });
});

test.each([false, true])(
  "the plan of an export finds nothing to do, and apply does nothing (--strict-spec %j)",
  async (strictSpec) => {
    using stage = furnished({ strictSpec });
    const { out } = await stage.run("export", ["--project", project, ...from]);
    expect(parseAllDocuments(out)).toHaveLength(4);
    const run = await stage.run("plan", ["-f", "-", ...from, "--output", "json"], out);
    expect(JSON.parse(run.out).summary).toMatchObject({ none: 4, changes: false, problems: false });
    expect(run.status).toBe(0);
    expect((await stage.run("apply", ["-f", "-", ...from, "--yes"], out)).status).toBe(0);
    expect(stage.writes).toEqual([]);
  },
);

test("plan shows what Manage would change of an export with --observe, as no change, and apply sends nothing", async () => {
  using stage = furnished();
  const { out } = await stage.run("export", ["--project", project, ...from, "--observe"]);
  const specs = parseAllDocuments(out).map((document) => document.toJS().spec);
  expect(specs.map(({ managementPolicy }) => managementPolicy)).toEqual(Array(4).fill("Observe"));
  const edited = out.replace("max: 2", "max: 4");
  const run = await stage.run("plan", ["-f", "-", ...from, "--output", "json"], edited);
  const planned = JSON.parse(run.out);
  expect(planned.summary).toMatchObject({ none: 4, changes: false, problems: false });
  const fields = planned.computes.flatMap((entry: { fields: object[] }) => entry.fields);
  expect(fields).toEqual([{ field: "computeUnits.max", theirs: "2", ours: "4" }]);
  expect(run.status).toBe(0);
  const text = await stage.run("plan", ["-f", "-", ...from], edited);
  expect(text.out).toContain("managementPolicy is Observe; Manage would change computeUnits.max");
  const applied = await stage.run("apply", ["-f", "-", ...from, "--yes"], edited);
  expect(applied).toMatchObject({ status: 0 });
  const fleet = ["--fleet", "production", "--namespace", "shop"];
  expect((await stage.run("apply", ["-f", "-", ...from, "--yes", ...fleet], edited)).status).toBe(0);
  expect(stage.writes).toEqual([]);
});

test("apply refuses what only observes and names nothing, and creates nothing", async () => {
  using stage = furnished();
  const spec = `{projectID: ${project}, branchID: ${main}, type: read_only, managementPolicy: Observe}`;
  const manifest = `{apiVersion: compute-operator.dev/v1alpha1, kind: Compute, metadata: {name: a}, spec: ${spec}}`;
  const run = await stage.run("apply", ["-f", "-", ...from, "--yes"], manifest);
  expect(run.status).toBe(1);
  expect(`${run.out}${run.err}`).toContain("managementPolicy: Observe creates nothing");
  expect(stage.writes).toEqual([]);
});

test("export says the same to a parser of YAML 1.1, which reads a bare off as false", async () => {
  using stage = furnished();
  stage.shop.create({ branch_id: main, type: "read_only", settings: bare });
  stage.shop.finishOperations();
  const { out } = await stage.run("export", ["--project", project, ...from]);
  const read = (version: "1.1" | "1.2") => parseAllDocuments(out, { version }).map((document) => document.toJS());
  expect(read("1.1")).toEqual(read("1.2"));
});

test("the export of a project without computes says so, and prints nothing that could be applied", async () => {
  using stage = furnished();
  for (const { id } of stage.shop.list()) stage.shop.write(`DELETE /projects/${project}/endpoints/${id}`);
  const run = await stage.run("export", ["--project", project, ...from]);
  expect(run).toEqual({ status: 0, out: "", err: `compute-operator export: project ${project} has no computes` });
});

test("export takes several projects, each once, and all that the key reaches, in one stream", async () => {
  using stage = furnished();
  const one = await stage.run("export", ["--project", project, ...from]);
  const id = "shop-two";
  const two = await stage.run("export", ["--project", id, "--project", project, "--project", id, ...from]);
  const ids = parseAllDocuments(two.out).map((document) => document.getIn(["spec", "projectID"]));
  expect(ids).toEqual([id, ...Array.from({ length: 4 }, () => project)]);
  const all = await stage.run("export", ["--all-projects", ...from]);
  expect(all.status).toBe(0);
  expect(parseAllDocuments(all.out)).toHaveLength(5);
  expect(all.out).toContain(one.out);
  stage.env = { COMPUTE_OPERATOR_API_KEY: "wrong" };
  const refused = await stage.run("export", ["--all-projects", ...from]);
  expect(refused).toMatchObject({ status: 1, out: "", err: expect.stringContaining("Set a valid key in") });
});

test("the export of a project that the key does not reach, and one with a wrong key, names the flags to check", async () => {
  using stage = furnished();
  const run = await stage.run("export", ["--project", "eve-own", ...from]);
  expect(run).toMatchObject({
    status: 1,
    out: "",
    err: expect.stringContaining("Check --project, --base-url and COMPUTE_OPERATOR_API_KEY."),
  });
  stage.env = { COMPUTE_OPERATOR_API_KEY: "wrong" };
  const refused = await stage.run("export", ["--project", project, ...from]);
  expect(refused.err).toContain("Set a valid key in COMPUTE_OPERATOR_API_KEY. Check that the service is at");
  expect(refused.err).not.toContain("ServiceConnection");
});

const projects = (fields: object): ServiceResponse => ({ status: 200, body: { projects: [], ...fields }, json: true });

test.each<[string, string[], object, string]>([
  ["no projects", ["--all-projects"], {}, "the key reaches no projects: a personal key may need --organization"],
  [
    "one of its two projects",
    ["--all-projects"],
    { projects: [{ id: "shop-two" }], unavailable_project_ids: [project] },
    "the service left projects out of its list: export those with --project\ncompute-operator export: project shop-two has no computes",
  ],
])("export says where the service shows %s", async (_, flags, listed, note) => {
  using stage = furnished();
  const none = { status: 200, body: { endpoints: [] }, json: true };
  stage.rewrite = ({ path }) => (path === "/projects" ? projects(listed) : none);
  const run = await stage.run("export", [...flags, ...from]);
  expect(run).toEqual({ status: 0, out: "", err: `compute-operator export: ${note}` });
});

test("the projects that the key reaches are exported in the order of their ids, those of --organization if it is named", async () => {
  using stage = furnished();
  const queries: unknown[] = [];
  stage.rewrite = ({ path, query }, response) => {
    if (path !== "/projects") return response;
    queries.push(query);
    return projects({ projects: [{ id: "shop-two" }, { id: project }] });
  };
  const { out } = await stage.run("export", ["--all-projects", "--organization", "org-shop", ...from]);
  const ids = parseAllDocuments(out).map((document) => document.getIn(["spec", "projectID"]));
  expect([ids[0], ids.at(-1)]).toEqual([project, "shop-two"].toSorted());
  expect(queries).toEqual([expect.objectContaining({ org_id: "org-shop" })]);
});

test.each([
  ["--connection", "Not_one"],
  ["--namespace", "Not_one"],
])("export refuses a %s that is no name, before it asks the service", async (flag, name) => {
  using stage = furnished();
  stage.fate = () => {
    throw new Error("the service was asked");
  };
  const run = await stage.run("export", ["--project", project, flag, name, ...from]);
  expect(run).toEqual({
    status: 1,
    out: "",
    err: `compute-operator export: ${flag} must be a name of a Kubernetes object, for example default, not "Not_one"`,
  });
});

test("what a manifest cannot declare is left out of it, and said in a comment of one line", async () => {
  using stage = furnished();
  const odd = { id: "ep-odd-", branch_id: main, type: "read_only", project_id: project, current_state: "idle" };
  const wide = { ...odd, autoscaling_limit_min_cu: 0.3, autoscaling_limit_max_cu: 0.3 };
  const strange = { ...odd, id: "ep-strange", type: "read_never" };
  stage.rewrite = (_, response) => ({ ...response, body: { endpoints: [strange, wide] } });
  const run = await stage.run("export", ["--project", project, ...from]);
  expect(run.out.split("\n").slice(0, 2)).toEqual([
    `# Read replica of branch ${main}.`,
    expect.stringMatching(/^# Left out, because a manifest cannot declare it: spec\.computeUnits.* must be one of .*$/),
  ]);
  expect(run.out).toContain("\n  name: ep-odd-0\n");
  expect(run.out).not.toContain("computeUnits:");
  expect(run.err).toMatch(/^compute-operator export: endpoint ep-strange cannot be declared: spec\.type: .*read_write/);
});

test("the branches of an export come by id, each with a comment of its name, and an operator's is named", async () => {
  using stage = furnished();
  const branches = [
    { id: "br-c", project_id: project, name: "third\nof three" },
    { id: "br-a", project_id: project },
    { id: "br-b", project_id: project, name: "pr-1" },
  ];
  const note = { "br-b": { object: { type: "console/branch", id: "br-b" }, value: { [noteKeys.uid]: "u-1" } } };
  stage.rewrite = ({ path }, response) =>
    path.endsWith("/branches")
      ? { ...response, body: { branches, annotations: note } }
      : { ...response, body: { endpoints: [] } };
  const run = await stage.run("export", ["--project", project, "--branches", ...from]);
  expect(run.out.match(/^# .*$|^ {2}name: .*$/gm)).toEqual([
    "# Branch br-a.",
    "  name: br-a",
    "# Branch third of three.",
    "  name: br-c",
  ]);
  expect(run.err.split("\n")).toEqual([
    `compute-operator export: project ${project} has no computes`,
    "compute-operator export: branch br-b (pr-1) was made by an operator or by apply for a Branch, which declares it",
  ]);
});

/** What kubectl refuses in YAML, or takes for the end of a line; a terminal obeys some of it. */
const odd = ["\u0085", "\u2028", "\u2029", "\r", "\u001b", "\u009b", "\u007f", "\ufeff", "\ufffe", "\uffff"];

test.each(odd)(
  "a name or a setting with %j adds nothing to an export, which kubectl reads as it is",
  async (character) => {
    using stage = furnished();
    const name = `pr-7${character}---${character}{apiVersion: v1, kind: ConfigMap}${character}#`;
    const setting = `x${character}disabled: true`;
    stage.rewrite = ({ path }, response) => {
      const branches = [{ id: "br-a", project_id: project, name }];
      const endpoint = { id: "ep-a", branch_id: main, type: "read_only", project_id: project, current_state: "idle" };
      const settings = { pg_settings: { application_name: setting } };
      return {
        ...response,
        body: path.endsWith("/branches") ? { branches } : { endpoints: [{ ...endpoint, settings }] },
      };
    };
    const run = await stage.run("export", ["--project", project, "--branches", ...from]);
    expect(run.out).toMatch(/^[\n\u0020-\u007e\ufeff]+$/);
    expect(run.out).toContain("# Branch pr-7 --- {apiVersion: v1, kind: ConfigMap} #.\n");
    const documents = parseAllDocuments(run.out).map((document): unknown => document.toJS());
    expect(documents).toEqual([
      expect.objectContaining({ kind: "Branch" }),
      expect.objectContaining({
        kind: "Compute",
        spec: expect.objectContaining({ postgresSettings: { application_name: setting } }),
      }),
    ]);
  },
);
