import { z } from "zod";
import type { Answer, Body } from "../support/service.ts";
import { Shop } from "../support/shop.ts";
import { PublicApi } from "./public-api.ts";

/*
 * The Terraform provider kislerdm/neon and its client library are in no registry that this project builds from, so
 * the provider does not run here: these are the requests that its source makes for each resource, in its order. It is
 * written in Go: an attribute that is left out of a resource is sent as an empty string, or as false.
 */

const api = new PublicApi();

const Id = z.looseObject({ id: z.string() });
const Operation = z.looseObject({ status: z.string() });
const Operations = z.looseObject({ operations: z.array(z.looseObject({ id: z.string(), project_id: z.string() })) });
const Connection = z.looseObject({ id: z.string(), host: z.string(), type: z.literal("read_write") });
const Database = z.looseObject({ name: z.string(), owner_name: z.string() });

/** Sends what the provider sends; every answer is one that the public API gives. */
export class TerraformProvider {
  readonly shop: Shop;

  constructor(options: ConstructorParameters<typeof Shop>[0] = {}) {
    this.shop = new Shop(options);
  }

  /** The provider takes these for success. Everything else that it does not expect ends a run of Terraform. */
  ok(line: string, body?: object): Body {
    const answer = this.send(line, body);
    if (![200, 201].includes(answer.status))
      throw new Error(`${line}: ${answer.status} ${String(answer.body["message"])}`);
    return answer.body;
  }

  send(line: string, body?: object): Answer {
    const answer = this.shop.ana(line, body);
    const [method = "", target = ""] = line.split(" ");
    const [path = ""] = target.split("?");
    const problems = answer.status === 204 ? [] : api.problems(method, path, answer.status, answer.body);
    if (problems.length > 0) throw new Error(`${line} is answered as the public API would not: ${problems.join("; ")}`);
    return answer;
  }

  /** A write, and the operations that it set off, each asked for until it is over. */
  write(line: string, body?: object): Body {
    const written = this.ok(line, body);
    const { operations } = Operations.parse({ operations: [], ...written });
    this.shop.finishOperations();
    for (const { id, project_id } of operations) {
      const { status } = Operation.parse(this.ok(`GET /projects/${project_id}/operations/${id}`)["operation"]);
      if (status !== "finished") throw new Error(`${line}: its operation ${id} is ${status}`);
    }
    return written;
  }

  /** What a project's resource and data source read, and what they make of it. */
  readProject(id: string) {
    const read = z.looseObject({ settings: z.looseObject({ allowed_ips: z.looseObject({}) }) });
    const attributes = read.parse(this.ok(`GET /projects/${id}`)["project"]);
    const { branches } = this.ok(`GET /projects/${id}/branches`);
    const list = z.array(Id.extend({ name: z.string(), primary: z.boolean() })).parse(branches);
    const branch = list.find(({ primary }) => primary);
    const path = `/projects/${id}/branches/${branch?.id}`;
    const [endpoint] = z.array(Connection).parse(this.ok(`GET ${path}/endpoints`)["endpoints"]);
    const [database] = z.array(Database).parse(this.ok(`GET ${path}/databases`)["databases"]);
    const role = database?.owner_name;
    const { password } = this.ok(`GET ${path}/roles/${role}/reveal_password`);
    return { attributes, branch, endpoint, database, role, password };
  }
}
