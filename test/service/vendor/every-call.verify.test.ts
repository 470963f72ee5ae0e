import * as raw from "@neon/sdk/raw";
import { createApiClient } from "@neondatabase/api-client";
import { describe, expect, it } from "vitest";
import { apiRoutes } from "../../../src/service/http/routes.ts";
import { rulesNames } from "../../../src/service/rules.ts";
import { apiKey, argumentsFor, declaredArguments, withShop } from "./every-call.ts";
import { PublicApi } from "./public-api.ts";

const routes = apiRoutes({ strictSpec: false });
const api = new PublicApi();

/** A call in beta, for which the SDK has no method. */
const notInSdk = "recoverProjectBranch";

/** Calls that are newer than the API client and its OpenAPI file. */
const onlyInSdk = ["listProjectMembers"];
const inClient = routes.filter(({ operationId }) => !onlyInSdk.includes(operationId));

/** The method of a client for an operation: generators write some names in letters of another case. */
function methodFor(methods: object, operationId: string): ((...args: unknown[]) => unknown) | undefined {
  const found = Object.entries(methods).find(([name]) => name.toLowerCase() === operationId.toLowerCase())?.[1];
  return typeof found === "function" ? (...args) => Reflect.apply(found, methods, args) : undefined;
}

describe.each(rulesNames)("every served operation under the rules %s, by its method as declared", (ruled) => {
  it.each(inClient)("@neondatabase/api-client: $operationId", async (route) => {
    await withShop(route, ruled, async (baseURL, call) => {
      const declared = [...declaredArguments()].find(
        ([name]) => name.toLowerCase() === call.operationId.toLowerCase(),
      )?.[1];
      const method = methodFor(createApiClient({ apiKey, baseURL }), call.operationId);
      expect([declared, method]).toEqual([expect.any(Array), expect.any(Function)]);
      const answer = await method?.(...argumentsFor(declared ?? [], call));
      const { status, data } = Object.assign({ status: 0, data: undefined }, answer);
      expect(api.problems(call.method, call.path, status, data)).toEqual([]);
      expect(status).toBe(Number(Object.keys(route.answers)[0]));
    });
  });

  it.each(routes.filter(({ operationId }) => operationId !== notInSdk))("@neon/sdk: $operationId", async (route) => {
    await withShop(route, ruled, async (baseURL, { operationId, method, path, params, query, body }) => {
      let status = 0;
      const client = raw.createClient({ baseUrl: baseURL, headers: { Authorization: `Bearer ${apiKey}` } });
      client.interceptors.response.use((response: Response) => {
        status = response.status;
        return response;
      });
      const call = methodFor(raw, operationId);
      expect(call).toBeDefined();
      const data = await call?.({ client, path: params, query, body, throwOnError: true });
      const problems = onlyInSdk.includes(operationId) ? [] : api.problems(method, path, status, data);
      expect(problems).toEqual([]);
      expect(status).toBe(Number(Object.keys(route.answers)[0]));
    });
  });

  it(`@neon/sdk has no method for ${notInSdk}`, () => {
    expect(methodFor(raw, notInSdk)).toBeUndefined();
  });
});
