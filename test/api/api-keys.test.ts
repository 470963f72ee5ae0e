import { expect, it } from "vitest";
import { ApiKeyCreate, OrganizationApiKeyCreate } from "../../src/api/api-keys.ts";

it("a key has a name of 1 to 64 characters, and only an organization's can be scoped", () => {
  expect(ApiKeyCreate.safeParse({ key_name: "x".repeat(64) }).success).toBe(true);
  expect(ApiKeyCreate.safeParse({ key_name: "x".repeat(65) }).success).toBe(false);
  expect(ApiKeyCreate.safeParse({ key_name: "x", project_id: "p" }).success).toBe(false);
  expect(OrganizationApiKeyCreate.safeParse({ key_name: "x", project_id: "p" }).success).toBe(true);
});
