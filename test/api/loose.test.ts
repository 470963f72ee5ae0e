import { describe, expect, it, test } from "vitest";
import { ApiKeyCreated, ApiKeysAnswer } from "../../src/api/api-keys.ts";
import { AuthAnswer } from "../../src/api/auth.ts";
import { BranchesAnswer } from "../../src/api/branch.ts";
import { EndpointAnswer, EndpointsAnswer } from "../../src/api/endpoint.ts";
import { ErrorBody } from "../../src/api/error.ts";
import { OperationsAnswer, operationOutcome } from "../../src/api/operation.ts";
import { ProjectsAnswer } from "../../src/api/project.ts";

const bare = { id: "ep-a", project_id: "p", branch_id: "br-a", type: "read_write", current_state: "idle" };

describe("answers are read loosely", () => {
  it("an endpoint of the specification alone is enough", () => {
    expect(EndpointsAnswer.parse({ endpoints: [bare] }).endpoints).toEqual([bare]);
  });

  it("unknown fields pass and are kept", () => {
    const parsed = EndpointsAnswer.parse({ endpoints: [{ ...bare, mood: "sunny" }], more: 1 });
    expect(parsed.endpoints[0]?.["mood"]).toBe("sunny");
    expect(parsed["more"]).toBe(1);
  });

  it("unknown values of type, state and operation status pass", () => {
    const parsed = EndpointAnswer.parse({
      endpoint: { ...bare, type: "read_mostly", current_state: "hibernating", pending_state: "melting" },
      operations: [{ id: "o", action: "paint_compute", status: "pondering" }],
    });
    expect(parsed.endpoint.current_state).toBe("hibernating");
    expect(operationOutcome(parsed.operations?.[0]?.status ?? "")).toBe("in-progress");
  });

  it("a null field reads as absent", () => {
    const parsed = EndpointsAnswer.parse({ endpoints: [{ ...bare, pending_state: null, last_active: null }] });
    expect(parsed.endpoints).toEqual([bare]);
  });

  it("a null cursor, with which many services end their last page, reads as absent", () => {
    const pagination = { cursor: null, next: null };
    expect(ProjectsAnswer.parse({ projects: [], pagination }).pagination?.cursor).toBeUndefined();
    expect(OperationsAnswer.parse({ operations: [], pagination }).pagination?.cursor).toBeUndefined();
    expect(BranchesAnswer.parse({ branches: [], pagination }).pagination?.next).toBeUndefined();
  });

  const long = "x".repeat(10_000);
  test.each<[string, object, readonly string[], object]>([
    ["a name of ten thousand characters", { name: long }, ["name"], {}],
    ["a name that is an object", { name: {} }, ["name"], {}],
    ["a state that is a number", { current_state: 7 }, ["current_state"], { current_state: undefined }],
    ["settings that are a text", { settings: "none" }, ["settings"], {}],
    [
      "two settings of three",
      { settings: { pg_settings: { a: 1, b: "2", c: long, d: null }, more: 1 } },
      ["settings.pg_settings.a", "settings.pg_settings.c"],
      { settings: { pg_settings: { b: "2" }, more: 1 } },
    ],
    [
      "libraries that are a list",
      { settings: { preload_libraries: [] } },
      ["settings.preload_libraries"],
      { settings: {} },
    ],
    ["a time in words", { suspend_timeout_seconds: "300" }, ["suspend_timeout_seconds"], {}],
    ["nothing, whatever the service says of it", { unreadable: ["name"] }, [], {}],
  ])("an unreadable part of one endpoint in a list is left out: %s", (_, odd, unreadable, left) => {
    const [first, second] = EndpointsAnswer.parse({ endpoints: [bare, { ...bare, id: "ep-b", ...odd }] }).endpoints;
    expect(first).toEqual(bare);
    const reported = unreadable.length === 0 ? {} : { unreadable };
    expect(second).toEqual({ ...bare, id: "ep-b", ...left, ...reported });
  });

  it("an unreadable part of one operation or project in a list is left out", () => {
    const operation = { id: "o", action: "start_compute", status: "running" };
    const operations = [operation, { ...operation, failures_count: "none", created_at: 7 }];
    expect(OperationsAnswer.parse({ operations, pagination: { cursor: 7 } }).operations).toEqual([
      operation,
      { ...operation, unreadable: ["created_at", "failures_count"] },
    ]);
    const projects = [{ id: "p" }, { id: "q", name: long, pg_version: "17" }];
    expect(ProjectsAnswer.parse({ projects }).projects).toEqual([
      { id: "p" },
      { id: "q", unreadable: ["name", "pg_version"] },
    ]);
  });

  it("an answer whose operations cannot be read still tells the endpoint", () => {
    const answer = { endpoint: bare, operations: [{ id: "o" }] };
    expect(EndpointAnswer.parse(answer)).toEqual({ endpoint: bare, unreadable: ["operations"] });
    expect(EndpointAnswer.safeParse({ operations: [] }).success).toBe(false);
  });

  test.each([
    ["without an endpoints array", {}],
    ["with null for the array", { endpoints: null }],
    ["with an item without id", { endpoints: [bare, { ...bare, id: undefined }] }],
    ["with an item of no branch that can be read", { endpoints: [bare, { ...bare, branch_id: 7 }] }],
    ["with an item with an empty id", { endpoints: [{ ...bare, id: "" }] }],
    ["with an item cut off", { endpoints: [{ id: "ep-a" }] }],
    ["that is an error body", { code: "", message: "no" }],
    ["that is a string", "<html>"],
  ])("a list %s is not a list", (_, body) => {
    expect(EndpointsAnswer.safeParse(body).success).toBe(false);
  });

  it("projects, branches, operations, keys and auth are read as they come", () => {
    expect(ProjectsAnswer.parse({ projects: [{ id: "p" }], pagination: { cursor: "c" } }).pagination?.cursor).toBe("c");
    expect(BranchesAnswer.parse({ branches: [{ id: "br-a" }] }).branches).toHaveLength(1);
    expect(OperationsAnswer.parse({ operations: [] }).operations).toEqual([]);
    expect(AuthAnswer.parse({ account_id: "a", auth_method: "oauth" }).auth_method).toBe("oauth");
    const key = { id: 7, name: "ci", created_at: "2026-01-01T00:00:00Z", created_by: { id: "u" } };
    expect(ApiKeysAnswer.parse([{ ...key, last_used_at: null }])).toEqual([key]);
    expect(ApiKeyCreated.parse({ ...key, key: "secret", created_by: "u" }).key).toBe("secret");
  });

  it("a foreign body is not the service's error", () => {
    expect(ErrorBody.safeParse({ error: "bad gateway" }).success).toBe(false);
    expect(ErrorBody.parse({ code: "", message: "branch not found" }).request_id).toBeUndefined();
  });
});
