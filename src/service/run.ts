import type { Random, ServiceClock } from "./clock.ts";
import { createApp, type Listening, listen } from "./http/server.ts";
import type { Ids } from "./ids.ts";
import type { ServiceOptions } from "./options.ts";
import type { Seed } from "./seed/document.ts";
import { readSeed } from "./seed/file.ts";
import { plantFirstAccount } from "./seed/first.ts";
import { BadSeed, plant } from "./seed/plant.ts";
import { apiRoot, createService, type Service } from "./service.ts";
import { StoreUnusable } from "./store/database.ts";
import { Store } from "./store/store.ts";

/** How to run the service as a process. */
export interface RunOptions extends Pick<ServiceOptions, "timeScale" | "strictSpec" | "faults"> {
  host: string;
  port: number;
  /** The SQLite file, or `:memory:`. */
  data: string;
  /** The seed file, where there is one. */
  seed: string | undefined;
}

/** What a running service takes from the process and gives back to it. */
export interface RunPorts {
  clock: ServiceClock;
  random: Random;
  ids: Ids;
  /** Writes one line. */
  stdout(line: string): void;
  stderr(line: string): void;
  /** Aborted when the process should end. */
  signal: AbortSignal;
}

/** Runs the service until the signal aborts; answers the exit status. */
export async function runService(options: RunOptions, ports: RunPorts): Promise<number> {
  let service: Service | undefined;
  let listening: Listening | undefined;
  try {
    const document = options.seed === undefined ? undefined : readSeed(options.seed);
    service = make(options, ports);
    // Before anything is made: where it cannot listen, the first key is not shown, and so not lost either.
    listening = await listen(createApp(service), options).catch((error: unknown) => {
      throw new CannotListen(options, error);
    });
    const firstKey = furnish(service, options.seed, document);
    const stopTimers = keepTime(service);
    const origin = `http://${bracketed(options.host)}:${listening.port}`;
    if (firstKey !== undefined) ports.stdout(`API key (shown once): ${firstKey}`);
    ports.stdout(`Listening on ${origin}${apiRoot}`);
    ports.stdout(`Console: ${origin}/`);
    await aborted(ports.signal);
    stopTimers();
    return 0;
  } catch (error) {
    const foreseen = error instanceof StoreUnusable || error instanceof BadSeed || error instanceof CannotListen;
    if (!foreseen) throw error;
    ports.stderr(`compute-operator service: ${error.message}`);
    return 1;
  } finally {
    await listening?.close();
    service?.close();
  }
}

function make({ data, timeScale, strictSpec, faults }: RunOptions, ports: RunPorts): Service {
  const { clock, random, ids } = ports;
  return createService({
    clock,
    random,
    ids,
    store: Store.open(data),
    options: { timeScale, strictSpec, faults },
    onError: (error) => ports.stderr(`internal error: ${error instanceof Error ? error.stack : String(error)}`),
  });
}

/** Makes what the seed names, or where there is none and nothing else the first account; answers its key. */
function furnish(service: Service, file: string | undefined, document: Seed | undefined): string | undefined {
  if (document) plantFrom(file ?? "", document, service);
  else if (service.world.store.accounts.all().length === 0) return service.change(plantFirstAccount);
  return undefined;
}

/** Nothing of a seed is planted where something in it cannot be. */
function plantFrom(file: string, document: Seed, service: Service): void {
  try {
    service.change((world, at) => plant(world, document, at));
  } catch (error) {
    throw error instanceof BadSeed ? new BadSeed(`${file}: ${error.message}`, { cause: error }) : error;
  }
}

/** The longest that Node's timers can wait, in milliseconds. */
const longestWait = 2 ** 31 - 1;

/** How long to wait after a mistake of our own before the timers are looked at again, in milliseconds. */
const retryMs = 1000;

/** Lets things happen when they are due, also while nobody calls, so that the store is never far behind. */
function keepTime(service: Service): () => void {
  const { clock } = service.world;
  let cancel = () => {};
  const wait = () => {
    cancel();
    const due = service.nextDue();
    if (due === undefined) return;
    cancel = clock.after(Math.min(longestWait, Math.max(0, due - clock.now())), () => {
      try {
        service.settle();
        wait();
      } catch (error) {
        service.internalError(error);
        cancel = clock.after(retryMs, wait);
      }
    });
  };
  service.onChange(wait);
  wait();
  return () => {
    service.onChange(() => {});
    cancel();
  };
}

class CannotListen extends Error {
  override name = "CannotListen";

  constructor({ host, port }: RunOptions, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`cannot listen on ${host}, port ${port}: ${why}. Choose others with --host and --port.`, { cause });
  }
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
