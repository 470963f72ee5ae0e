import { Agent, request } from "undici";
import { z } from "zod";

const endpoint = z.object({
  id: z.string(),
  current_state: z.string(),
  pending_state: z.string().optional(),
  autoscaling_limit_min_cu: z.number(),
  autoscaling_limit_max_cu: z.number(),
});
type Endpoint = z.infer<typeof endpoint>;

/** The service's calls, one request each. */
export class Service {
  readonly #baseURL: string;
  readonly #key: string;
  readonly #agent = new Agent({ connections: 16 });

  constructor(baseURL: string, key: string) {
    this.#baseURL = baseURL;
    this.#key = key;
  }

  create(project: string, fields: object): Promise<Endpoint> {
    return this.#endpoint("POST", `/projects/${project}/endpoints`, { endpoint: fields });
  }

  get(project: string, id: string): Promise<Endpoint> {
    return this.#endpoint("GET", `/projects/${project}/endpoints/${id}`);
  }

  patch(project: string, id: string, fields: object): Promise<Endpoint> {
    return this.#endpoint("PATCH", `/projects/${project}/endpoints/${id}`, { endpoint: fields });
  }

  async delete(project: string, id: string): Promise<void> {
    await this.#call("DELETE", `/projects/${project}/endpoints/${id}`);
  }

  async #endpoint(method: "GET" | "POST" | "PATCH", path: string, body?: object): Promise<Endpoint> {
    return z.object({ endpoint }).parse(JSON.parse(await this.#call(method, path, body))).endpoint;
  }

  async #call(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: object): Promise<string> {
    const answer = await request(this.#baseURL + path, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return text;
  }
}
