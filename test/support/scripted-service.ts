import type { Clock } from "../../src/operator/runtime/clock.ts";
import { ApiKey } from "../../src/operator/service-client/account.ts";
import { type BudgetLimits, RequestBudget } from "../../src/operator/service-client/budget.ts";
import { ServiceClient, type ServiceClientOptions } from "../../src/operator/service-client/client.ts";
import type { ServiceRequest, ServiceResponse, ServiceTransport } from "../../src/operator/service-client/transport.ts";

/** What a request meets: an answer, none (throw `NoResponseError`), or one that comes later. */
export type Script = (request: ServiceRequest) => ServiceResponse | Promise<ServiceResponse>;

/** A service that answers as a test says and remembers what it was asked. */
export class ScriptedService implements ServiceTransport {
  readonly requests: ServiceRequest[] = [];
  script: Script;

  constructor(script: Script = () => json(200, { endpoints: [] })) {
    this.script = script;
  }

  async send(request: ServiceRequest): Promise<ServiceResponse> {
    this.requests.push(request);
    return this.script(request);
  }

  /** What was asked, e.g. `GET /projects`. */
  get asked(): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  count(text: string): number {
    return this.asked.filter((line) => line.includes(text)).length;
  }
}

export function json(status: number, body: unknown, more: Partial<ServiceResponse> = {}): ServiceResponse {
  return { status, body, json: true, ...more };
}

/** The service's own refusal. */
export function refusal(status: number, message = "no", code = ""): ServiceResponse {
  return json(status, { code, message });
}

export const key = new ApiKey("a-key-of-a-test");

/** A client of this service, with budget enough for any test. */
export function clientOf(
  service: ServiceTransport,
  clock: Clock,
  options: Partial<ServiceClientOptions> & { limits?: BudgetLimits } = {},
): ServiceClient {
  const { limits = { perMinute: 1_000_000, burst: 1_000_000 }, ...rest } = options;
  return new ServiceClient({
    account: { baseURL: "https://service/api/v2", key },
    transport: service,
    budget: new RequestBudget(clock, limits),
    clock,
    beforeWrite: () => {},
    ...rest,
  });
}
