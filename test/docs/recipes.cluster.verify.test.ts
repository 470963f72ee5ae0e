import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import { API_KEY_SECRET_TYPE } from "../../src/operator/resources/names.ts";
import { parseServiceConnection } from "../../src/operator/resources/service-connection.ts";
import { createNamespace, kindsServed, kubectl, tryKubectl } from "../control-plane/shared-control-plane.ts";
import { runProgram } from "../support/run-program.ts";
import { blocksOf } from "./blocks.ts";

// The recipes of docs/gitops.md for the API key, against the definition of External Secrets as it is published.

const externalSecrets = {
  module: "github.com/external-secrets/external-secrets@v1.3.2",
  sum: "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ=",
  definition: "config/crds/bases/external-secrets.io_externalsecrets.yaml",
};

const recipes: unknown[] = blocksOf("docs/gitops.md", "yaml").flatMap((block) =>
  parseAllDocuments(block).map((document) => document.toJS()),
);

/** The one recipe of this shape. */
function recipe<T>(shape: z.ZodType<T>): T {
  const found = recipes.flatMap((each) => shape.safeParse(each).data ?? []);
  expect(found).toHaveLength(1);
  return shape.parse(found[0]);
}

const externalSecret = z.looseObject({
  kind: z.literal("ExternalSecret"),
  metadata: z.looseObject({}),
  spec: z.looseObject({
    target: z.looseObject({ name: z.string(), template: z.looseObject({ type: z.string() }) }),
    data: z.array(z.looseObject({ secretKey: z.string() })),
  }),
});
const secret = z.looseObject({
  kind: z.literal("Secret"),
  metadata: z.looseObject({ name: z.string() }),
  type: z.string(),
  stringData: z.record(z.string(), z.string()),
});
const sopsRules = z.strictObject({
  creation_rules: z.tuple([
    z.strictObject({ path_regex: z.string(), encrypted_regex: z.string(), age: z.string().startsWith("age1") }),
  ]),
});

/** The Secret, its key and its type as the connection of the samples reads them. */
function wanted() {
  const documents = parseAllDocuments(readFileSync("deploy/samples/connection.yaml", "utf8"));
  const connection = documents.map((document) => document.toJS()).find(({ kind }) => kind === "ServiceConnection");
  const parsed = parseServiceConnection(connection);
  if (!parsed.ok) throw new Error(parsed.problem);
  const { name, key } = parsed.value.spec.apiKeySecretRef;
  return { name, key, type: API_KEY_SECRET_TYPE };
}

describe("External Secrets", () => {
  let namespace = "";
  beforeAll(async () => {
    const { status, stdout, stderr } = await runProgram("go", ["mod", "download", "-json", externalSecrets.module]);
    if (status !== 0) throw new Error(`The definition of ExternalSecret cannot be downloaded: ${stdout}${stderr}`);
    const { Dir, Sum } = z.object({ Dir: z.string(), Sum: z.string() }).parse(JSON.parse(stdout));
    if (Sum !== externalSecrets.sum)
      throw new Error(`${externalSecrets.module} has another content than before: ${Sum}`);
    await kubectl(["apply", "--server-side", "-f", join(Dir, externalSecrets.definition)]);
    await kindsServed();
    namespace = await createNamespace("recipes");
  });

  const tried = (manifest: object) =>
    tryKubectl(["apply", "--dry-run=server", "-f", "-"], { input: stringify(manifest) });

  it("takes the recipe, and refuses it with a field that it does not know", async () => {
    const given = recipe(externalSecret);
    const manifest = { ...given, metadata: { ...given.metadata, namespace } };
    expect(await tried(manifest)).toMatchObject({ status: 0, stderr: "" });
    const misspelt = { ...manifest, spec: { ...manifest.spec, targets: manifest.spec.target } };
    expect((await tried(misspelt)).stderr).toContain('unknown field "spec.targets"');
  });

  it("writes by it the Secret that the connection of the samples reads", () => {
    const { target, data } = recipe(externalSecret).spec;
    const written = { name: target.name, key: data[0]?.secretKey, type: target.template.type };
    expect(written).toEqual(wanted());
  });
});

describe("SOPS", () => {
  it("SOPS is given the Secret that the connection of the samples reads", () => {
    const { metadata, type, stringData } = recipe(secret);
    expect({ name: metadata.name, key: Object.keys(stringData)[0], type }).toEqual(wanted());
  });

  it("encrypts the key and nothing that Kubernetes or the operator must read", () => {
    const [rule] = recipe(sopsRules).creation_rules;
    const encrypted = Object.keys(recipe(secret)).filter((field) => new RegExp(rule.encrypted_regex).test(field));
    expect(encrypted).toEqual(["stringData"]);
    const page = readFileSync("docs/gitops.md", "utf8");
    const [, path = ""] = /Write the key into `([^`]+)`/.exec(page) ?? [];
    expect(path).toMatch(new RegExp(rule.path_regex));
  });

  it("the Kustomization of the page decrypts with SOPS", () => {
    const decrypting = z.looseObject({
      kind: z.literal("Kustomization"),
      spec: z.looseObject({ decryption: z.looseObject({ provider: z.literal("sops") }), path: z.literal("./shop") }),
    });
    expect(recipe(decrypting).kind).toBe("Kustomization");
  });
});
