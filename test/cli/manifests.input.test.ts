import { writeFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { applyCommand, planCommand } from "../../src/cli/commands/command.ts";
import { main, preview, project } from "../service/support/shop.ts";
import { refusals, Stage } from "./command-stage.ts";
import { compute, connection, documents, pool } from "./texts.ts";

const head = "apiVersion: compute-operator.dev/v1alpha1\n";

const branch = (expiry: string) =>
  `${head}kind: Branch\nmetadata: {name: pr-1, namespace: shop}\nspec: {projectID: ${project}, expiry: {${expiry}}}\n`;

describe("a bad manifest is refused with file, line, object, field and what is allowed", () => {
  test.each<[string, string, string]>([
    ["not YAML", "a: [1\nb: 2", "a.yaml:2: not YAML: "],
    [
      "a key twice",
      `${connection}---\n${head}kind: Compute\nkind: Compute\n`,
      "a.yaml:14: not YAML: Map keys must be unique",
    ],
    ["a key twice after another mistake", "a: [1\nb: 2\nc: 1\nc: 2", "a.yaml:4: not YAML: Map keys must be unique"],
    ["an alias of nothing", "a:\n- *b\n", "a.yaml:2: not YAML: the alias *b has no anchor before it"],
    ["an anchor in itself", "a: &a\n- [*a]\n", "a.yaml:2: not YAML: an anchor holds an alias of itself"],
    [
      "aliases of aliases of aliases",
      `${["a: &a0 [0,0,0,0,0,0,0,0,0,0]", ...Array.from({ length: 9 }, (_, n) => `a${n}: &a${n + 1} [${Array(10).fill(`*a${n}`).join()}]`)].join("\n")}\n`,
      "not YAML: aliases repeat more than 400000 values: write them out",
    ],
    [
      "merge keys of merge keys of merge keys",
      `${["a: &a0 {}", ...Array.from({ length: 30 }, (_, n) => `a${n}: &a${n + 1} {<<: [*a${n}, *a${n}]}`)].join("\n")}\n`,
      "not YAML: aliases repeat more than 400000 values: write them out",
    ],
    ["a merge of something else", "a: 1\n<<: [{b: 1}, 5]\n", "a.yaml:2: not YAML: << takes a map, or a list of maps"],
    ["no number", "a:\n  b: .inf\n", "a.yaml:2: not YAML: .inf is no number that JSON has"],
    ["a tag that does not fit", "a: !!int x\n", "a.yaml:1: not YAML: x is no !!int"],
    ["a key of null", "a: 1\n~: 2\n", "a.yaml:2: not YAML: a key must be text, not null"],
    ["a tab", "a:\n\tb: 1\n", "a.yaml:2: not YAML: Tabs are not allowed as indentation"],
    [
      "a placeholder of a template",
      "a: 1\nb: {{ .Values.b }}\n",
      "a.yaml:2: not YAML: a key must be text, not a map or a list. {{ .Values.b }} is of a template: render it first, as with helm template",
    ],
    [
      "a branch of a template",
      "{% if x %}\na: 1\n{% endif %}\n",
      "a.yaml:1: not YAML: Plain value cannot start with directive indicator character %. {% if x %} is of a template: render it first, as with helm template",
    ],
    [
      "a variable in a map on one line",
      compute("a").replace(`branchID: ${preview}`, "branchName: $\u007bBRANCH:=main}"),
      "a.yaml:4: not YAML: Unexpected flow-map-start at node end. $\u007bBRANCH:=main} is a variable: replace it first, as with envsubst, or add quotes",
    ],
    [
      "two objects, of which the first holds a variable",
      `{"a": "$\u007bb}"}\n{"b": 2}\n`,
      "a.yaml:2: not YAML: two objects follow each other: separate them by a line ---",
    ],
    [
      "JSON objects one after the other",
      `{"a": 1}\n{"b": 2}\n`,
      "a.yaml:2: not YAML: two objects follow each other: separate them by a line ---",
    ],
    ["no object", "hello: there\n", "a.yaml:1: not a Kubernetes object: it needs apiVersion, kind and metadata"],
    [
      "an unknown kind",
      `${head}kind: Computer\nmetadata: {name: a}\n`,
      "a.yaml:2: unknown kind Computer of compute-operator.dev/v1alpha1: allowed are Compute, ComputePool, Branch, ServiceConnection, ClusterServiceConnection of compute-operator.dev/v1alpha1",
    ],
    [
      "an unknown version",
      "apiVersion: compute-operator.dev/v2\nkind: Compute\nmetadata: {name: a}\n",
      "a.yaml:2: unknown kind Compute of compute-operator.dev/v2: allowed are",
    ],
    [
      "an unknown field",
      compute("a", "\n  computeUnits: {min: 1, max: 1},\n  conputeUnits: {min: 1, max: 2}"),
      "a.yaml:6: Compute shop/a: spec.conputeUnits: unknown field: allowed here are adopt, branchDrift, branchID, branchName, branchRef, computeUnits, connectionRef,",
    ],
    [
      "a field out of place",
      `${compute("a")}disabled: true\n`,
      "a.yaml:5: Compute shop/a: disabled: unknown field: allowed here are apiVersion, kind, metadata, spec, status",
    ],
    [
      "a missing field",
      `${head}kind: Compute\nmetadata: {name: a}\nspec:\n  projectID: p\n`,
      "a.yaml:5: Compute default/a: spec: set exactly one of branchID, branchName and branchRef",
    ],
    [
      "a size that does not exist",
      compute("a", "computeUnits: {min: 1, max: 17}"),
      "a.yaml:4: Compute shop/a: spec.computeUnits.max: computeUnits.max must be one of 0.25, 0.5, 1 to 16, and the even numbers from 18 to 56",
    ],
    [
      "a rule between fields",
      compute("a", "computeUnits: {min: 4, max: 2}"),
      "a.yaml:4: Compute shop/a: spec.computeUnits: computeUnits.min must not be greater than computeUnits.max",
    ],
    [
      "a branch's name as its id",
      compute("a").replace(preview, "main"),
      "a.yaml:4: Compute shop/a: spec.branchID: an id begins with br-; for a name use branchName",
    ],
    [
      "a branch's name as the id in a pool",
      pool("r", 1).replace(main, "feature/x"),
      "a.yaml:4: ComputePool shop/r: spec.template.branchID: an id begins with br-; for a name use branchName",
    ],
    [
      "a number in quotes",
      compute("a", 'computeUnits: {min: "0.25", max: 2}'),
      `spec.computeUnits.min: must be a number: remove the quotes (0.25, not "0.25")`,
    ],
    [
      "a truth in quotes",
      compute("a", 'scaleToZero: {enabled: "false"}'),
      `spec.scaleToZero.enabled: must be true or false: remove the quotes (false, not "false")`,
    ],
    [
      "a setting without quotes",
      compute("a", "postgresSettings: {max_connections: 100}"),
      `spec.postgresSettings.max_connections: must be text: add quotes ("100")`,
    ],
    [
      "a branch's name that reads as a number",
      compute("a").replace(`branchID: ${preview}`, "branchName: 0012345"),
      `a.yaml:4: Compute shop/a: spec.branchName: must be text: add quotes ("0012345")`,
    ],
    [
      "a branch's name that reads as true, by an alias",
      compute("a", "postgresSettings: {a: &x yes}")
        .replace(`branchID: ${preview}`, "branchName: *x")
        .replace(/spec: {(.*), (postgres.*)}/, "spec: {$2, $1}"),
      `spec.branchName: must be text: add quotes ("yes")`,
    ],
    [
      "a branch's name that reads as a number, by a merge key",
      compute("a").replace(`branchID: ${preview}`, "<<: {branchName: 1_000}"),
      `spec.branchName: must be text: add quotes ("1_000")`,
    ],
    [
      "a project's id that reads as a number in a list",
      connection.replace(/spec: {/, "spec: {allowedProjects: [a, 0x1f], "),
      `spec.allowedProjects.1: must be text: add quotes ("0x1f")`,
    ],
    [
      "a label that reads as a number",
      compute("a", "", preview, "labels: {version: 1.10}"),
      `a.yaml:3: Compute shop/a: metadata.labels.version: must be text: add quotes ("1.10")`,
    ],
    [
      "a name that reads as a number",
      compute("0123"),
      `a.yaml:3: Compute shop/(no name): metadata.name: must be text: add quotes ("0123")`,
    ],
    [
      "a number in quotes that would be octal without them",
      compute("a", 'computeUnits: {min: "010", max: 16}'),
      `spec.computeUnits.min: must be a number: remove the quotes (10, not "010")`,
    ],
    [
      "a word of YAML 1.1 in quotes",
      compute("a", 'disabled: "yes"'),
      `spec.disabled: must be true or false: remove the quotes (true, not "yes")`,
    ],
    [
      "a duration without its unit, which quotes alone do not make one",
      compute("a", "scaleToZero: {enabled: true, after: 300}"),
      "spec.scaleToZero.after: scaleToZero.after must be between 1m and 7d, in the units s, m, h and d, for example 1h30m or 1d",
    ],
    [
      "a day of YAML 1.1",
      compute(
        "a",
        "schedule: [{name: a, days: [Mon, on], from: '08:00', to: '19:00', computeUnits: {min: 1, max: 1}}]",
      ),
      `spec.schedule.0.days.1: Invalid option: expected one of "Mon"|"Tue"|"Wed"`,
    ],
    ["an end without its unit", branch("after: 72"), "spec.expiry.after: expiry.after must be between 10s and 30d"],
    ["an end in other words", branch("after: 3 days"), "spec.expiry.after: expiry.after must be between 10s and 30d"],
    ["no end that is false", branch("never: false"), "spec.expiry.never: must be true, or left out"],
    [
      "no end in quotes",
      branch("never: 'true'"),
      `spec.expiry.never: must be true or false: remove the quotes (true, not "true")`,
    ],
    [
      "two ends",
      branch("after: 72h, never: true"),
      "spec.expiry: expiry takes exactly one of after, at, lease and never",
    ],
    ["no end at all", branch(""), "spec.expiry: expiry takes exactly one of after, at, lease and never"],
    [
      "an endpoint's id that is a number",
      compute("a", "adopt: {endpointID: 5}"),
      "spec.adopt.endpointID: must start with ep-, followed by a-z, 0-9 and -",
    ],
    [
      "a truth in quotes where one of several fields is allowed",
      compute("a", "disruption: {anyTime: 'yes'}"),
      `spec.disruption.anyTime: must be true or false: remove the quotes (true, not "yes")`,
    ],
    ["a value in place of fields", compute("a", "pooler: true"), "spec.pooler: takes fields: enabled, mode"],
    [
      "a name in place of fields",
      compute("a", "connectionRef: default"),
      "spec.connectionRef: takes fields: kind, name",
    ],
    [
      "a spec of nothing",
      `${head}kind: Compute\nmetadata: {name: a}\nspec:\n`,
      "a.yaml:4: Compute default/a: spec: is needed: object",
    ],
    [
      "one end of a size",
      compute("a", "computeUnits: {min: 1}"),
      "spec.computeUnits.max: is missing: computeUnits takes both min and max, for example {min: 0.25, max: 2}",
    ],
    [
      "a variable of a shell in a template",
      compute("a", 'connectionSecret: {name: s, database: d, role: r, template: {data: {DATABASE_URL: "${uri}"}}}'),
      "spec.connectionSecret.template.data: a placeholder of template.data is written {uri}, not ${uri}: remove the $",
    ],
    [
      "a variable of a shell in the compute of a branch",
      `${head}kind: Branch\nmetadata: {name: pr-1, namespace: shop}\nspec: {projectID: ${project}, expiry: {after: 72h}, compute: {connectionSecret: {name: s, database: d, role: r, template: {data: {URL: "$\u007buri}"}}}}}\n`,
      "spec.compute.connectionSecret.template.data: a placeholder of template.data is written {uri}",
    ],
    [
      "an unknown type",
      compute("a", "type: primary"),
      `spec.type: Invalid option: expected one of "read_write"|"read_only"`,
    ],
    [
      "two ways to adopt",
      compute("a", "adopt: {endpointID: ep-a, branchPrimary: true}"),
      "spec.adopt: adopt takes exactly one of endpointID, branchPrimary and former",
    ],
    [
      "a name that Kubernetes refuses",
      compute("Shop"),
      "a.yaml:3: Compute shop/Shop: metadata.name: must be lower-case letters, digits, - and ., for example shop-primary",
    ],
    [
      "a namespace that Kubernetes refuses",
      compute("a").replace("namespace: shop", "namespace: Shop"),
      "a.yaml:3: Compute Shop/a: metadata.namespace: must be lower-case letters, digits, - and ., for example shop-primary",
    ],
    [
      "an object without a name",
      compute("a").replace("name: a, ", ""),
      "a.yaml:3: Compute shop/(no name): metadata.name: ",
    ],
    [
      "a Secret that holds a number",
      connection.replace(/api-key: \S+}/, "api-key: 1}"),
      "a.yaml:5: Secret shop/service-api-key: stringData.api-key: must be text: add quotes",
    ],
    [
      "a Secret twice",
      documents(connection, connection.slice(0, connection.indexOf("---\n")), compute("a")),
      "a.yaml:12: Secret shop/service-api-key is declared twice: it is also at a.yaml:1",
    ],
    [
      "an object twice",
      documents(connection, compute("a"), compute("a")),
      "a.yaml:17: Compute shop/a is declared twice: it is also at a.yaml:12",
    ],
    ["no Compute", connection, "no Compute, ComputePool or Branch in a.yaml"],
    [
      "a pool whose member is another's",
      documents(
        connection,
        compute("r-0"),
        `${head}kind: ComputePool\nmetadata: {name: r, namespace: shop}\nspec: {replicas: 1, template: {projectID: ${project}, branchID: ${main}}}\n`,
      ),
      "a.yaml:17: ComputePool shop/r: Compute r-0 exists and does not belong to this pool. Delete that Compute, or create the pool under another name.",
    ],
  ])("%s", async (_what, text, message) => {
    expect(await refusals(text)).toContain(message);
  });

  test("a field that is misspelt where one of several is allowed is one mistake", async () => {
    const lines = (await refusals(compute("a", "adopt: {endpointId: ep-a}"))).trim().split("\n");
    expect(lines).toEqual([
      expect.stringContaining(
        "spec.adopt.endpointId: unknown field: allowed here are branchPrimary, endpointID, former",
      ),
    ]);
  });

  test("only the first mistake of a template is reported, not all its consequences", async () => {
    const lines = (await refusals("a: {{ b }}\nc: {{ d }}\n{{- e }}\n")).trim().split("\n");
    expect(lines).toEqual([expect.stringMatching(/^a\.yaml:3: not YAML: /)]);
  });

  test("a required field of null is missing, as it is to the API server", async () => {
    const text = compute("a", "computeUnits: {min: null, max: 1}");
    expect(await refusals(text)).toContain("spec.computeUnits.min: is missing: computeUnits takes both min and max");
  });

  test.each(["\u0085", "\u2028", "\u2029", "\r", "\u001b", "\u009b", "\u007f", "\ufffe"])(
    "a comment with %j, after which kubectl reads fields or nothing, is refused with its line",
    async (character) => {
      const text = `${compute("a")}  # for tests${character}  disabled: true\n`;
      const line = compute("a").split("\n").length;
      const written = `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
      expect(await refusals(text)).toBe(
        `a.yaml:${line}: not YAML: the character ${written}, which kubectl refuses or takes for the end of a line: write it so, in double quotes`,
      );
    },
  );

  test("a mistake is one line, whatever is in the text that it quotes", async () => {
    expect(await refusals(compute("a", String.raw`"t\n::stop-commands::x\e[31m": x`))).toMatch(
      /^a\.yaml:4: Compute shop\/a: spec\.t ::stop-commands::x \[31m: unknown field: [ -~]*$/,
    );
  });

  test("standard input without a Compute or ComputePool is reported", async () => {
    using stage = new Stage();
    const { err } = await stage.run("plan", ["-f", "-"], connection);
    expect(err).toContain("no Compute, ComputePool or Branch in standard input");
  });

  test("all mistakes are reported at once", async () => {
    const lines = (await refusals(documents(compute("a", "typ: x"), compute("b", "typ: y")))).split("\n");
    expect(lines).toHaveLength(2);
  });

  test("a List is read item by item, with the lines of its items", async () => {
    const item = (name: string) => `- {${compute(name, "typ: x").trim().replaceAll("\n", ", ")}}\n`;
    const text = `apiVersion: v1\nkind: List\nitems:\n${item("a")}${item("b")}`;
    expect(await refusals(text)).toMatch(
      /a\.yaml:4: Compute shop\/a: spec\.typ: .*\n.*a\.yaml:5: Compute shop\/b: spec\.typ: /,
    );
  });
});

describe("files", () => {
  test("a file may begin with a byte order mark, end its lines as Windows does, and be JSON with any character", async () => {
    using stage = new Stage();
    const files = [stage.file("connection.yaml", `\ufeff${connection.replaceAll("\n", "\r\n")}`)];
    const other = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" }, data: { a: "x\u2028\u0085y" } };
    files.push(stage.file("a.json", JSON.stringify(other)), stage.file("b.yaml", compute("a")));
    const run = await stage.run(
      "plan",
      files.flatMap((file) => ["-f", file]),
    );
    expect(run).toMatchObject({ status: 2, err: "" });
  });

  test("a directory is read with all below it; what is not for us is passed over", async () => {
    using stage = new Stage();
    stage.file("all/connection.yaml", connection);
    stage.file("all/deep/a.yml", compute("a"));
    stage.file("all/deep/b.json", JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" } }));
    stage.file("all/seed.yaml", "accounts: []\n");
    stage.file("all/notes.txt", "{ not yaml");
    stage.file("all/.hidden.yaml", "{ not yaml");
    for (const left of ["a.yaml.bak", "a.yml~", "b.json.orig", "yaml"]) stage.file(`all/deep/${left}`, "{ not yaml");
    const run = await stage.run("plan", ["-f", `${stage.directory}/all`]);
    expect(run).toMatchObject({ status: 2, out: expect.stringContaining("Plan: 1 to create.") });
  });

  test("a key with nothing below it, which kubectl apply takes for left out, is left out", async () => {
    using stage = new Stage();
    const text = documents(connection, compute("a", "postgresSettings: , scaleToZero: null, pooler: {mode: }"));
    const run = await stage.run("plan", ["-f", "-"], text);
    expect(run).toMatchObject({ status: 2, out: expect.stringContaining("Plan: 1 to create.") });
  });

  test("a null in metadata, a Secret and a list, which kubectl apply takes for left out, is left out", async () => {
    using stage = new Stage();
    const entry = "{name: a, days: , from: '08:00', to: '19:00', computeUnits: {min: 1, max: 1}}";
    const metadata = "creationTimestamp: null, annotations: , labels: {app: }, finalizers: ~, uid: ~";
    const text = documents(
      connection.replace("namespace: shop}\ntype", "namespace: shop, creationTimestamp: null}\ndata:\ntype"),
      compute("a", `schedule: [${entry}]`, preview, metadata),
    );
    const run = await stage.run("plan", ["-f", "-"], text);
    expect(run).toMatchObject({ status: 2, err: "", out: expect.stringContaining("Plan: 1 to create.") });
  });

  test("the items of a ComputeList, as the API server answers it, need not say what they are", async () => {
    using stage = new Stage();
    const spec = `{projectID: ${project}, branchID: ${preview}, type: read_only}`;
    const items = `- {metadata: {name: a, namespace: shop}, spec: ${spec}}\n- {metadata: {name: b, namespace: shop}, spec: ${spec}}\n`;
    const run = await stage.run(
      "plan",
      ["-f", "-"],
      documents(connection, `${head}kind: ComputeList\nitems:\n${items}`),
    );
    expect(run).toMatchObject({ status: 2, err: "", out: expect.stringContaining("Plan: 2 to create.") });
  });

  test.each(["utf16le", "utf8"] as const)("a file in %s with a byte order mark is read", async (encoding) => {
    using stage = new Stage();
    const path = stage.file("a.yaml", "");
    writeFileSync(path, `\uFEFF${documents(connection, compute("a"))}`, encoding);
    const run = await stage.run("plan", ["-f", path]);
    expect(run).toMatchObject({ status: 2, err: "", out: expect.stringContaining("Plan: 1 to create.") });
  });

  test("several files, and standard input among them, make one whole", async () => {
    using stage = new Stage();
    const args = ["-f", stage.file("c.yaml", connection), "-f", "-"];
    const run = await stage.run("plan", args, documents(compute("a"), compute("b", "type: read_only", preview)));
    expect(run.out).toContain("Plan: 2 to create.");
  });

  test.each([
    ["plan", planCommand],
    ["apply", applyCommand],
  ] as const)("%s that is interrupted while it waits for standard input says so and ends", async (name, command) => {
    using stage = new Stage();
    const said: string[] = [];
    const stdin = new PassThrough();
    stdin.write(connection);
    const ended = command(["-f", "-"], { ...stage.ports("", undefined, (line) => said.push(line)), stdin });
    setImmediate(() => stage.stopping.abort());
    expect(await ended).toBe(1);
    expect(said).toEqual([`compute-operator ${name}: interrupted`]);
  });

  test("a file that is named twice is read once", async () => {
    using stage = new Stage();
    const path = stage.file("a.yaml", documents(connection, compute("a")));
    const once = await stage.run("plan", ["-f", path]);
    expect(await stage.run("plan", ["-f", path, "-f", path])).toEqual(once);
    expect(once).toMatchObject({ status: 2, err: "" });
  });

  test("files that cannot be read are named", async () => {
    using stage = new Stage();
    const run = await stage.run("plan", ["-f", `${stage.directory}/none.yaml`]);
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining("none.yaml cannot be read (ENOENT") });
  });

  test("manifests without a namespace take that of --namespace", async () => {
    using stage = new Stage();
    const text = documents(connection, compute("a")).replaceAll(", namespace: shop", "");
    const path = stage.file("a.yaml", text);
    expect((await stage.run("plan", ["-f", path])).out).toContain("+ default/a");
    expect((await stage.run("plan", ["-f", path, "--namespace", "eu"])).out).toContain("+ eu/a");
  });
});

describe("flags", () => {
  test.each<["plan" | "apply" | "export", string[], string]>([
    ["plan", [], "-f or -k is needed: -f a file, a directory, or - for standard input; -k a kustomization"],
    ["plan", ["-f", "a", "--output", "html"], `--output must be text, json or markdown, not "html"`],
    ["plan", ["-f", "a", "--key", "k"], "--key"],
    [
      "apply",
      ["-f", "a", "--timeout", "soon"],
      `--timeout must be between 1s and 24h, in the units s, m, h and d, for example 1h30m or 1d, not "soon"`,
    ],
    ["plan", ["deploy/samples"], "'deploy/samples' belongs to no flag: manifests are named with -f or -k"],
    ["export", [], "--project is needed: the id of the project; or --all-projects"],
    ["export", ["--project", "p", "--all-projects"], "--project and --all-projects exclude each other"],
    ["export", ["--project", "p", "--organization", "o"], "--organization needs --all-projects"],
    ["export", ["shop"], "'shop' belongs to no flag: the project is named with --project"],
    ["export", ["--project", "p"], "no API key: set the environment variable COMPUTE_OPERATOR_API_KEY"],
  ])("%s %j is refused", async (command, args, message) => {
    using stage = new Stage();
    const run = await stage.run(command, args);
    expect(run).toMatchObject({ status: 1, out: "", err: expect.stringContaining(message) });
  });

  test.each(["plan", "apply", "export"] as const)(
    "%s --help shows them, and where the key comes from",
    async (command) => {
      using stage = new Stage();
      const run = await stage.run(command, ["--help"]);
      expect(run).toMatchObject({ status: 0, out: expect.stringContaining("COMPUTE_OPERATOR_API_KEY") });
    },
  );

  test("a base URL that is none is refused", async () => {
    using stage = new Stage();
    stage.env = { COMPUTE_OPERATOR_API_KEY: "k" };
    const run = await stage.run("export", ["--project", "p", "--base-url", "ftp://x"]);
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining("--base-url must be an http or https URL") });
  });
});
