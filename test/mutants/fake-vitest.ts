// Takes the place of the module `vitest` in a worker: keeps the tests of many files, to run any of them at any time.
import { strictEqual } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chai, expect as realExpect, vi as realVi } from "vitest";

/** The file whose test runs. */
let running = "";

// What needs a runner of vitest, which writes such files.
chai.use((_, utils) => {
  utils.addMethod(chai.Assertion.prototype, "toMatchFileSnapshot", function (this: Chai.AssertionStatic, file: string) {
    strictEqual(utils.flag(this, "object"), readFileSync(resolve(dirname(running), file), "utf8"));
    return Promise.resolve();
  });
  utils.addMethod(
    chai.Assertion.prototype,
    "toMatchInlineSnapshot",
    function (this: Chai.AssertionStatic, text: string) {
      const words = (value: unknown) => String(value).replaceAll(/["\\\s]+/g, " ");
      strictEqual(words(utils.flag(this, "object")).trim(), words(text).trim());
    },
  );
});

/** Tries again for a while, as the poll of vitest does. */
function poll(read: () => unknown): object {
  const tries = (matcher: PropertyKey) => async (expected: unknown) => {
    for (const time = new TimeHad(); ; await sleep(10)) {
      try {
        const assertion = Reflect.apply(realExpect, undefined, [await read()]);
        const method: unknown = Reflect.get(assertion, matcher);
        if (typeof method !== "function") throw new Error(`there is no ${String(matcher)}`);
        Reflect.apply(method, assertion, [expected]);
        return;
      } catch (error) {
        if (time.ms() > 1000) throw error;
      }
    }
  };
  return new Proxy({}, { get: (_, matcher) => tries(matcher) });
}

export const expect: typeof realExpect = new Proxy(realExpect, {
  get: (target, key) => (key === "poll" ? poll : Reflect.get(target, key)),
});

type Hook = () => unknown;
interface Context {
  expect: typeof realExpect;
  onTestFinished: (hook: Hook) => void;
}
type Body = (context: Context) => unknown;
type EachBody = (...values: never[]) => unknown;

interface Suite {
  parent: Suite | undefined;
  beforeAll: Hook[];
  afterAll: Hook[];
  beforeEach: Hook[];
  afterEach: Hook[];
  begun: boolean;
}

export interface Test {
  file: string;
  name: string;
  suite: Suite;
  body: Body;
}

function newSuite(parent?: Suite): Suite {
  return { parent, beforeAll: [], afterAll: [], beforeEach: [], afterEach: [], begun: false };
}

let suite = newSuite();
let file = "";
let prefix = "";
let collected: Test[] = [];
let finished: Hook[] = [];

/** Runs what declares the tests of a file, such as its import, and resolves with them in their order. */
export async function collect(path: string, declare: () => Promise<unknown>): Promise<Test[]> {
  file = path;
  suite = newSuite();
  prefix = "";
  collected = [];
  await declare();
  return collected;
}

function declareTest(name: string, ...rest: unknown[]): void {
  const body = rest.find((item) => typeof item === "function");
  if (!isBody(body)) throw new Error(`${name} has no body`);
  collected.push({ file, name: `${prefix}${name}`, suite, body });
}

function declareSuite(name: string, ...rest: unknown[]): void {
  const body = rest.find((item) => typeof item === "function");
  if (!isBody(body)) throw new Error(`${name} has no body`);
  const [outer, outerPrefix] = [suite, prefix];
  suite = newSuite(outer);
  prefix = `${prefix}${name} > `;
  body({ expect, onTestFinished });
  [suite, prefix] = [outer, outerPrefix];
}

function isBody(value: unknown): value is Body {
  return typeof value === "function";
}

type Declare = (name: string, ...rest: unknown[]) => void;
type Each = (cases: readonly unknown[]) => (name: string, ...rest: unknown[]) => void;

function eachOf(declare: Declare): Each {
  return (cases) =>
    (name, ...rest) => {
      const body = rest.find((item) => typeof item === "function");
      if (!isEachBody(body)) throw new Error(`${name} has no body`);
      for (const [index, values] of cases.entries()) {
        const list = Array.isArray(values) ? values : [values];
        declare(`${name} [${index}]`, () => Reflect.apply(body, undefined, list));
      }
    };
}

function isEachBody(value: unknown): value is EachBody {
  return typeof value === "function";
}

function withModifiers(declare: Declare) {
  const each = eachOf(declare);
  return Object.assign((name: string, ...rest: unknown[]) => declare(name, ...rest), {
    each,
    // One after another, so that it is known which test reaches what.
    concurrent: Object.assign((name: string, ...rest: unknown[]) => declare(name, ...rest), { each }),
  });
}

export const test = withModifiers(declareTest);
export const it = test;
export const describe = withModifiers(declareSuite);

export const beforeAll = (hook: Hook): void => void suite.beforeAll.push(hook);
export const afterAll = (hook: Hook): void => void suite.afterAll.push(hook);
export const beforeEach = (hook: Hook): void => void suite.beforeEach.push(hook);
export const afterEach = (hook: Hook): void => void suite.afterEach.push(hook);
export const onTestFinished = (hook: Hook): void => void finished.push(hook);

export function inject(key: string): never {
  throw new Error(`${key} comes from a control plane, and there is none`);
}

const stubbed = new Map<string, string | undefined>();
export const vi = {
  spyOn: realVi.spyOn,
  fn: realVi.fn,
  restoreAllMocks: realVi.restoreAllMocks,
  stubEnv(name: string, value: string): void {
    if (!stubbed.has(name)) stubbed.set(name, process.env[name]);
    process.env[name] = value;
  },
  unstubAllEnvs(): void {
    for (const [name, value] of stubbed) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    stubbed.clear();
  },
};

/** The suites around a test, the outermost first. */
function around({ suite: innermost }: Test): Suite[] {
  const suites: Suite[] = [];
  for (let at: Suite | undefined = innermost; at !== undefined; at = at.parent) suites.unshift(at);
  return suites;
}

/** Runs one test and the hooks around it; rejects where it fails. */
export async function runTest(one: Test, limitMs: number): Promise<void> {
  const suites = around(one);
  finished = [];
  running = one.file;
  const work = async () => {
    for (const each of suites) {
      if (each.begun) continue;
      each.begun = true;
      for (const hook of each.beforeAll) cleanedUpBy(each.afterAll, await hook());
    }
    try {
      for (const each of suites) for (const hook of each.beforeEach) cleanedUpBy(finished, await hook());
      await one.body({ expect, onTestFinished });
    } finally {
      for (const hook of finished.toReversed()) await hook();
      for (const each of suites.toReversed()) for (const hook of each.afterEach) await hook();
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const time = new TimeHad();
    timer = setInterval(() => {
      if (time.ms() > limitMs) reject(new Error(`not done after ${limitMs} ms`));
    }, tickMs);
  });
  await Promise.race([work(), late]).finally(() => clearInterval(timer));
}

const tickMs = 50;

/** The time since it was made in which this process ran or waited: not the time for which others had the processor. */
class TimeHad {
  #had = 0;
  #at = performance.now();
  #used = process.cpuUsage();

  /** To be asked on each tick. */
  ms(): number {
    const { user, system } = process.cpuUsage(this.#used);
    const [passed, used] = [performance.now() - this.#at, (user + system) / 1000];
    this.#had += Math.min(passed, tickMs + used);
    [this.#at, this.#used] = [performance.now(), process.cpuUsage()];
    return this.#had;
  }
}

function cleanedUpBy(hooks: Hook[], result: unknown): void {
  if (isHook(result)) hooks.push(result);
}

function isHook(value: unknown): value is Hook {
  return typeof value === "function";
}

/** Ends the suites that these tests have begun, so that the next run begins them again. */
export async function endSuites(tests: readonly Test[]): Promise<void> {
  for (const each of new Set(tests.flatMap((one) => around(one).toReversed()))) {
    if (!each.begun) continue;
    each.begun = false;
    for (const hook of each.afterAll.toReversed()) await hook();
  }
}
