import { type Aviary, type Bird, birds, birdsFor, dodo, type Named } from "./aviary.ts";

/** Somebody who calls, and how far that should reach. */
export interface Caller {
  name: string;
  /** The bird whose key or account it is. */
  as: Bird;
  /** The birds that it may be told of. */
  sees: readonly Bird[];
  /** The birds that it may change something of. */
  changes: readonly Bird[];
  /** What has happened before, as to its membership. */
  before?: (aviary: Aviary) => unknown;
}

/** One way to call, such as `GET /projects/{project_id}`, and what is sent; parameters are in braces or behind `@`. */
export interface Way {
  method: string;
  path: string;
  /** The query, with its question mark, the body or the form. */
  input?: string | object | undefined;
  /** The branch that a path names. */
  branch: string;
}

/** An answer as it is judged. */
export interface Judged {
  status: number;
  text: string;
}

export type Send = (
  aviary: Aviary,
  caller: Caller,
  call: { line: string; input: string; body: object | undefined },
) => Judged;

type Assigned = readonly (readonly [parameter: string, bird: Named])[];

/**
 * Every mix of birds: the first parameter of a path of one, all others of another; where these agree, mixed in what is
 * sent.
 */
function* mixes(way: Way): Generator<Assigned> {
  const [first, ...rest] = parametersIn(way.path);
  const sent = parametersIn(JSON.stringify(way.input ?? ""));
  const all = (names: readonly string[], bird: Named): Assigned => names.map((name) => [name, within(name, bird)]);
  for (const one of first === undefined ? [dodo] : birdsFor(first)) {
    const path: Assigned = first === undefined ? [] : [[first, one]];
    for (const other of rest.length === 0 ? [one] : birdsFor(rest[0] ?? "")) {
      const isMixed = rest.length > 0 && first === "project_id" && one !== other;
      const [lead = ""] = sent;
      for (const third of isMixed || sent.length === 0 ? [one] : birdsFor(lead)) {
        for (const last of sent.length > 1 && !isMixed ? birdsFor(sent[1] ?? "") : [third]) {
          yield [...path, ...all(rest, other), ...all(sent.slice(0, 1), third), ...all(sent.slice(1), last)];
        }
      }
    }
  }
}

/** A bird, where a parameter can name something of it; else the one of which there is nothing. */
function within(parameter: string, bird: Named): Named {
  return birdsFor(parameter).includes(bird) ? bird : dodo;
}

const parameter = /\{([a-z_]+)\}|@([a-z]+_(?:id|name))/g;

function parametersIn(text: string): string[] {
  return [...text.matchAll(parameter)].map(([, braced, marked]) => braced ?? marked ?? "");
}

interface Parts {
  caller: Caller;
  send: Send;
  fresh: () => Aviary;
  among?: readonly Named[] | undefined;
}

/** How far somebody reaches by some ways: what each answer tells or changes of what it should not. */
export class Reach {
  calls = 0;
  readonly found: string[] = [];
  readonly #caller: Caller;
  readonly #send: Send;
  readonly #fresh: () => Aviary;
  readonly #pristine: ReadonlyMap<Bird, string>;
  readonly #among: readonly Named[] | undefined;
  #aviary: Aviary;

  /** `among`: the birds of which things are named; absent for all. */
  constructor({ caller, send, fresh, among }: Parts) {
    this.#caller = caller;
    this.#send = send;
    this.#fresh = fresh;
    this.#among = among;
    this.#aviary = fresh();
    this.#pristine = this.#aviary.stored();
  }

  /** Calls in each mix of birds, and as often with what is not there in place of what is out of reach. */
  try(way: Way): void {
    for (const assigned of mixes(way)) {
      if (assigned.some(([, bird]) => this.#among?.includes(bird) === false)) continue;
      const answer = this.#judged(way, assigned);
      const isForeign = (bird: Named) => bird !== dodo && !this.#caller.sees.includes(bird);
      if (!assigned.some(([, bird]) => isForeign(bird))) continue;
      const absent = this.#judged(
        way,
        assigned.map(([name, bird]) => [name, isForeign(bird) ? dodo : bird]),
      );
      if (answer.status === absent.status && answer.text === absent.text) continue;
      this.#say(way, assigned, `${JSON.stringify(answer)} differs from what is not there: ${JSON.stringify(absent)}`);
    }
  }

  /** An answer without what was asked for in it. */
  #judged(way: Way, assigned: Assigned): Judged {
    const { sees, changes } = this.#caller;
    const aviary = this.#aviary;
    const values = assigned.map(([name, bird]) => aviary.idOf(name, bird, way.branch));
    let taken = 0;
    const filled = (text: string) => text.replaceAll(parameter, () => values[taken++] ?? "");
    const line = `${way.method} ${filled(way.path)}`;
    const input = filled(typeof way.input === "object" ? JSON.stringify(way.input) : (way.input ?? ""));
    const body: object | undefined = typeof way.input === "object" ? JSON.parse(input) : undefined;
    const { status, text } = this.#send(aviary, this.#caller, { line, input: body ? "" : input, body });
    this.calls += 1;
    if (status >= 500) this.#say(way, assigned, `answered ${status}`);
    // The numbers of keys are not told of again, and are parts of others.
    const asked = values.filter((id) => !/^[0-9]+$/.test(id)).toSorted((one, other) => other.length - one.length);
    const told = asked.reduce((rest, id) => rest.replaceAll(id, "…"), text);
    for (const bird of birds)
      if (!sees.includes(bird) && told.includes(bird)) this.#say(way, assigned, `${status} tells of ${bird}: ${told}`);
    for (const [bird, password] of aviary.passwords) {
      if (!sees.includes(bird) && text.includes(password))
        this.#say(way, assigned, `${status} tells a password of ${bird}`);
    }
    if (way.method !== "GET" && status < 400) {
      const after = aviary.stored();
      for (const bird of birds) {
        if (!changes.includes(bird) && this.#pristine.get(bird) !== after.get(bird))
          this.#say(way, assigned, `${status} changes ${bird}`);
      }
      this.#aviary = this.#fresh();
    }
    return { status, text: told };
  }

  #say({ method, path, input }: Way, assigned: Assigned, what: string): void {
    const call = `${method} ${path} ${JSON.stringify(input ?? "")} of ${assigned.map(([, bird]) => bird).join()}`;
    this.found.push(`${this.#caller.name}: ${call}: ${what.slice(0, 400)}`);
  }
}
