import { readFileSync, rmSync } from "node:fs";
import { createConnection, createServer, type Server } from "node:net";
import { join } from "node:path";
import type { GuardedServer } from "../../../../src/service/postgres/host/processes.ts";

interface Machine {
  /** The poolers that run. */
  readonly poolers: Set<GuardedServer>;
  /** Time that a program takes to stop, in milliseconds. */
  readonly stopMs: number;
}

/** A pooler that carries bytes to the server that its configuration names, each client on a connection of its own. */
export class FakePooler implements GuardedServer {
  readonly ended: Promise<number | null>;
  readonly #machine: Machine;
  readonly #listening: Server;
  readonly #path: string;
  readonly #end = Promise.withResolvers<number | null>();

  constructor(machine: Machine, ini: string) {
    const text = readFileSync(ini, "utf8");
    const valueOf = (name: string) => new RegExp(`\\b${name} ?= ?(\\S+)`).exec(text)?.[1] ?? "";
    const server = join(valueOf("host"), `.s.PGSQL.${valueOf("port")}`);
    this.#machine = machine;
    this.ended = this.#end.promise;
    this.#path = join(valueOf("unix_socket_dir"), `.s.PGSQL.${valueOf("listen_port")}`);
    this.#listening = createServer((client) => {
      const behind = createConnection(server);
      client.on("error", () => behind.destroy()).on("close", () => behind.destroy());
      behind.on("error", () => client.destroy()).on("close", () => client.destroy());
      client.pipe(behind).pipe(client);
    }).listen(this.#path);
    machine.poolers.add(this);
  }

  stop(): void {
    setTimeout(() => this.#over(), this.#machine.stopMs);
  }

  #over(): void {
    if (!this.#machine.poolers.delete(this)) return;
    this.#listening.close();
    rmSync(this.#path, { force: true });
    this.#end.resolve(0);
  }
}
