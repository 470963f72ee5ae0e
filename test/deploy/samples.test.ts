import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { parseBranch } from "../../src/operator/resources/branch.ts";
import { parseCompute } from "../../src/operator/resources/compute.ts";
import { parseComputePool } from "../../src/operator/resources/compute-pool.ts";
import { brokenWhenWritten } from "../../src/operator/resources/compute-spec.ts";
import { inForce, windowsOf } from "../../src/operator/resources/effective-spec.ts";
import { API_KEY_SECRET_TYPE } from "../../src/operator/resources/names.ts";
import { parseServiceConnection } from "../../src/operator/resources/service-connection.ts";

const read = (file: string): string => readFileSync(`deploy/samples/${file}`, "utf8");
const { resources }: { resources: string[] } = parse(read("kustomization.yaml"));
const objects = resources.flatMap((file) => parseAllDocuments(read(file)).map((document) => document.toJS()));
const ofKind = (kind: string) => objects.filter((object) => object.kind === kind);
const specOf = <T>(parsed: { ok: true; value: { spec: T } } | { ok: false; problem: string }): T => {
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value.spec;
};

describe("the samples", () => {
  test("the shop with office hours is a valid manifest of the sample's own compute", () => {
    const [own] = ofKind("Compute");
    const parsed = parseCompute(parse(read("office-hours/compute.yaml")));
    const spec = specOf(parsed);
    expect(brokenWhenWritten(spec)).toEqual([]);
    expect(spec).toMatchObject(own.spec);
    expect(inForce(spec.schedule ?? [], Date.parse("2026-11-27T12:00:00Z")).entry?.name).toBe("office");
    expect(windowsOf(spec, undefined)).toHaveLength(1);
  });

  test("the samples are valid manifests, one of each kind at least", () => {
    const parsed = [
      ...ofKind("Compute").map(parseCompute),
      ...ofKind("ServiceConnection").map(parseServiceConnection),
      ...ofKind("ComputePool").map(parseComputePool),
      ...ofKind("Branch").map(parseBranch),
    ];
    expect(parsed.filter(({ ok }) => !ok)).toEqual([]);
    expect(new Set(objects.map(({ kind }) => kind))).toEqual(
      new Set(["Namespace", "Secret", "ServiceConnection", "Compute", "ComputePool", "Branch"]),
    );
  });

  test("reach the service with a key that the seed gives it", () => {
    const [secret] = ofKind("Secret");
    const { apiKeySecretRef } = specOf(parseServiceConnection(ofKind("ServiceConnection")[0]));
    expect(secret).toMatchObject({ metadata: { name: apiKeySecretRef.name }, type: API_KEY_SECRET_TYPE });
    expect(read("service-seed.yaml")).toContain(`key: ${secret.stringData[apiKeySecretRef.key]}`);
  });

  test("begin with the compute that docs/cli.md shows, for who follows that page", () => {
    const seed: { projects: { endpoints: { id?: string }[] }[] } = parse(read("service-seed.yaml"));
    const ids = seed.projects.flatMap(({ endpoints }) => endpoints.map(({ id = "" }) => id));
    expect(ids).toHaveLength(1);
    expect(readFileSync("docs/cli.md", "utf8")).toContain(`adopts ${ids[0]}:`);
  });

  test("name only projects and branches that the seed has", () => {
    const seed: { projects: { id: string; branches: { id: string; name: string }[] }[] } = parse(
      read("service-seed.yaml"),
    );
    const known = seed.projects.flatMap(({ id, branches }) =>
      branches.flatMap(({ id: branch, name }) => [`${id}/${branch}`, `${id}/${name}`]),
    );
    const computes = ofKind("Compute").map((object) => specOf(parseCompute(object)));
    const templates = ofKind("ComputePool").map((object) => specOf(parseComputePool(object)).template);
    for (const { projectID, branchID, branchName } of [...computes, ...templates])
      expect(known).toContain(`${projectID}/${branchID ?? branchName}`);
  });
});
