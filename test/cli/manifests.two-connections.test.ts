import { expect, test } from "vitest";
import { keys, main, preview, project } from "../service/support/shop.ts";
import { newAuthority } from "../support/authority.ts";
import { Stage } from "./command-stage.ts";
import { baseURL, compute, documents } from "./texts.ts";

const secret = `apiVersion: v1
kind: Secret
metadata: {name: service-api-key, namespace: shop}
type: compute-operator.dev/api-key
stringData: {api-key: ${keys.shop}}
`;
const connection = (name: string, allowed: string, more = "") => `apiVersion: compute-operator.dev/v1alpha1
kind: ServiceConnection
metadata: {name: ${name}, namespace: shop}
spec: {baseURL: "${baseURL}", apiKeySecretRef: {name: service-api-key}, allowedProjects: [${allowed}]${more}}
`;
const through = (name: string) => `connectionRef: {name: ${name}}`;

test.each([
  ["that allows the project first", ["wide", "narrow"]],
  ["that does not first", ["narrow", "wide"]],
])("each of two connections with one key allows its own projects, the one %s", async (_, [first = "", second = ""]) => {
  using stage = new Stage();
  const branches: Record<string, string> = { wide: preview, narrow: main };
  const text = documents(
    secret,
    connection("wide", project),
    connection("narrow", "another-project"),
    ...[first, second].map((name) => compute(`through-${name}`, `${through(name)}, type: read_only`, branches[name])),
  );
  const run = await stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes"]);
  expect(run.out).toMatch(/\+ shop\/through-wide +create/);
  expect(run.out).toMatch(
    new RegExp(`shop/through-narrow .*ServiceConnection "narrow" does not allow project ${project}`),
  );
  expect(stage.writes.map(({ body }) => body)).toEqual([
    { endpoint: expect.objectContaining({ branch_id: preview, type: "read_only" }) },
  ]);
});

test("each of two connections with one key is called with its own certificate authority", async () => {
  using stage = new Stage();
  const { certificate } = await newAuthority();
  const bundles = new Set<unknown>();
  stage.rewrite = ({ caBundle }, response) => {
    bundles.add(caBundle);
    return response;
  };
  const text = documents(
    secret,
    connection("public", project),
    connection("private", project, `, caBundle: ${JSON.stringify(certificate)}`),
    ...["public", "private"].map((name) => compute(`through-${name}`, `${through(name)}, type: read_only`)),
  );
  await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
  expect(bundles).toEqual(new Set([undefined, certificate]));
});

test("two connections with one key keep to the lower of their request budgets", async () => {
  using stage = new Stage();
  const sentAt: number[] = [];
  stage.fate = () => {
    sentAt.push(stage.time.now());
    return "answered";
  };
  const text = documents(
    secret,
    connection("wide", project),
    connection("narrow", project, ", requestBudget: {perMinute: 6, burst: 1}"),
    ...["wide", "narrow"].map((name) => compute(`through-${name}`, `${through(name)}, type: read_only`)),
  );
  await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
  expect(sentAt.map((time) => time - (sentAt[0] ?? 0))).toEqual([0, 10_000, 20_000, 30_000]);
});
