import { expect, test } from "vitest";
import type { KeyType } from "../../../src/operator/connection/connection-state.ts";
import { projectIsGone } from "../../../src/operator/connection/probe.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const others = { projects: [{ id: "blog" }] };
const shop = { id: "shop" };

test.each<[string, KeyType, number, object, boolean]>([
  ["a personal key whose list lacks it", "personal", 404, others, true],
  ["a personal key whose list is empty", "personal", 404, { projects: [] }, true],
  ["a personal key whose list has it", "personal", 404, { projects: [shop] }, false],
  ["a personal key whose list has gaps", "personal", 404, { ...others, unavailable_project_ids: ["x"] }, false],
  ["a personal key that is shown it", "personal", 200, others, false],
  ["a personal key to which it is forbidden", "personal", 403, others, false],
  ["a key of an organization whose list lacks it", "organization", 404, others, true],
  ["a key of an organization whose list is empty", "organization", 404, { projects: [] }, false],
  ["a key of a project", "project", 404, others, false],
  ["a key of a kind that is not known", "unknown", 404, others, false],
])("a project is proved to be gone by what %s shows, or is not", async (_, keyType, status, list, isGone) => {
  const service = new ScriptedService(({ path }) => {
    if (path === "/projects") return json(200, list);
    return status === 200 ? json(200, { project: shop }) : refusal(status);
  });
  const { signal } = new AbortController();
  const client = clientOf(service, new VirtualClock());
  expect(await projectIsGone("shop", { client, signal, keyType, organizationID: "org-1" })).toBe(isGone);
  const [single, listed] = service.requests;
  expect(single?.path).toBe("/projects/shop");
  expect(listed === undefined || listed.query?.["org_id"] === "org-1").toBe(true);
});

test("a project is not taken for gone where its list fails", async () => {
  const service = new ScriptedService(({ path }) => (path === "/projects" ? refusal(500) : refusal(404)));
  const { signal } = new AbortController();
  const client = clientOf(service, new VirtualClock());
  expect(await projectIsGone("shop", { client, signal, keyType: "personal", organizationID: undefined })).toBe(false);
});
