import { describe, expect, test } from "vitest";
import type { ServiceRequest, ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { setUp } from "./joined.ts";

describe("what kind of key it is", () => {
  test.each([
    ["personal", "api_key_user"],
    ["organization", "api_key_org"],
    ["unknown", "a way of next year"],
  ])("the kind of a key is %s where the service says %s", async (type, auth_method) => {
    const { answers, probed } = setUp();
    answers["/auth"] = () => json(200, { account_id: "acc", auth_method });
    expect((await probed()).state.keyType).toBe(type);
  });

  test("the kind of a key is project once a refusal has named its project", async () => {
    const { answers, probed } = setUp();
    const session = await probed();
    const message =
      'not allowed to perform actions outside the project this key is scoped to; subject_project_id:"shop"';
    answers["/projects/other/endpoints"] = () => refusal(404, message);
    expect((await session.client.listEndpoints("other", session.signal)).kind).toBe("forbidden");
    expect(session.state.keyType).toBe("project");
  });

  test("a key known to be a project's may send ten requests at once", async () => {
    const { answers, probed } = setUp();
    const session = await probed();
    expect(session.budget.available).toBeGreaterThan(10);
    answers["/projects/other/endpoints"] = () => refusal(404, 'not allowed; subject_project_id:"shop"');
    await session.client.listEndpoints("other", session.signal);
    expect(session.budget.available).toBeLessThanOrEqual(10);
  });

  test("the kind of a key is no question of health: a service without /auth is reachable", async () => {
    const { answers, probed } = setUp();
    answers["/auth"] = () => refusal(404, "this route does not exist");
    expect((await probed()).state.health).toEqual({ kind: "reachable" });
  });
});

describe("a project is gone", () => {
  const missing = () => refusal(404, "project not found");
  const others = () => json(200, { projects: [{ id: "other" }] });

  test.each<[string, Record<string, () => ServiceResponse>, string, boolean]>([
    ["404 and a complete list of a personal key lacks it", { "/projects": others }, "api_key_user", true],
    ["… of an organization's key", { "/projects": others }, "api_key_org", true],
    [
      "… that is empty, of an organization's key",
      { "/projects": () => json(200, { projects: [] }) },
      "api_key_org",
      false,
    ],
    ["… of a key of unknown kind", { "/projects": others }, "?", false],
    ["the list holds it", {}, "api_key_user", false],
    [
      "the list holds it and others",
      { "/projects": () => json(200, { projects: [{ id: "other" }, { id: "shop" }] }) },
      "api_key_user",
      false,
    ],
    [
      "the list is partial",
      { "/projects": () => json(200, { projects: [], unavailable_project_ids: ["shop"] }) },
      "api_key_user",
      false,
    ],
    ["the list fails", { "/projects": () => refusal(500) }, "api_key_user", false],
    ["its own GET is refused", { "/projects": others, "/projects/shop": () => refusal(403) }, "api_key_user", false],
    [
      "404 for want of rights",
      { "/projects": others, "/projects/shop": () => refusal(404, "not allowed for organization API keys") },
      "api_key_user",
      false,
    ],
    ["a proxy's 404", { "/projects": others, "/projects/shop": () => json(404, {}) }, "api_key_user", false],
  ])("only where proved: %s", async (_, more, auth_method, gone) => {
    const { answers, probed } = setUp();
    answers["/auth"] = () => json(200, { account_id: "acc", auth_method });
    const session = await probed();
    Object.assign(answers, { "/projects/shop": missing, ...more });
    expect(await session.projectIsGone("shop", session.client)).toBe(gone);
  });

  test("not where the person may no longer see the organization that it was seen to belong to", async () => {
    const { answers, probed } = setUp();
    answers["/projects"] = () => json(200, { projects: [{ id: "shop", org_id: "org-a" }] });
    const session = await probed();
    session.project("shop").use("uid", undefined);
    const left = ({ query }: ServiceRequest) =>
      query?.["org_id"] === "org-a" ? refusal(404, "organization not found") : json(200, { projects: [] });
    Object.assign(answers, { "/projects/shop": missing, "/projects": left });
    expect(await session.projectIsGone("shop", session.client)).toBe(false);
    answers["/projects"] = others;
    expect(await session.projectIsGone("shop", session.client)).toBe(true);
  });
});
